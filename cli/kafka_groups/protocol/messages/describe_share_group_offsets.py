"""DescribeShareGroupOffsets: the start offsets of share groups (KIP-932); the lag since version 1 (KIP-1226)."""

from kafka_groups.protocol import INT16, INT32, INT64, STRING, UUID_, Array, Field
from kafka_groups.protocol.schema import Api

_ERROR = (
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0, default=None),
)
_PARTITION = (
    Field("partition_index", INT32),
    Field("start_offset", INT64),
    Field("leader_epoch", INT32),
    Field("lag", INT64, since=1, default=-1),
    *_ERROR,
)
_TOPIC = (
    Field("topic_name", STRING),
    Field("topic_id", UUID_),
    Field("partitions", Array(_PARTITION)),
)

DESCRIBE_SHARE_GROUP_OFFSETS = Api(
    key=90,
    name="DescribeShareGroupOffsets",
    lowest=0,
    highest=1,
    flexible_since=0,
    throttle_since=0,
    first_release="4.1",
    request=(
        Field(
            "groups",
            Array(
                (
                    Field("group_id", STRING),
                    Field(
                        "topics",
                        Array((Field("topic_name", STRING), Field("partitions", Array(INT32)))),
                        nullable_since=0,
                        default=None,
                    ),
                )
            ),
        ),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field("groups", Array((Field("group_id", STRING), Field("topics", Array(_TOPIC)), *_ERROR))),
    ),
)
