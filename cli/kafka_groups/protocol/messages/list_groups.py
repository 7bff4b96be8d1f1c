"""ListGroups: the groups that one broker coordinates; filters by state (KIP-518) and type (KIP-848)."""

from kafka_groups.protocol import INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

FILTERS_STATES_SINCE = 4
FILTERS_TYPES_SINCE = 5

GROUP = (
    Field("group_id", STRING),
    Field("protocol_type", STRING),
    Field("group_state", STRING, since=FILTERS_STATES_SINCE),
    Field("group_type", STRING, since=FILTERS_TYPES_SINCE),
)

LIST_GROUPS = Api(
    key=16,
    name="ListGroups",
    lowest=0,
    highest=5,
    flexible_since=3,
    throttle_since=1,
    request=(
        Field("states_filter", Array(STRING), since=FILTERS_STATES_SINCE),
        Field("types_filter", Array(STRING), since=FILTERS_TYPES_SINCE),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=1),
        Field("error_code", INT16),
        Field("groups", Array(GROUP)),
    ),
)
