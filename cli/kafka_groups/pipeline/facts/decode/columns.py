"""The columns of records of `__consumer_offsets`, raw and decoded, and how times and ids are spelled in them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS

# Kinds of rows. A gap is no record: it stands for offsets of a range that no record was found at.
OFFSET_COMMIT: Final = "offset_commit"
GROUP_EVENT: Final = "group_event"
UNKNOWN: Final = "unknown"
GAP: Final = "gap"
# Years 1 to 9999, which every consumer of a timestamp can hold; whatever lies outside is no time.
EARLIEST_MS: Final = -62_135_596_800_000
LATEST_MS: Final = 253_402_300_799_999
NO_TIME_MS: Final = -1

# Decoded columns have the names and types that they have in the tables of these kinds, which document them.
_FIELDS: Final = pa.unify_schemas([one.arrow() for one in (OFFSET_COMMITS, GROUP_EVENTS, UNKNOWN_RECORDS, INGEST_GAPS)])


def _fields(names: str) -> list[pa.Field]:
    return [_FIELDS.field(name) for name in names.split()]


# A chunk of one source partition, in offset order; a value that is null is a tombstone.
RAW: Final = pa.schema(
    {"offset": pa.int64(), "timestamp_ms": pa.int64(), "key": pa.large_binary(), "value": pa.large_binary()}
)
_EVENT: Final = _fields(
    "type event_type epoch previous_epoch member_id member_state group_instance_id client_id client_host protocol_type "
    "protocol leader state_time topics members assignment pending_revocation details"
)
RECORD: Final = pa.schema(
    [
        _FIELDS.field("cluster_id"),
        ("kind", pa.string()),
        *_fields("source_partition source_offset record_time record_type value_version tombstone"),
        *_fields("group topic partition committed_offset leader_epoch metadata commit_time expire_time topic_id"),
        ("event", pa.struct(_EVENT)),
        ("raw", pa.struct(_fields("key value problem"))),
        ("gap", pa.struct(_fields("from_offset until_offset missing reason"))),
    ]
)


def topic_id_text(topic_id: bytes) -> str | None:
    """Return an id as Kafka's tools print it (Uuid.toString: base64 for URLs, no padding); None for the zero id."""
    return urlsafe_b64encode(topic_id)[:-2].decode() if any(topic_id) else None


def microseconds(milliseconds: int) -> int | None:
    """Return the time in microseconds; None if Kafka says that there is none (-1), or if it is no time at all."""
    is_time = milliseconds != NO_TIME_MS and EARLIEST_MS <= milliseconds <= LATEST_MS
    return milliseconds * 1000 if is_time else None
