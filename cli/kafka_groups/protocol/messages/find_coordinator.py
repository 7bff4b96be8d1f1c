"""FindCoordinator: the broker that coordinates a group; many groups in one request since version 4 (KIP-699)."""

from kafka_groups.protocol import INT8, INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

BATCHED_SINCE = 4
_ADDRESS = (Field("node_id", INT32), Field("host", STRING), Field("port", INT32))
_ERROR = (Field("error_code", INT16), Field("error_message", STRING, nullable_since=0, default=None))

FIND_COORDINATOR = Api(
    key=10,
    name="FindCoordinator",
    lowest=0,
    # Versions 5 and 6 add an error for transactions and the keys of share groups, which this tool does not request.
    highest=6,
    flexible_since=3,
    throttle_since=1,
    request=(
        Field("key", STRING, until=BATCHED_SINCE - 1),
        Field("key_type", INT8, since=1),
        Field("coordinator_keys", Array(STRING), since=BATCHED_SINCE),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=1),
        Field("error_code", INT16, until=BATCHED_SINCE - 1),
        Field("error_message", STRING, since=1, until=BATCHED_SINCE - 1, nullable_since=1, default=None),
        Field("node_id", INT32, until=BATCHED_SINCE - 1),
        Field("host", STRING, until=BATCHED_SINCE - 1),
        Field("port", INT32, until=BATCHED_SINCE - 1),
        Field("coordinators", Array((Field("key", STRING), *_ADDRESS, *_ERROR)), since=BATCHED_SINCE),
    ),
)
