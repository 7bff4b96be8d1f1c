"""DescribeCluster: the cluster's id and brokers, and what the user may do with the cluster (KIP-700, KIP-430)."""

from kafka_groups.protocol import BOOL, INT8, INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

_BROKER = (
    Field("broker_id", INT32),
    Field("host", STRING),
    Field("port", INT32),
    Field("rack", STRING, nullable_since=0, default=None),
)
# The brokers, as opposed to the controllers.
BROKERS = 1

DESCRIBE_CLUSTER = Api(
    key=60,
    name="DescribeCluster",
    lowest=0,
    # Version 2 adds fenced brokers.
    highest=1,
    flexible_since=0,
    throttle_since=0,
    first_release="2.8",
    request=(
        Field("include_cluster_authorized_operations", BOOL),
        Field("endpoint_type", INT8, since=1, default=BROKERS),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, nullable_since=0, default=None),
        Field("endpoint_type", INT8, since=1, default=BROKERS),
        Field("cluster_id", STRING),
        Field("controller_id", INT32, default=-1),
        Field("brokers", Array(_BROKER)),
        Field("cluster_authorized_operations", INT32, default=-(2**31)),
    ),
)
