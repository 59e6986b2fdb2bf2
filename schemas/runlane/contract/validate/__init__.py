"""The rules of the contract that need no state, or no more than the stored run."""

from runlane.contract.validate.commands import validate_before_send
from runlane.contract.validate.envelope import validate_record

__all__ = ["validate_before_send", "validate_record"]
