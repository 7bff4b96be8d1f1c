"""The values of KIP-848's consumer groups: schema files ConsumerGroup*Value.json of Apache Kafka 4.4.0.

All are version 0; they grow by tagged fields. A tag's default is what the schema file says. 3.7, where these groups
were an early access, wrote four of them in layouts of its own under the same version number.
"""

from __future__ import annotations

from typing import Any, Final

from kafka_groups.pipeline.decode.values.shape import ValueSchema
from kafka_groups.protocol import (
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID_,
    Array,
    Cursor,
    Field,
    Primitive,
    compile_reader,
    compile_writer,
    read_unsigned_varint,
)

METADATA: Final = ValueSchema((Field("epoch", INT32), Field("metadata_hash", INT64, tag=0)))

_TOPICS: Final = Field(
    "topics",
    Array(
        (
            Field("topic_id", UUID_),
            Field("topic_name", STRING),
            Field("num_partitions", INT32),
            Field("partition_metadata", Array((Field("partition", INT32), Field("racks", Array(STRING))))),
        )
    ),
)

# Written up to 4.0; since 4.1 only tombstones of it are.
PARTITION_METADATA: Final = ValueSchema((_TOPICS,), once=(Field("epoch", INT32), _TOPICS))

_CLASSIC_MEMBER: Final = (
    Field("session_timeout_ms", INT32),
    Field("supported_protocols", Array((Field("name", STRING), Field("metadata", BYTES)))),
)
_READ_CLASSIC_MEMBER: Final = compile_reader(_CLASSIC_MEMBER, version=0, flexible=True)
_WRITE_CLASSIC_MEMBER: Final = compile_writer(_CLASSIC_MEMBER, version=0, flexible=True)


def _read_classic_member(cursor: Cursor) -> Any:
    return _READ_CLASSIC_MEMBER(cursor) if read_unsigned_varint(cursor) else None


def _write_classic_member(out: bytearray, value: Any) -> None:
    out.append(0 if value is None else 1)
    if value is not None:
        _WRITE_CLASSIC_MEMBER(out, value)


# Of a member that speaks the classic protocol; the brokers write null, in full, for all others. As a tagged struct
# it is preceded by 0 or 1 (structs that are not tagged say -1 for null). Kafka reads an absent one as an empty
# struct; here it is null, since no member of the classic protocol is without one.
CLASSIC_MEMBER: Final = Primitive(
    "classic member",
    lambda _flexible, _nullable: _read_classic_member,
    lambda _flexible, _nullable: _write_classic_member,
    None,
)

_MEMBER: Final = (
    Field("instance_id", STRING, nullable_since=0),
    Field("rack_id", STRING, nullable_since=0),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("subscribed_topic_regex", STRING, nullable_since=0),
    Field("rebalance_timeout_ms", INT32),
    Field("server_assignor", STRING, nullable_since=0),
)
_CLIENT_ASSIGNORS: Final = Array(
    (
        Field("name", STRING),
        Field("minimum_version", INT16),
        Field("maximum_version", INT16),
        Field("reason", INT8),
        Field("version", INT16),
        Field("metadata", BYTES),
    )
)

MEMBER_METADATA: Final = ValueSchema(
    (*_MEMBER, Field("classic_member_metadata", CLASSIC_MEMBER, tag=0)),
    once=(*_MEMBER, Field("assignors", _CLIENT_ASSIGNORS)),
)

# Share and streams groups have the same one.
TARGET_ASSIGNMENT_METADATA: Final = ValueSchema(
    (Field("assignment_epoch", INT32), Field("assignment_timestamp", INT64, tag=0))
)

_PARTITIONS: Final = Array((Field("topic_id", UUID_), Field("partitions", Array(INT32))))
_ERROR: Final = Field("error", INT8)
_CLIENT_METADATA: Final = (Field("metadata_version", INT16), Field("metadata_bytes", BYTES))

# Share groups have the same one.
TARGET_ASSIGNMENT_MEMBER: Final = ValueSchema(
    (Field("topic_partitions", _PARTITIONS),),
    once=(_ERROR, Field("topic_partitions", _PARTITIONS), *_CLIENT_METADATA),
)

_HELD_PARTITIONS: Final = Array(
    (
        Field("topic_id", UUID_),
        Field("partitions", Array(INT32)),
        Field("assignment_epochs", Array(INT32), nullable_since=0, tag=0),
    )
)

CURRENT_MEMBER_ASSIGNMENT: Final = ValueSchema(
    (
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("assigned_partitions", _HELD_PARTITIONS),
        Field("partitions_pending_revocation", _HELD_PARTITIONS),
    ),
    once=(
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("target_member_epoch", INT32),
        Field("assigned_partitions", _PARTITIONS),
        Field("partitions_pending_revocation", _PARTITIONS),
        Field("partitions_pending_assignment", _PARTITIONS),
        _ERROR,
        *_CLIENT_METADATA,
    ),
)

REGULAR_EXPRESSION: Final = ValueSchema(
    (Field("topics", Array(STRING)), Field("version", INT64), Field("timestamp", INT64))
)
