"""Every error of Runlane, in one tree.

* RunlaneError
  * ContractError ................ permanent: repeating the same command can never succeed
    * InvalidCommand ............. a rule of the contract is broken; ``code`` names the rule
      * ParentRunIDRequired
      * ChildRunIDRequired
      * ChildAgentIDRequired
      * ChildSessionIDRequired
    * NotPermitted
      * KafkaNotPermitted ........ the Kafka cluster refuses our user: an operator must act
    * Misrouted
    * WrongLane .................. carries the right lane; the client follows it once
    * SessionNotFound
    * SessionEnded
    * SessionPurged
    * SessionActive
    * SessionHasActiveRuns
    * RunNotFound
      * PredecessorNotFound
    * RunConflict
    * RunTerminalConflict
    * RunCancellationConflict
    * RunSuspensionNotFound
    * RunSuspensionConflict
    * RunNotActive
    * RunSessionMismatch
    * RunRecordOwnerMismatch
    * EventConflict .............. carries run and key
    * CorruptRun ................. the stored records of a run contradict it; ``code`` names how
    * InvalidResult .............. a store's answer breaks the contract
    * UndecodableMessage ......... the bytes are no message of ours; ``code`` names the reason
  * FatalKafkaError .............. the Kafka client can't go on: only a new one can
  * TopicMismatch ................ a topic is missing or not as declared: an operator must act
  * SchemaDrift .................. the database's tables are not the ones of this release
  * UnsafeEngine ................. the database does not keep what the journal rests on
  * JournalFault ................. the database refuses a query of ours, or rows of the journal can't be read
  * LateBlock .................... a block came after its time and was not written
  * InsertRefused ................ the database refuses a block for good; nothing was written
  * SettingsError ................ a setting is missing or wrong; the message names it, never its value
  * TemporaryError ............... the same command may succeed later
    * OutOfOrder ................. the event key an append follows is not there yet
    * RunCompletionNotReady ...... the engine has not finished the run
    * OutcomeUnknown ............. no answer in time: the command may or may not be committed
    * Unavailable ................ broker, database or read API does not answer
    * TooManyParts ............... the journal has too many parts now; the block was not written
    * InsertUnknown .............. no answer to an insert: the block may or may not be written
    * Overloaded ................. a bound of the client or the service is reached

A message never holds payload bytes. Source: contract section 0 and 1.13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as a value, as it is journaled and sent: class name, stable code, safe message, details.

    ``details`` are pairs of strings that the class turns back into attributes (``WrongLane.lane``).
    """

    name: str
    code: str
    message: str
    retryable: bool
    details: tuple[tuple[str, str], ...] = ()


class RunlaneError(Exception):
    """Root of the tree: a stable ``code``, a ``message`` safe to show, and whether repeating can help."""

    code: str = "error"
    retryable: ClassVar[bool] = False
    detail_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    def info(self) -> ErrorInfo:
        """Return the error as a value for the journal and the wire."""
        details = tuple((name, str(getattr(self, name))) for name in self.detail_names)
        return ErrorInfo(type(self).__name__, self.code, self.message, self.retryable, details)


class ContractError(RunlaneError):
    """A permanent refusal: nothing was written and the same command can never succeed (contract 0, 1.13)."""

    code = "contract"


class TemporaryError(RunlaneError):
    """A failure that may pass; an exact retry of the command is safe."""

    code = "temporary"
    retryable = True


class InvalidCommand(ContractError):
    """A rule of the contract is broken before any state is looked at; ``code`` names the rule."""

    code = "invalid_command"


class ParentRunIDRequired(InvalidCommand):
    """A child start names no parent run."""

    code = "parent_run_id_required"


class ChildRunIDRequired(InvalidCommand):
    """A child start names no run id."""

    code = "child_run_id_required"


class ChildAgentIDRequired(InvalidCommand):
    """A child start names no agent."""

    code = "child_agent_id_required"


class ChildSessionIDRequired(InvalidCommand):
    """A session-backed child start names no session."""

    code = "child_session_id_required"


class NotPermitted(ContractError):
    """A host command without a true host signature, or a start without a true claim receipt."""

    code = "not_permitted"


class KafkaNotPermitted(NotPermitted):
    """The Kafka cluster does not know our user, or does not let it do this."""

    code = "kafka_not_permitted"


class Misrouted(ContractError):
    """The command lies on a partition that its key does not hash to."""

    code = "misrouted"


class WrongLane(ContractError):
    """The command's run or session lives in another lane, named by ``lane``."""

    code = "wrong_lane"
    detail_names = ("lane",)

    def __init__(self, message: str = "", *, lane: str = "", code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.lane = lane


class SessionNotFound(ContractError):
    """The session was never created."""

    code = "session_not_found"


class SessionEnded(ContractError):
    """The session has ended and cannot be created again."""

    code = "session_ended"


class SessionPurged(ContractError):
    """The session was purged; its id is reserved for ever."""

    code = "session_purged"


class SessionActive(ContractError):
    """An active session cannot be purged."""

    code = "session_active"


class SessionHasActiveRuns(ContractError):
    """A session with running runs cannot be purged."""

    code = "session_has_active_runs"


class RunNotFound(ContractError):
    """The run is unknown: it never existed or was purged."""

    code = "run_not_found"


class PredecessorNotFound(RunNotFound):
    """The run that a continuation follows is unknown (C209)."""

    code = "predecessor_not_found"


class RunConflict(ContractError):
    """Another lane holds the run id, or a start retry disagrees in identity or in a lifecycle key."""

    code = "run_conflict"


class RunTerminalConflict(ContractError):
    """Another terminal state or terminal record owns the run."""

    code = "run_terminal_conflict"


class RunCancellationConflict(ContractError):
    """The run has another cancellation reason or another cancellation record."""

    code = "run_cancellation_conflict"


class RunSuspensionNotFound(ContractError):
    """The run has no checkpoint."""

    code = "run_suspension_not_found"


class RunSuspensionConflict(ContractError):
    """The run has another checkpoint or another suspension record."""

    code = "run_suspension_conflict"


class RunNotActive(ContractError):
    """New work on a stopped run, or a stopped parent."""

    code = "run_not_active"


class RunSessionMismatch(ContractError):
    """Parent and child belong to different sessions."""

    code = "run_session_mismatch"


class RunRecordOwnerMismatch(ContractError):
    """The record names another run, agent or session than the stored or requested run."""

    code = "run_record_owner_mismatch"


class EventConflict(ContractError):
    """The event key is already used in ``run_id`` with different content."""

    code = "event_conflict"
    detail_names = ("run_id", "event_key")

    def __init__(
        self, message: str = "", *, run_id: str = "", event_key: str = "", code: str | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.run_id = run_id
        self.event_key = event_key


class CorruptRun(ContractError):
    """What is stored of a run, or said by its engine, contradicts itself; ``code`` says how (contract 10)."""

    code = "corrupt_run"


class InvalidResult(ContractError):
    """A store answered what the contract does not allow; asking again would not help (C385, C388)."""

    code = "invalid_result"


class UndecodableMessage(ContractError):
    """A message's bytes cannot be read; ``code`` names the reason (``null_message``, ``unknown_schema``)."""

    code = "undecodable_message"


class FatalKafkaError(RunlaneError):
    """The Kafka client cannot go on (fenced, delivery order lost, every broker lost): only a new one can."""

    code = "kafka_fatal"


class TopicMismatch(RunlaneError):
    """A topic is missing or not as declared; ``topic`` names it."""

    code = "topic_mismatch"
    detail_names = ("topic",)

    def __init__(self, message: str = "", *, topic: str = "", code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.topic = topic


class SchemaDrift(RunlaneError):
    """The database's tables are not those that this release makes: migrated by another, or altered."""

    code = "schema_drift"


class UnsafeEngine(RunlaneError):
    """The database lets two blocks of one number in, or a late one: nothing may be written to it."""

    code = "unsafe_engine"


class JournalFault(RunlaneError):
    """The database refuses a query of ours, or rows of the journal can't be read: an operator must look."""

    code = "journal_fault"


class LateBlock(RunlaneError):
    """A block reached the database after its time; the table's constraint kept all of it out."""

    code = "late_block"


class InsertRefused(RunlaneError):
    """The database refuses a block whenever it is sent; nothing was written."""

    code = "insert_refused"


class SettingsError(RunlaneError):
    """A setting is missing or wrong; the message names it and holds no value."""

    code = "settings"


class OutOfOrder(TemporaryError):
    """The event key that an append says it follows is not stored yet."""

    code = "out_of_order"


class RunCompletionNotReady(TemporaryError):
    """The engine has not finished the run, so there is nothing to store yet (C377)."""

    code = "run_completion_not_ready"


class OutcomeUnknown(TemporaryError):
    """No answer came in time; the command may or may not be committed, an exact retry tells."""

    code = "outcome_unknown"


class Unavailable(TemporaryError):
    """Broker, database or read API does not answer."""

    code = "unavailable"


class TooManyParts(TemporaryError):
    """The journal has too many parts for another one now; the block was not written."""

    code = "too_many_parts"


class InsertUnknown(TemporaryError):
    """An insert got no answer, or none that tells: read the block back, and send the same bytes again."""

    code = "insert_unknown"


class Overloaded(TemporaryError):
    """A bound (bytes in flight, rate, connections) is reached."""

    code = "overloaded"


def _tree(root: type[RunlaneError]) -> dict[str, type[RunlaneError]]:
    found = {root.__name__: root}
    for child in root.__subclasses__():
        found |= _tree(child)
    return found


_BY_NAME = _tree(RunlaneError)


def from_info(info: ErrorInfo) -> RunlaneError:
    """Rebuild the exception that ``info`` describes; an unknown class becomes its nearest known parent."""
    fallback: type[RunlaneError] = TemporaryError if info.retryable else ContractError
    kind = _BY_NAME.get(info.name, fallback)
    known = {name: value for name, value in info.details if name in kind.detail_names}
    return kind(info.message, code=info.code, **known)
