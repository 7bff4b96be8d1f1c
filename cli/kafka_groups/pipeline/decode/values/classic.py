"""OffsetCommitValue and GroupMetadataValue, and what consumers put into the latter.

Schema files: group-coordinator/src/main/resources/common/message/{OffsetCommit,GroupMetadata}Value.json and
clients/src/main/resources/common/message/ConsumerProtocol{Subscription,Assignment}.json of Apache Kafka 4.4.0.
"""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.decode.values.shape import ValueSchema, read_prefix
from kafka_groups.protocol import (
    BYTES,
    INT32,
    INT64,
    STRING,
    UUID_,
    Array,
    Cursor,
    Field,
    SchemaError,
    Struct,
    compile_reader,
)

OFFSET_COMMIT: Final = ValueSchema(
    (
        Field("offset", INT64),
        Field("leader_epoch", INT32, since=3, default=-1),
        Field("metadata", STRING),
        Field("commit_timestamp", INT64),
        Field("expire_timestamp", INT64, since=1, until=1, default=-1),
        Field("topic_id", UUID_, since=4, tag=0),
    ),
    versions=range(5),
    flexible_since=4,
)

_MEMBER: Final = (
    Field("member_id", STRING),
    Field("group_instance_id", STRING, since=3, nullable_since=3, default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("rebalance_timeout", INT32, since=1, default=-1),
    Field("session_timeout", INT32),
    Field("subscription", BYTES),
    Field("assignment", BYTES),
)

GROUP_METADATA: Final = ValueSchema(
    (
        Field("protocol_type", STRING),
        Field("generation", INT32),
        Field("protocol", STRING, nullable_since=0),
        Field("leader", STRING, nullable_since=0),
        Field("current_state_timestamp", INT64, since=2, default=-1),
        Field("members", Array(_MEMBER)),
    ),
    versions=range(5),
    flexible_since=4,
)

_TOPIC_PARTITIONS: Final = Array((Field("topic", STRING), Field("partitions", Array(INT32))))

SUBSCRIPTION: Final = (
    Field("topics", Array(STRING)),
    Field("user_data", BYTES, nullable_since=0, default=None),
    Field("owned_partitions", _TOPIC_PARTITIONS, since=1),
    Field("generation_id", INT32, since=2, default=-1),
    Field("rack_id", STRING, since=3, nullable_since=3, default=None),
)

ASSIGNMENT: Final = (
    Field("assigned_partitions", _TOPIC_PARTITIONS),
    Field("user_data", BYTES, nullable_since=0, default=None),
)

_NEWEST_CONSUMER_PROTOCOL: Final = 3
_SUBSCRIPTIONS: Final = [
    compile_reader(SUBSCRIPTION, version=version, flexible=False) for version in range(_NEWEST_CONSUMER_PROTOCOL + 1)
]
_READ_ASSIGNMENT: Final = compile_reader(ASSIGNMENT, version=0, flexible=False)


def read_subscription(data: bytes) -> Struct | None:
    """Read what a consumer said when it joined; None if these bytes are no subscription."""
    cursor = Cursor(data)
    try:
        version = read_prefix(cursor)
        # "When it encounters a newer version, it parses it using the current format" (the schema file).
        found: Struct | None = _SUBSCRIPTIONS[min(version, _NEWEST_CONSUMER_PROTOCOL)](cursor) if version >= 0 else None
    except SchemaError:
        return None
    return found


def read_assignment(data: bytes) -> Struct | None:
    """Read what the leader gave to a consumer; None if these bytes are no assignment (a member may have none)."""
    cursor = Cursor(data)
    try:
        version = read_prefix(cursor)
        found: Struct | None = _READ_ASSIGNMENT(cursor) if version >= 0 else None
    except SchemaError:
        return None
    return found
