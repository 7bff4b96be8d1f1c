"""ConsumerGroupDescribe: state, epochs and members of KIP-848 groups."""

from kafka_groups.protocol import BOOL, INT8, INT16, INT32, STRING, UUID_, Array, Field, Inline
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
    Field("instance_id", STRING, nullable_since=0, default=None),
    Field("rack_id", STRING, nullable_since=0, default=None),
    Field("member_epoch", INT32),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("subscribed_topic_regex", STRING, nullable_since=0, default=None),
    Field("assignment", _ASSIGNMENT),
    Field("target_assignment", _ASSIGNMENT),
    Field("member_type", INT8, since=1, default=-1),
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

CONSUMER_GROUP_DESCRIBE = Api(
    key=69,
    name="ConsumerGroupDescribe",
    lowest=0,
    highest=1,
    flexible_since=0,
    throttle_since=0,
    request=(
        Field("group_ids", Array(STRING)),
        Field("include_authorized_operations", BOOL),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field("groups", Array(_GROUP)),
    ),
)
