"""Faults to plant in a sound journal, each with the code that `verify` has to report."""

from base64 import b64decode, b64encode
from typing import Any

from runlane.contract.codec import decode_outcome, encode_outcome
from runlane.contract.partitioner import partition_for
from tests.service.block_faults import (
    block_rows,
    broken_hash,
    commit_row_gone,
    doubled_block,
    missing_block,
    missing_first_block,
    unreadable_header,
)
from tests.service.journals import PARTITIONS, erase_nothing
from tests.service.planting import Rows, Spoil, changed, header_changed, resealed, the, without


def block_in_two_generations(rows: Rows) -> Rows:
    return rows + [row._replace(generation=1) for row in block_rows(rows, 13)]


def flipped_payload_byte(rows: Rows) -> Rows:
    row = the(rows, kind="record", type="planner_note")
    return changed(rows, row, body=row.body.replace("Note", "Nota"))


def flipped_payload_byte_resealed(rows: Rows) -> Rows:
    return resealed(flipped_payload_byte(rows))


def flipped_checkpoint_byte_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="checkpoint"), body=b64encode(b"other").decode()))


def flipped_outcome_byte(rows: Rows) -> Rows:
    row = the(rows, kind="answer", position=3)
    return changed(rows, row, body=("A" if row.body[20] != "A" else "B").join((row.body[:20], row.body[21:])))


def rows_missing(rows: Rows) -> Rows:
    return without(rows, the(rows, kind="run", run_id="child"))


def rows_doubled(rows: Rows) -> Rows:
    return [*rows, the(rows, kind="run", run_id="child")]


def rows_of_a_foreign_lane(rows: Rows) -> Rows:
    row = the(rows, kind="run", run_id="child")
    return [*rows, row._replace(lane="s/other", row=7)]


def reused_seq(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, run_id="root", seq=3, kind="record"), seq=2))


def hole_in_seq(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, run_id="next", seq=3, kind="record"), seq=4))


def hole_in_lane_seq(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, lane="s/a", lane_seq=14), lane_seq=15))


def missing_outcome(rows: Rows) -> Rows:
    return without(rows, the(rows, kind="answer", position=10, partition=0))


def missing_outcome_resealed(rows: Rows) -> Rows:
    return resealed(missing_outcome(rows), counts=False)


def doubled_outcome(rows: Rows) -> Rows:
    return [*rows, the(rows, kind="answer", position=10, partition=0)]


def doubled_outcome_resealed(rows: Rows) -> Rows:
    row = the(rows, kind="answer", position=7, partition=0)
    return resealed([*rows, row], counts=False)


def outcome_of_another_command(rows: Rows) -> Rows:
    one, other = (the(rows, kind="answer", position=position, partition=0) for position in (3, 4))
    return resealed(changed(rows, one, body=other.body))


def outcome_of_no_position(rows: Rows) -> Rows:
    row = the(rows, kind="answer", position=12, partition=0)
    return resealed(changed(rows, row, position=13))


def record_that_no_outcome_tells(rows: Rows) -> Rows:
    row = the(rows, kind="answer", position=3, partition=0)
    retry = the(rows, kind="answer", position=6, partition=0)
    said = decode_outcome(_bytes(row))
    told = decode_outcome(_bytes(retry))
    outcome = type(said)(said.correlation_id, said.partition, said.position, said.block, told.result, None)
    return resealed(changed(rows, row, body=b64encode(encode_outcome(outcome)).decode()))


def _bytes(row: Any) -> bytes:
    return b64decode(row.body)


def foreign_claim(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="claim", run_id="child"), body="s/b"))


def no_claim(rows: Rows) -> Rows:
    return resealed(without(rows, the(rows, kind="claim", run_id="child")))


def doubled_claim(rows: Rows) -> Rows:
    row = the(rows, kind="claim", run_id="child")
    return resealed([*rows, row._replace(block=5, time=the(rows, partition=0, block=5).time)])


def receipt_without_claim(rows: Rows) -> Rows:
    return resealed(
        changed(rows, the(rows, kind="answer", run_id="next"), body=the(rows, run_id="root").body)
    )


def broken_chain(rows: Rows) -> Rows:
    keep = header_changed(rows, 0, 4, nonce="nonce-1", tip_digest="00")
    return [*block_rows(keep, 4), *without(rows, *block_rows(rows, 4))]


def header_that_lies(rows: Rows) -> Rows:
    row = the(rows, kind="commit", partition=0, block=4)
    return changed(rows, row, body=row.body.replace('"commands":4', '"commands":5'))


def wrong_epoch(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, epoch=2)


def epoch_that_skips(rows: Rows) -> Rows:
    return header_changed(rows, 0, 7, epoch=3)


def foreign_nonce(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, nonce="rival")


def hole_in_positions(rows: Rows) -> Rows:
    return header_changed(rows, 0, 5, first=14, last=14)


def time_backwards(rows: Rows) -> Rows:
    early = the(rows, partition=0, block=0).time - 1
    moved = [row._replace(time=early) if (row.partition, row.block) == (0, 5) else row for row in rows]
    return header_changed(resealed(moved), 0, 5, time=early)


def other_log(rows: Rows) -> Rows:
    return header_changed(rows, 0, 5, topic_id="other")


def falling_watermark(rows: Rows) -> Rows:
    return header_changed(rows, 0, 6, watermark=3)


def other_part(rows: Rows) -> Rows:
    moved = [row._replace(part=209901) if (row.partition, row.block) == (0, 5) else row for row in rows]
    return header_changed(moved, 0, 5, part=209901, next_part=209901)


def state_of_a_run(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="run", run_id="child"), status="failed"))


def labels_of_a_run(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="run", run_id="next"), labels="{}"))


def lost_state_of_a_run(rows: Rows) -> Rows:
    return resealed(without(rows, the(rows, kind="run", run_id="next")))


def state_of_a_session(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="session", lane="s/b"), status="active", body=""))


def lost_state_of_a_session(rows: Rows) -> Rows:
    return resealed(without(rows, the(rows, kind="session", lane="s/b")))


def session_status_of_a_record(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="record", run_id="stopped", seq=2), status="active"))


def doubled_key(rows: Rows) -> Rows:
    first = the(rows, kind="record", run_id="root", seq=2)
    return resealed(changed(rows, the(rows, kind="record", run_id="root", seq=3), event_key=first.event_key))


def record_of_a_foreign_agent(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="record", run_id="root", seq=3), agent_id="other"))


def record_of_a_stopped_run(rows: Rows) -> Rows:
    row = the(rows, kind="record", run_id="child", seq=4)
    return resealed(
        changed(rows, the(rows, kind="record", run_id="next", seq=2), run_id="child", seq=row.seq + 1)
    )


def lane_in_a_foreign_partition(rows: Rows) -> Rows:
    name = next(name for name in "cdefgh" if partition_for(f"s/{name}".encode(), PARTITIONS) == 1)
    moved = [row._replace(lane=f"s/{name}", session_id=name) if row.lane == "s/b" else row for row in rows]
    return resealed(moved)


def checkpoint_lost(rows: Rows) -> Rows:
    return resealed(without(rows, the(rows, kind="checkpoint")))


def token_count_of_a_usage(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, type="usage"), input_tokens=70))


def tool_of_a_call(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, type="tool_call_scheduled"), tool=""))


def rows_of_a_purged_lane(rows: Rows) -> Rows:
    note = the(erase_nothing(), kind="record", run_id="secret", seq=2)
    return [*rows, note]


def records_after_a_purge(rows: Rows) -> Rows:
    row = the(rows, kind="answer", lane="s/purged", code="session_purged")
    ghost = the(erase_nothing(), kind="record", run_id="secret", seq=2)
    return [*rows, ghost._replace(block=row.block, time=row.time, row=2)]


FAULTS: list[tuple[Spoil, str]] = [
    (missing_block, "block_missing"),
    (missing_first_block, "block_missing"),
    (doubled_block, "block_doubled"),
    (block_in_two_generations, "block_doubled"),
    (commit_row_gone, "commit_row_missing"),
    (flipped_payload_byte, "row_changed"),
    (flipped_payload_byte_resealed, "record_digest_wrong"),
    (flipped_checkpoint_byte_resealed, "run_state_wrong"),
    (flipped_outcome_byte, "row_changed"),
    (rows_missing, "rows_missing"),
    (rows_doubled, "rows_doubled"),
    (rows_of_a_foreign_lane, "rows_foreign"),
    (reused_seq, "seq_broken"),
    (hole_in_seq, "seq_broken"),
    (hole_in_lane_seq, "lane_seq_broken"),
    (missing_outcome, "outcome_missing"),
    (missing_outcome_resealed, "outcome_missing"),
    (doubled_outcome, "outcome_doubled"),
    (doubled_outcome_resealed, "outcome_doubled"),
    (outcome_of_another_command, "outcome_differs"),
    (outcome_of_no_position, "outcome_misplaced"),
    (record_that_no_outcome_tells, "record_unannounced"),
    (foreign_claim, "claim_foreign"),
    (no_claim, "claim_missing"),
    (doubled_claim, "claim_doubled"),
    (receipt_without_claim, "receipt_wrong"),
    (broken_hash, "hash_broken"),
    (broken_chain, "chain_broken"),
    (header_that_lies, "hash_broken"),
    (unreadable_header, "commit_row_unreadable"),
    (wrong_epoch, "epoch_wrong"),
    (epoch_that_skips, "epoch_wrong"),
    (foreign_nonce, "epoch_wrong"),
    (hole_in_positions, "positions_broken"),
    (time_backwards, "time_backwards"),
    (other_log, "log_changed"),
    (falling_watermark, "watermark_wrong"),
    (other_part, "part_wrong"),
    (state_of_a_run, "run_state_wrong"),
    (labels_of_a_run, "run_state_wrong"),
    (lost_state_of_a_run, "run_state_missing"),
    (state_of_a_session, "session_state_wrong"),
    (lost_state_of_a_session, "session_state_missing"),
    (session_status_of_a_record, "session_status_wrong"),
    (doubled_key, "key_doubled"),
    (record_of_a_foreign_agent, "fold_failed"),
    (record_of_a_stopped_run, "fold_failed"),
    (lane_in_a_foreign_partition, "lane_misplaced"),
    (checkpoint_lost, "run_state_wrong"),
    (token_count_of_a_usage, "analysis_wrong"),
    (tool_of_a_call, "analysis_wrong"),
    (rows_of_a_purged_lane, "purged_rows"),
    (records_after_a_purge, "purged_rows"),
]
