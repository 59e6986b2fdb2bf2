"""Faults to plant in a sound memory, each with the code that `verify` has to report."""

from runlane.service.verify.rows import MemoryRow
from tests.service.block_faults import (
    block_rows,
    broken_hash,
    commit_row_gone,
    doubled_block,
    missing_block,
    missing_first_block,
    unreadable_header,
)
from tests.service.memories import run_of
from tests.service.memory_planting import Rows, Spoil, header_changed, resealed
from tests.service.planting import changed, the, without


def event(rows: Rows, word: str) -> MemoryRow:
    return next(row for row in rows if row.kind == "event" and word in row.body)


def block_in_two_generations(rows: Rows) -> Rows:
    return rows + [row._replace(generation=2) for row in block_rows(rows, 6)]


def header_that_lies(rows: Rows) -> Rows:
    row = the(rows, kind="commit", partition=0, block=4)
    return changed(rows, row, body=row.body.replace('"commands":2', '"commands":3'))


def commit_row_of_another_generation(rows: Rows) -> Rows:
    return changed(rows, the(rows, kind="commit", partition=0, block=6), generation=2)


def header_of_another_generation(rows: Rows) -> Rows:
    return header_changed(rows, 0, 6, generation=2)


def falling_generation(rows: Rows) -> Rows:
    return [row._replace(generation=0) if block_rows([row], 6) else row for row in rows]


def falling_logic_version(rows: Rows) -> Rows:
    return header_changed(rows, 0, 0, logic_version=2)


def broken_previous_hash(rows: Rows) -> Rows:
    keep = header_changed(rows, 0, 4, tip_digest="00")
    return [*block_rows(keep, 4), *without(rows, *block_rows(rows, 4))]


def wrong_epoch(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, epoch=3)


def epoch_that_skips(rows: Rows) -> Rows:
    return header_changed(rows, 0, 3, epoch=3)


def epoch_of_the_first_block(rows: Rows) -> Rows:
    return header_changed(rows, 1, 0, epoch=2)


def foreign_nonce(rows: Rows) -> Rows:
    return header_changed(rows, 0, 2, nonce="rival")


def hole_in_positions(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, first=10)


def more_messages_than_positions(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, commands=5)


def time_backwards(rows: Rows) -> Rows:
    early = the(rows, partition=0, block=0).time - 1
    moved = [row._replace(time=early) if (row.partition, row.block) == (0, 4) else row for row in rows]
    return header_changed(resealed(moved), 0, 4, time=early)


def falling_watermark(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, watermark=0)


def other_log(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, topic_id="other")


def other_part(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, next_part=209901)


def other_number_of_partitions(rows: Rows) -> Rows:
    return header_changed(rows, 0, 6, partition_count=3)


def flipped_byte_of_an_event(rows: Rows) -> Rows:
    row = event(rows, "nine")
    return changed(rows, row, body=row.body.replace("nine", "none"))


def flipped_byte_of_an_event_resealed(rows: Rows) -> Rows:
    return resealed(flipped_byte_of_an_event(rows))


def flipped_byte_of_a_digest(rows: Rows) -> Rows:
    row = the(rows, kind="append", append_key="k5")
    return changed(rows, row, digest=row.digest[::-1])


def event_missing(rows: Rows) -> Rows:
    return without(rows, event(rows, "nine"))


def event_missing_resealed(rows: Rows) -> Rows:
    return resealed(event_missing(rows))


def events_missing(rows: Rows) -> Rows:
    return without(rows, event(rows, "nine"), event(rows, "ten"))


def events_missing_after_a_deletion(rows: Rows) -> Rows:
    return without(rows, event(rows, "six"), event(rows, "seven"))


def half_of_a_deleted_append(rows: Rows) -> Rows:
    return without(rows, event(rows, "thirteen"))


def append_missing(rows: Rows) -> Rows:
    return without(rows, the(rows, kind="append", append_key="k5"))


def append_missing_resealed(rows: Rows) -> Rows:
    return resealed(append_missing(rows))


def append_and_events_missing_resealed(rows: Rows) -> Rows:
    return resealed(without(append_missing(rows), event(rows, "eight")))


def deletion_missing(rows: Rows) -> Rows:
    return without(rows, the(rows, kind="delete"))


def refusal_missing(rows: Rows) -> Rows:
    return without(rows, the(rows, kind="refusal"))


def event_doubled(rows: Rows) -> Rows:
    return [*rows, event(rows, "nine")]


def event_of_a_foreign_run(rows: Rows) -> Rows:
    return [*rows, event(rows, "nine")._replace(agent_id="x", row=9)]


def events_out_of_order_resealed(rows: Rows) -> Rows:
    one, two = event(rows, "nine"), event(rows, "ten")
    swapped = changed(changed(rows, one, body=two.body), two, body=one.body)
    return resealed(swapped)


def hole_in_rows_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, event(rows, "eleven"), row=2))


def append_of_a_later_position_resealed(rows: Rows) -> Rows:
    moved = [
        row._replace(position=99) if row.append_key == "k5" or "eight" in row.body else row for row in rows
    ]
    return resealed(moved)


def position_used_twice_resealed(rows: Rows) -> Rows:
    position = the(rows, kind="append", append_key="k5").position
    moved = [
        row._replace(position=position) if row.block == 4 and row.kind in {"append", "event"} else row
        for row in rows
    ]
    return resealed(moved)


def key_used_twice_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="append", append_key="k5"), append_key="k3"))


def append_with_the_key_of_a_deletion_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="append", append_key="k5"), append_key="d1"))


def append_without_a_key_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="append", append_key="k5"), append_key=""))


def refusal_without_a_code_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="refusal"), type=""))


def row_of_no_kind_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, the(rows, kind="refusal"), kind="other"))


def run_in_a_foreign_partition(rows: Rows) -> Rows:
    moved = [row._replace(run_id=run_of(1)) if row.agent_id == "c" else row for row in rows]
    return resealed(moved)


def column_of_an_event_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, event(rows, "nine"), type="thinking"))


def labels_of_an_event_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, event(rows, "nine"), labels="{}"))


def unreadable_event_resealed(rows: Rows) -> Rows:
    return resealed(changed(rows, event(rows, "nine"), body="{}"))


def header_of_fewer_events(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, records=1)


def header_of_more_rows(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, rows=9)


def header_of_fewer_messages(rows: Rows) -> Rows:
    return header_changed(rows, 0, 4, commands=1)


FAULTS: list[tuple[Spoil, str]] = [
    (missing_block, "block_missing"),
    (missing_first_block, "block_missing"),
    (doubled_block, "block_doubled"),
    (block_in_two_generations, "block_doubled"),
    (commit_row_gone, "commit_row_missing"),
    (unreadable_header, "commit_row_unreadable"),
    (header_that_lies, "hash_broken"),
    (commit_row_of_another_generation, "commit_row_missing"),
    (header_of_another_generation, "commit_row_wrong"),
    (falling_generation, "block_missing"),
    (falling_logic_version, "version_wrong"),
    (broken_hash, "hash_broken"),
    (broken_previous_hash, "chain_broken"),
    (wrong_epoch, "epoch_wrong"),
    (epoch_that_skips, "epoch_wrong"),
    (epoch_of_the_first_block, "epoch_wrong"),
    (foreign_nonce, "epoch_wrong"),
    (hole_in_positions, "positions_broken"),
    (more_messages_than_positions, "positions_wrong"),
    (time_backwards, "time_backwards"),
    (falling_watermark, "watermark_wrong"),
    (other_log, "log_changed"),
    (other_part, "part_wrong"),
    (other_number_of_partitions, "partitions_changed"),
    (flipped_byte_of_an_event, "row_changed"),
    (flipped_byte_of_an_event_resealed, "append_digest_wrong"),
    (flipped_byte_of_a_digest, "row_changed"),
    (event_missing, "rows_missing"),
    (event_missing_resealed, "rows_missing"),
    (events_missing, "rows_missing"),
    (events_missing_after_a_deletion, "rows_missing"),
    (half_of_a_deleted_append, "rows_missing"),
    (append_missing, "rows_missing"),
    (append_missing_resealed, "append_missing"),
    (append_and_events_missing_resealed, "records_miscounted"),
    (deletion_missing, "rows_missing"),
    (refusal_missing, "rows_missing"),
    (event_doubled, "rows_doubled"),
    (event_of_a_foreign_run, "rows_foreign"),
    (events_out_of_order_resealed, "append_digest_wrong"),
    (hole_in_rows_resealed, "row_misplaced"),
    (append_of_a_later_position_resealed, "message_misplaced"),
    (position_used_twice_resealed, "message_doubled"),
    (key_used_twice_resealed, "key_doubled"),
    (append_with_the_key_of_a_deletion_resealed, "key_doubled"),
    (append_without_a_key_resealed, "message_wrong"),
    (refusal_without_a_code_resealed, "message_wrong"),
    (row_of_no_kind_resealed, "row_unknown"),
    (run_in_a_foreign_partition, "lane_misplaced"),
    (column_of_an_event_resealed, "analysis_wrong"),
    (labels_of_an_event_resealed, "analysis_wrong"),
    (unreadable_event_resealed, "event_unreadable"),
    (header_of_fewer_events, "records_miscounted"),
    (header_of_more_rows, "rows_miscounted"),
    (header_of_fewer_messages, "message_doubled"),
]
