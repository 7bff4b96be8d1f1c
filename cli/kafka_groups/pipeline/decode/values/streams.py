"""The values of streams groups (KIP-1071): schema files StreamsGroup*Value.json of Apache Kafka 4.4.0.

All are version 0; they grow by tagged fields.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from kafka_groups.pipeline.decode.values.shape import ValueSchema
from kafka_groups.protocol import INT8, INT16, INT32, INT64, STRING, Array, Cursor, Field, Inline, Primitive

_UINT16: Final = struct.Struct(">H")


def _read_uint16(cursor: Cursor) -> int:
    return int(_UINT16.unpack(cursor.take(2))[0])


def _write_uint16(out: bytearray, value: Any) -> None:
    out += _UINT16.pack(value)


# The port of an endpoint is the only unsigned number in all records.
UINT16: Final = Primitive(
    "uint16", lambda _flexible, _nullable: _read_uint16, lambda _flexible, _nullable: _write_uint16, 0
)

_KEY_VALUES: Final = Array((Field("key", STRING), Field("value", STRING)))

METADATA: Final = ValueSchema(
    (
        Field("epoch", INT32),
        Field("metadata_hash", INT64),
        Field("validated_topology_epoch", INT32, tag=0, default=-1),
        Field("last_assignment_configs", _KEY_VALUES, nullable_since=0, tag=1),
        Field("stored_description_topology_epoch", INT32, tag=2, default=-1),
        Field("failed_description_topology_epoch", INT32, tag=3, default=-1),
    )
)

MEMBER_METADATA: Final = ValueSchema(
    (
        Field("instance_id", STRING, nullable_since=0),
        Field("rack_id", STRING, nullable_since=0),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("rebalance_timeout_ms", INT32),
        Field("topology_epoch", INT32),
        Field("process_id", STRING),
        Field("user_endpoint", Inline((Field("host", STRING), Field("port", UINT16))), nullable_since=0, default=None),
        Field("client_tags", _KEY_VALUES),
    )
)

_TASKS: Final = Array((Field("subtopology_id", STRING), Field("partitions", Array(INT32))))
_HELD_TASKS: Final = Array(
    (
        Field("subtopology_id", STRING),
        Field("partitions", Array(INT32)),
        Field("assignment_epochs", Array(INT32), nullable_since=0, tag=0),
    )
)

TARGET_ASSIGNMENT_MEMBER: Final = ValueSchema(
    (Field("active_tasks", _TASKS), Field("standby_tasks", _TASKS), Field("warmup_tasks", _TASKS))
)

CURRENT_MEMBER_ASSIGNMENT: Final = ValueSchema(
    (
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("active_tasks", _HELD_TASKS),
        Field("standby_tasks", _HELD_TASKS),
        Field("warmup_tasks", _HELD_TASKS),
        Field("active_tasks_pending_revocation", _HELD_TASKS),
        Field("standby_tasks_pending_revocation", _HELD_TASKS),
        Field("warmup_tasks_pending_revocation", _HELD_TASKS),
    )
)

_INTERNAL_TOPICS: Final = Array(
    (
        Field("name", STRING),
        Field("partitions", INT32),
        Field("replication_factor", INT16),
        Field("topic_configs", _KEY_VALUES),
    )
)

TOPOLOGY: Final = ValueSchema(
    (
        Field("epoch", INT32),
        Field(
            "subtopologies",
            Array(
                (
                    Field("subtopology_id", STRING),
                    Field("source_topics", Array(STRING)),
                    Field("source_topic_regex", Array(STRING)),
                    Field("state_changelog_topics", _INTERNAL_TOPICS),
                    Field("repartition_sink_topics", Array(STRING)),
                    Field("repartition_source_topics", _INTERNAL_TOPICS),
                    Field(
                        "copartition_groups",
                        Array(
                            (
                                Field("source_topics", Array(INT16)),
                                Field("source_topic_regex", Array(INT16)),
                                Field("repartition_source_topics", Array(INT16)),
                            )
                        ),
                    ),
                )
            ),
        ),
    )
)
