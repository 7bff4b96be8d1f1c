"""Metadata: the brokers of the cluster, and the partition leaders of the requested topics."""

from kafka_groups.protocol import BOOL, INT16, INT32, STRING, UUID_, Array, Field
from kafka_groups.protocol.schema import Api

# A request may name topics by their ids.
TOPIC_IDS_SINCE = 12
_BROKER = (
    Field("node_id", INT32),
    Field("host", STRING),
    Field("port", INT32),
    Field("rack", STRING, since=1, nullable_since=1, default=None),
)
_PARTITION = (
    Field("error_code", INT16),
    Field("partition_index", INT32),
    Field("leader_id", INT32),
    Field("leader_epoch", INT32, since=7, default=-1),
    Field("replica_nodes", Array(INT32)),
    Field("isr_nodes", Array(INT32)),
    Field("offline_replicas", Array(INT32), since=5),
)
_TOPIC = (
    Field("error_code", INT16),
    Field("name", STRING, nullable_since=12),
    Field("topic_id", UUID_, since=10),
    Field("is_internal", BOOL, since=1),
    Field("partitions", Array(_PARTITION)),
    Field("topic_authorized_operations", INT32, since=8, default=-(2**31)),
)

# Why a response without brokers is no answer: its broker knows neither brokers nor topics, itself included.
NO_BROKERS = "its metadata contains no brokers; it may be starting"

METADATA = Api(
    key=3,
    name="Metadata",
    # Before version 4 a request cannot switch the automatic creation of topics off.
    lowest=4,
    highest=13,
    flexible_since=9,
    throttle_since=3,
    request=(
        Field(
            "topics",
            Array((Field("topic_id", UUID_, since=10), Field("name", STRING, nullable_since=10))),
            nullable_since=1,
        ),
        Field("allow_auto_topic_creation", BOOL, since=4, default=False),
        Field("include_cluster_authorized_operations", BOOL, since=8, until=10),
        Field("include_topic_authorized_operations", BOOL, since=8),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=3),
        Field("brokers", Array(_BROKER)),
        Field("cluster_id", STRING, since=2, nullable_since=2, default=None),
        Field("controller_id", INT32, since=1, default=-1),
        Field("topics", Array(_TOPIC)),
        Field("cluster_authorized_operations", INT32, since=8, until=10, default=-(2**31)),
        Field("error_code", INT16, since=13),
    ),
)
