"""Judges journal and memory by themselves: no code of owner, sink, `decide` or block writer is in it."""

from runlane.service.verify.audit import verify_journal
from runlane.service.verify.report import MEMORY, Fault, Report

__all__ = ["MEMORY", "Fault", "Report", "verify_journal"]
