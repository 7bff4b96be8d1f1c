"""The conversion of facts and states: from columns of their tables to the columns that the stages read.

Each `convert_*` function takes a record batch of a table, with the columns of the matching `*_NAMES`, and the day of
its file (days since 1970).
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.kernels.segments import DAY_US
from kafka_groups.pipeline.build.stage_rows import PARTITION_KEY, RowKind
from kafka_groups.pipeline.frames.arrays import to_flags
from kafka_groups.pipeline.tables.event_details import read_expression, select_details

_ID_BYTES: Final = 8

EVENT_NAMES: Final = (
    "cluster_id",
    "group",
    "origin",
    "source_partition",
    "source_offset",
    "record_name",
    "event_type",
    "epoch",
    "previous_epoch",
    "member_id",
    "member_state",
    "topics",
    "members",
    "state",
    "record_time",
    "state_time",
    "details",
)
OBSERVATION_NAMES: Final = (
    *PARTITION_KEY,
    "origin",
    "topic_id",
    "observed_at",
    "log_start_offset",
    "log_end_offset",
    "last_stable_offset",
    "lookup_offset",
    "lookup_timestamp",
)
COMMIT_NAMES: Final = (
    *PARTITION_KEY,
    "group",
    "origin",
    "source_offset",
    "commit_time",
    "is_tombstone",
    "committed_offset",
    "topic_id",
    "member_count",
)
SHARE_NAMES: Final = (*PARTITION_KEY, "group", "observed_at", "start_offset", "lag")
PARTITION_STATE_NAMES: Final = (*PARTITION_KEY, "group", "state")
GROUP_STATE_NAMES: Final = ("cluster_id", "group", "state")


def convert_commits(rows: Any, day: int) -> Any:
    """Return the rows of `offset_commits` with the columns of KEY, `day` and CommittedOffsets.

    Rows keep their order. Values that are NULL in CommittedOffsets are null here.
    """
    offset = rows["committed_offset"]
    # Brokers accept -1 as an offset, and then return no offset. `to_flags` makes null false, so a null flag is not
    # a deletion.
    is_deletion = pa.array(to_flags(rows["is_tombstone"]) | ~to_flags(pc.greater_equal(offset, 0)))
    return _add_columns(
        rows.select([*PARTITION_KEY, "group", "source_offset"]),
        {
            "day": _repeat_day(day, rows),
            "at_us": replace_foreign_times(rows["commit_time"], day),
            "is_record": pc.equal(rows["origin"], "topic"),
            "is_deletion": is_deletion,
            "committed_offset": pc.if_else(is_deletion, None, offset),
            "topic_id": _number_ids(rows["topic_id"]),
            "member_count": rows["member_count"].cast(pa.int64()),
        },
    )


def convert_share_offsets(rows: Any, day: int) -> Any:
    """Return the rows of `share_offsets` with the columns of KEY, `day` and ShareLags, in the same order."""
    return _add_columns(
        rows.select([*PARTITION_KEY, "group", "start_offset", "lag"]),
        {"day": _repeat_day(day, rows), "at_us": to_microseconds(rows["observed_at"])},
    )


def convert_observations(rows: Any, day: int) -> Any:
    """Return the rows of `partition_offsets` with the columns of PARTITION_KEY, `day` and ObservedOffsets.

    Rows keep their order. Values that are NULL in ObservedOffsets are null here.
    """
    return _add_columns(
        rows.select(PARTITION_KEY),
        {
            "day": _repeat_day(day, rows),
            "at_us": to_microseconds(rows["observed_at"]),
            "is_sample": pc.equal(rows["origin"], "sample"),
            "log_start": rows["log_start_offset"],
            "log_end": rows["log_end_offset"],
            "last_stable": rows["last_stable_offset"],
            "lookup_offset": rows["lookup_offset"],
            "lookup_timestamp_ms": pc.divide(to_microseconds(rows["lookup_timestamp"]), 1_000),
            "topic_id": _number_ids(rows["topic_id"]),
        },
    )


def convert_events(rows: Any, day: int) -> Any:
    """Return the rows of `group_events` with the columns of GROUP_KEY, `day` and EventRows, in the same order.

    `at_us` is midnight if the time of a record is not on the day (`replace_foreign_times`).
    """
    details = select_details(rows["record_name"], rows["details"])
    expressions = [read_expression(record_details) for record_details in details.to_pylist()]
    return _add_columns(
        rows.drop_columns(["record_time", "state_time", "details"]),
        {
            "day": _repeat_day(day, rows),
            "at_us": replace_foreign_times(rows["record_time"], day),
            "state_us": to_microseconds(rows["state_time"]),
            "expression": pa.array(expressions, pa.string()),
        },
    )


def convert_partition_states(rows: Any, day: int) -> Any:
    """Return the rows of `partition_state` with the columns of KEY, `kind`, `day` and `payload`."""
    kind = pc.if_else(pc.is_null(rows["group"]), int(RowKind.LOG_STATE), int(RowKind.KEY_STATE))
    columns = {"kind": kind.cast(pa.int8()), "day": _repeat_day(day, rows), "payload": rows["state"]}
    return _add_columns(rows.select([*PARTITION_KEY, "group"]), columns)


def convert_group_states(rows: Any, day: int) -> Any:
    """Return the rows of `group_state` with the columns of GROUP_KEY, `day` and `payload`."""
    columns = {"day": _repeat_day(day, rows), "payload": rows["state"].cast(pa.binary())}
    return _add_columns(rows.select(["cluster_id", "group"]), columns)


def replace_foreign_times(times: Any, day: int) -> Any:
    """Return timestamps in µs since 1970, with midnight in place of impossible ones.

    A time is impossible if it is null or not on the day of its file. Midnight is the earliest time of the day, so it
    does not extend the coverage of the cluster.
    """
    time_us = to_microseconds(times)
    midnight_us = day * DAY_US
    is_on_day = pc.and_(pc.greater_equal(time_us, midnight_us), pc.less(time_us, midnight_us + DAY_US))
    # `to_flags` makes null false.
    return pc.if_else(pa.array(to_flags(is_on_day)), time_us, midnight_us)


def to_microseconds(times: Any) -> Any:
    """Return a column of timestamps as integers, in µs since 1970."""
    return times.cast(pa.timestamp("us", "UTC")).view(pa.int64())


def _number_ids(ids: Any) -> Any:
    """Return a column of strings as positive numbers: equal strings have equal numbers in all files and on all days.

    Null stays null.
    """
    id_dictionary = ids.dictionary_encode()
    id_numbers = []
    for topic_id in id_dictionary.dictionary.to_pylist():
        digest = hashlib.blake2b(topic_id.encode(), digest_size=_ID_BYTES).digest()
        id_numbers.append(int.from_bytes(digest) >> 1)
    return pa.array(id_numbers, pa.int64()).take(id_dictionary.indices)


def _repeat_day(day: int, rows: Any) -> Any:
    return pa.repeat(pa.scalar(day, pa.int32()), len(rows))


def _add_columns(rows: Any, columns: dict[str, Any]) -> Any:
    """Return a record batch with the columns of `rows` and these columns."""
    all_columns = {name: rows[name] for name in rows.schema.names} | columns
    return pa.RecordBatch.from_arrays(list(all_columns.values()), list(all_columns))
