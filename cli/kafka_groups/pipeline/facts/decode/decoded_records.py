"""The frame of decoded records, which Spark's format "kafka_groups" returns, and its conversion to rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.frames.columns import BOOLEAN, INT16, INT32, INT64, OFFSET, STRING, TIMESTAMP, column
from kafka_groups.pipeline.frames.frame import Frame, frame
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS, Table

# Kinds of rows.
COMMIT: Final = "offset_commit"
EVENT: Final = "group_event"
UNKNOWN: Final = "unknown"
GAP: Final = "gap"

_EVENT_COLUMNS: Final = (
    "record_name",
    "event_type",
    "epoch",
    "previous_epoch",
    "member_id",
    "member_state",
    "group_instance_id",
    "client_id",
    "client_host",
    "protocol_type",
    "protocol",
    "leader",
    "state_time",
    "topics",
    "members",
    "assignment",
    "pending_revocation",
    "workers",
    "tasks",
    "tasks_pending_revocation",
    "details",
)
_RAW_COLUMNS: Final = ("key", "value", "problem")
_GAP_COLUMNS: Final = ("first_offset", "last_offset", "missing", "reason")


def _struct_of(table: Table, names: Sequence[str]) -> Any:
    """Return the Arrow type of a struct with these columns of a table."""
    schema = table.frame.schema()
    return pa.struct([schema.field(name) for name in names])


@frame
class DecodedRecords(Frame):
    """One row per decoded record of `__consumer_offsets`, and per range of offsets without records (data gap).

    Columns that do not belong to the row's kind are null. Columns have the same meaning as in the tables.
    """

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    kind: Any = column(STRING, "offset_commit, group_event, unknown (a record that was not decoded) or gap")
    source_partition: Any = column(INT32, "partition of __consumer_offsets")
    source_offset: Any = column(INT64, "offset of the record; for a gap, its first offset", unit=OFFSET)
    record_time: Any = column(TIMESTAMP, "when the broker appended the record; for a gap, when it was found")
    record_type: Any = column(INT16, "type of the record's key")
    value_version: Any = column(INT16, "version of the value; null for tombstones")
    is_tombstone: Any = column(BOOLEAN, "true if the record has no value and deletes an earlier one")
    group: Any = column(STRING, "id of the group")
    topic: Any = column(STRING, "name of the topic of a commit")
    partition: Any = column(INT32, "partition of the topic of a commit")
    committed_offset: Any = column(INT64, "offset of the next record that the group would read", unit=OFFSET)
    leader_epoch: Any = column(INT32, "leader epoch of the last record consumed; null if the commit has none")
    metadata: Any = column(STRING, "metadata that the consumer committed with the offset")
    commit_time: Any = column(TIMESTAMP, "time of the commit, by the coordinator's clock; null for tombstones")
    expire_time: Any = column(TIMESTAMP, "when the commit expires, if the client requested a retention time")
    topic_id: Any = column(STRING, "id of the topic of a commit, where the broker wrote it (since 4.1)")
    event: Any = column(_struct_of(GROUP_EVENTS, _EVENT_COLUMNS), "for the kind group_event, the event")
    raw: Any = column(_struct_of(UNKNOWN_RECORDS, _RAW_COLUMNS), "for the kind unknown, the bytes and the problem")
    gap: Any = column(_struct_of(INGEST_GAPS, _GAP_COLUMNS), "for the kind gap, the range of offsets")


# The table for the rows of each kind, and the struct whose fields are columns of that table.
_TABLE_BY_KIND: Final[dict[str, tuple[Table, str | None]]] = {
    COMMIT: (OFFSET_COMMITS, None),
    EVENT: (GROUP_EVENTS, "event"),
    UNKNOWN: (UNKNOWN_RECORDS, "raw"),
    GAP: (INGEST_GAPS, "gap"),
}


def rows_by_table(records: pa.RecordBatch) -> dict[Table, pa.RecordBatch]:
    """Return the rows of each table from rows of DecodedRecords, in the same order.

    The kind of a row determines its table. Tables without a row are absent.
    """
    rows: dict[Table, pa.RecordBatch] = {}
    for kind, (table, struct_name) in _TABLE_BY_KIND.items():
        has_kind = pc.equal(records["kind"], kind)
        if has_kind.true_count == records.num_rows > 0:
            rows[table] = _to_table_rows(table, struct_name, records)
        elif has_kind.true_count:
            rows[table] = _to_table_rows(table, struct_name, records.filter(has_kind))
    return rows


def _to_table_rows(table: Table, struct_name: str | None, records: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of DecodedRecords as rows of the table; all of them must have the table's kind."""
    columns: dict[str, Any] = dict(zip(records.schema.names, records.columns, strict=True))
    # Only samples know the number of members at a commit.
    columns["member_count"] = None
    if struct_name is not None:
        field_names = [field.name for field in records[struct_name].type]
        columns |= zip(field_names, records[struct_name].flatten(), strict=True)
    columns["origin"] = "topic"
    # Only samples know a group's type and state.
    columns |= {"group_type": None, "state": None}
    # Only ingest_gaps has `found_at`.
    columns["found_at"] = records["record_time"]
    # Only offset_commits has `commit_time`. Its rows are dated by this column, so it is never null.
    columns["commit_time"] = pc.coalesce(records["commit_time"], records["record_time"])
    table_columns = {name: columns[name] for name in table.frame.names()}
    return make_batch(table.frame, table_columns, size=records.num_rows)
