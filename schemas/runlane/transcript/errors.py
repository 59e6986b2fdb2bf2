"""Errors of transcripts.

    TranscriptError             a transcript can't be what was asked of it
      PlacedError               a fault at one place, which the error names
        MessageError            a message or part breaks its JSON shape
        ProviderError           a provider can't represent a part, or its answer is malformed
      ReplayError               a run's records yield no transcript
      PlannerTranscriptError    tool uses and tool results do not pair up
      BedrockTranscriptError    an assistant message would be refused by Bedrock
      ToolResultError           a tool call has both a result and a failure
      HistoryError              a history policy is misconfigured or could not be carried out

Each has a stable `code` that names the rule and a message built from the rule and from positions in the
transcript, never from its text.
"""

from __future__ import annotations

from typing import Final, Self

from runlane.strictjson import StrictJsonError


class TranscriptError(ValueError):
    """A transcript can't be what was asked of it. `code` names the rule."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code: Final = code

    def __reduce__(self) -> tuple[type[TranscriptError], tuple[str, str]]:
        return type(self), (self.code, str(self))


class PlacedError(TranscriptError):
    """A fault at one place of a transcript.

    `where` is the place, as in `messages[3].parts[0].input`; it names fields of ours and positions only.
    """

    def __init__(self, code: str, rule: str, where: str = "") -> None:
        super().__init__(code, f"{where}: {rule}" if where else rule)
        self.rule: Final = rule
        self.where: Final = where

    def __reduce__(self) -> tuple[type[PlacedError], tuple[str, str, str]]:  # type: ignore[override]
        return type(self), (self.code, self.rule, self.where)

    def within(self, place: str) -> Self:
        """The same error seen from outside `place`."""
        return type(self)(self.code, self.rule, f"{place}.{self.where}" if self.where else place)


class MessageError(PlacedError):
    """A message, a part or a list of messages breaks its JSON shape (contract 6.1, 6.2) or the JSON gate."""


class ReplayError(TranscriptError):
    """The records of a run yield no transcript: none is one, or one can't be decoded (contract 6.3)."""


class PlannerTranscriptError(TranscriptError):
    """Tool uses and tool results do not pair up (contract 6.4); the message names the range of messages."""


class BedrockTranscriptError(TranscriptError):
    """An assistant message with a tool use does not start with thinking (contract 6.5)."""


class ToolResultError(TranscriptError):
    """A tool call has both a result and a failure (contract 6.6)."""


class HistoryError(TranscriptError):
    """A history policy is misconfigured or could not be carried out (contract 7); no message was changed."""


class ProviderError(PlacedError):
    """A provider can't represent a part, or its response is not what its API promises."""


def wrong_type(where: str, expected: str) -> MessageError:
    """The error for a value of another JSON type than `expected`."""
    return MessageError("transcript.wrong_type", f"must be {expected}", where)


def missing(where: str) -> MessageError:
    """The error for a mandatory field that is absent or empty."""
    return MessageError("transcript.missing_field", "is required and must not be empty", where)


def refused_by_gate(error: StrictJsonError, where: str = "") -> MessageError:
    """The error for bytes that the strict JSON gate refuses; the code is the gate's rule."""
    return MessageError(error.rule, str(error), where)
