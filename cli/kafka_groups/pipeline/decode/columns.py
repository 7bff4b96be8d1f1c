"""The columns of a decoded record of `__consumer_offsets`, as Arrow types: what the data source hands to Spark."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

# Kinds of rows. A gap is no record: it stands for offsets of a range that no record was found at.
OFFSET_COMMIT: Final = "offset_commit"
GROUP_EVENT: Final = "group_event"
UNKNOWN: Final = "unknown"
GAP: Final = "gap"

TIME: Final = pa.timestamp("us", tz="UTC")

# One topic's partitions inside an assignment. KIP-848 and share groups write ids and no names, classic ones names
# and no ids.
ASSIGNMENT: Final = pa.list_(
    pa.struct([("topic", pa.string()), ("topic_id", pa.string()), ("partitions", pa.list_(pa.int32()))])
)

MEMBER: Final = pa.struct(
    [
        ("member_id", pa.string()),
        ("group_instance_id", pa.string()),
        ("client_id", pa.string()),
        ("client_host", pa.string()),
        ("rebalance_timeout_ms", pa.int32()),
        ("session_timeout_ms", pa.int32()),
        ("topics", pa.list_(pa.string())),
        ("assignment", ASSIGNMENT),
    ]
)

# What records other than commits say. `epoch` is the generation of a classic group, else the epoch that the record
# is about: of the group, of the target assignment, or of the member.
EVENT: Final = pa.struct(
    [
        ("type", pa.string()),  # GroupMetadata, ConsumerGroupMetadata, …: Kafka's name of the key type
        ("event_type", pa.string()),  # a stable word for what happened, see records/event_types.py
        ("epoch", pa.int32()),
        ("previous_epoch", pa.int32()),
        ("member_id", pa.string()),
        ("member_state", pa.string()),
        ("group_instance_id", pa.string()),
        ("client_id", pa.string()),
        ("client_host", pa.string()),
        ("protocol_type", pa.string()),
        ("protocol", pa.string()),
        ("leader", pa.string()),
        ("state_time", TIME),
        ("topics", pa.list_(pa.string())),
        ("members", pa.list_(MEMBER)),
        ("assignment", ASSIGNMENT),
        ("pending_revocation", ASSIGNMENT),
        ("details", pa.string()),  # everything that the value says, as one JSON object
    ]
)

# A record that could not be understood, kept as it is, and why.
RAW: Final = pa.struct([("key", pa.binary()), ("value", pa.binary()), ("problem", pa.string())])

# Offsets from..until (the last one included) of a source partition, of which `missing` hold no record.
HOLE: Final = pa.struct(
    [("from_offset", pa.int64()), ("until_offset", pa.int64()), ("missing", pa.int64()), ("reason", pa.string())]
)

RECORD: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("kind", pa.string()),
        ("source_partition", pa.int32()),
        ("source_offset", pa.int64()),
        ("record_time", TIME),
        ("record_type", pa.int16()),  # the key's type; null where there is no such
        ("value_version", pa.int16()),  # null for a tombstone
        ("tombstone", pa.bool_()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("committed_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("metadata", pa.string()),
        ("commit_time", TIME),
        ("expire_time", TIME),
        ("topic_id", pa.string()),
        ("event", EVENT),
        ("raw", RAW),
        ("gap", HOLE),
    ]
)
