"""DescribeConfigs: the configuration of topics."""

from kafka_groups.protocol import BOOL, INT8, INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

# The type of a resource that is a topic (ConfigResource.Type).
TOPIC_RESOURCE = 2
_RESOURCE = (
    Field("resource_type", INT8),
    Field("resource_name", STRING),
    Field("configuration_keys", Array(STRING), nullable_since=0),
)
_SYNONYM = (
    Field("name", STRING),
    Field("value", STRING, nullable_since=0),
    Field("source", INT8),
)
_CONFIG = (
    Field("name", STRING),
    Field("value", STRING, nullable_since=0),
    Field("read_only", BOOL),
    Field("config_source", INT8, default=-1),
    Field("is_sensitive", BOOL),
    Field("synonyms", Array(_SYNONYM)),
    Field("config_type", INT8, since=3, default=0),
    Field("documentation", STRING, since=3, nullable_since=3, default=None),
)
_RESULT = (
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
    Field("resource_type", INT8),
    Field("resource_name", STRING),
    Field("configs", Array(_CONFIG)),
)

DESCRIBE_CONFIGS = Api(
    key=32,
    name="DescribeConfigs",
    # Kafka 4.0 removed version 0 (KIP-896), which only Kafka 0.11 and 1.0 need.
    lowest=1,
    highest=4,
    flexible_since=4,
    throttle_since=0,
    first_release="1.1",
    request=(
        Field("resources", Array(_RESOURCE)),
        Field("include_synonyms", BOOL, default=False),
        Field("include_documentation", BOOL, since=3, default=False),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field("results", Array(_RESULT)),
    ),
)
