"""AlterShareGroupOffsets: change the start offsets of a share group without members (KIP-932)."""

from kafka_groups.protocol import INT16, INT32, INT64, STRING, UUID_, Array, Field
from kafka_groups.protocol.schema import Api

_ERROR = (
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0, default=None),
)

ALTER_SHARE_GROUP_OFFSETS = Api(
    key=91,
    name="AlterShareGroupOffsets",
    lowest=0,
    highest=0,
    flexible_since=0,
    throttle_since=0,
    first_release="4.1",
    request=(
        Field("group_id", STRING),
        Field(
            "topics",
            Array(
                (
                    Field("topic_name", STRING),
                    Field("partitions", Array((Field("partition_index", INT32), Field("start_offset", INT64)))),
                )
            ),
        ),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        *_ERROR,
        Field(
            "responses",
            Array(
                (
                    Field("topic_name", STRING),
                    Field("topic_id", UUID_),
                    Field("partitions", Array((Field("partition_index", INT32), *_ERROR))),
                )
            ),
        ),
    ),
)
