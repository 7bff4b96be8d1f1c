"""LeaveGroup: removes members of one group; many members in one request since version 3 (KIP-345)."""

from kafka_groups.protocol import INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

BATCHED_SINCE = 3
_IDENTITY = (
    Field("member_id", STRING),
    Field("group_instance_id", STRING, nullable_since=BATCHED_SINCE, default=None),
)

LEAVE_GROUP = Api(
    key=13,
    name="LeaveGroup",
    lowest=0,
    highest=5,
    flexible_since=4,
    throttle_since=1,
    first_release="0.9",
    request=(
        Field("group_id", STRING),
        Field("member_id", STRING, until=BATCHED_SINCE - 1),
        Field(
            "members",
            # KIP-800 added the reason.
            Array((*_IDENTITY, Field("reason", STRING, since=5, nullable_since=5, default=None))),
            since=BATCHED_SINCE,
        ),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=1),
        Field("error_code", INT16),
        Field("members", Array((*_IDENTITY, Field("error_code", INT16))), since=BATCHED_SINCE),
    ),
)
