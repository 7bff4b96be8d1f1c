"""DeleteShareGroupOffsets: delete the offsets of a share group without members, for whole topics (KIP-932)."""

from kafka_groups.protocol import INT16, INT32, STRING, UUID_, Array, Field
from kafka_groups.protocol.schema import Api

_ERROR = (
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0, default=None),
)

DELETE_SHARE_GROUP_OFFSETS = Api(
    key=92,
    name="DeleteShareGroupOffsets",
    lowest=0,
    highest=0,
    flexible_since=0,
    throttle_since=0,
    first_release="4.1",
    request=(
        Field("group_id", STRING),
        Field("topics", Array((Field("topic_name", STRING),))),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        *_ERROR,
        Field("responses", Array((Field("topic_name", STRING), Field("topic_id", UUID_), *_ERROR))),
    ),
)
