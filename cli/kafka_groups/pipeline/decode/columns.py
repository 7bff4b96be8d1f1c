"""The columns of a decoded record of `__consumer_offsets`: what the data source hands to Spark."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.schemas import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS
from kafka_groups.pipeline.schemas.shape import TIME

__all__ = ["GAP", "GROUP_EVENT", "OFFSET_COMMIT", "RECORD", "TIME", "UNKNOWN"]

# Kinds of rows. A gap is no record: it stands for offsets of a range that no record was found at.
OFFSET_COMMIT: Final = "offset_commit"
GROUP_EVENT: Final = "group_event"
UNKNOWN: Final = "unknown"
GAP: Final = "gap"

# They have the names and types that they have in the tables of these kinds, which document them.
_FIELDS: Final = {
    field.name: field
    for table in (OFFSET_COMMITS, GROUP_EVENTS, UNKNOWN_RECORDS, INGEST_GAPS)
    for field in table.arrow()
}


def _fields(names: str) -> list[pa.Field]:
    return [_FIELDS[name] for name in names.split()]


_EVENT: Final = _fields(
    "type event_type epoch previous_epoch member_id member_state group_instance_id client_id client_host protocol_type "
    "protocol leader state_time topics members assignment pending_revocation details"
)
RECORD: Final = pa.schema(
    [
        _FIELDS["cluster_id"],
        ("kind", pa.string()),
        *_fields("source_partition source_offset record_time record_type value_version tombstone"),
        *_fields("group topic partition committed_offset leader_epoch metadata commit_time expire_time topic_id"),
        ("event", pa.struct(_EVENT)),
        ("raw", pa.struct(_fields("key value problem"))),
        ("gap", pa.struct(_fields("from_offset until_offset missing reason"))),
    ]
)
