"""ShareGroupDescribe: state, epochs and members of share groups (KIP-932)."""

from kafka_groups.protocol import BOOL, INT16, INT32, STRING, UUID_, Array, Field, Inline
from kafka_groups.protocol.schema import Api

_ASSIGNMENT = Inline(
    (
        Field(
            "topic_partitions",
            Array((Field("topic_id", UUID_), Field("topic_name", STRING), Field("partitions", Array(INT32)))),
        ),
    )
)
_MEMBER = (
    Field("member_id", STRING),
    Field("rack_id", STRING, nullable_since=0, default=None),
    Field("member_epoch", INT32),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("assignment", _ASSIGNMENT),
)
_GROUP = (
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0, default=None),
    Field("group_id", STRING),
    Field("group_state", STRING),
    Field("group_epoch", INT32),
    Field("assignment_epoch", INT32),
    Field("assignor_name", STRING),
    Field("members", Array(_MEMBER)),
    Field("authorized_operations", INT32, default=-(2**31)),
)

SHARE_GROUP_DESCRIBE = Api(
    key=77,
    name="ShareGroupDescribe",
    # Version 0 was the early access of Kafka 4.0, which no later broker has.
    lowest=1,
    highest=1,
    flexible_since=0,
    throttle_since=0,
    first_release="4.1",
    request=(
        Field("group_ids", Array(STRING)),
        Field("include_authorized_operations", BOOL),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field("groups", Array(_GROUP)),
    ),
)
