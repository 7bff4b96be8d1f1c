"""DescribeGroups: state and members of classic groups."""

from kafka_groups.protocol import BOOL, BYTES, INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

_MEMBER = (
    Field("member_id", STRING),
    Field("group_instance_id", STRING, since=4, nullable_since=4, default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("member_metadata", BYTES),
    Field("member_assignment", BYTES),
)
_GROUP = (
    Field("error_code", INT16),
    Field("error_message", STRING, since=6, nullable_since=6, default=None),
    Field("group_id", STRING),
    Field("group_state", STRING),
    Field("protocol_type", STRING),
    Field("protocol_data", STRING),
    Field("members", Array(_MEMBER)),
    Field("authorized_operations", INT32, since=3, default=-(2**31)),
)

DESCRIBE_GROUPS = Api(
    key=15,
    name="DescribeGroups",
    lowest=0,
    highest=6,
    flexible_since=5,
    throttle_since=1,
    request=(
        Field("groups", Array(STRING)),
        Field("include_authorized_operations", BOOL, since=3),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=1),
        Field("groups", Array(_GROUP)),
    ),
)

# The bytes of a consumer's member_assignment (ConsumerProtocolAssignment.json): they begin with a version,
# are never flexible, and versions above 3 are read as version 3.
ASSIGNMENT = (
    Field(
        "assigned_partitions",
        Array((Field("topic", STRING), Field("partitions", Array(INT32)))),
    ),
)
