"""Judges a journal by itself: it shares no code with the owner, with `decide` or with the block writer."""

from runlane.service.verify.audit import verify_journal
from runlane.service.verify.report import Fault, Report

__all__ = ["Fault", "Report", "verify_journal"]
