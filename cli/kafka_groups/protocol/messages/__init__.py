"""The APIs that this tool uses, one module each; each schema follows Kafka's schema file of the same name."""

from kafka_groups.protocol.messages.alter_share_group_offsets import ALTER_SHARE_GROUP_OFFSETS
from kafka_groups.protocol.messages.api_versions import API_VERSIONS
from kafka_groups.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafka_groups.protocol.messages.delete_groups import DELETE_GROUPS
from kafka_groups.protocol.messages.delete_share_group_offsets import DELETE_SHARE_GROUP_OFFSETS
from kafka_groups.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafka_groups.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_groups.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kafka_groups.protocol.messages.describe_producers import DESCRIBE_PRODUCERS
from kafka_groups.protocol.messages.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from kafka_groups.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafka_groups.protocol.messages.leave_group import LEAVE_GROUP
from kafka_groups.protocol.messages.list_groups import LIST_GROUPS
from kafka_groups.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_groups.protocol.messages.metadata import METADATA
from kafka_groups.protocol.messages.offset_commit import OFFSET_COMMIT
from kafka_groups.protocol.messages.offset_delete import OFFSET_DELETE
from kafka_groups.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_groups.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafka_groups.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafka_groups.protocol.messages.share_group_describe import SHARE_GROUP_DESCRIBE
from kafka_groups.protocol.messages.streams_group_describe import STREAMS_GROUP_DESCRIBE
from kafka_groups.protocol.schema import Api

ALL: tuple[Api, ...] = (
    ALTER_SHARE_GROUP_OFFSETS,
    API_VERSIONS,
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DELETE_SHARE_GROUP_OFFSETS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_GROUPS,
    DESCRIBE_PRODUCERS,
    DESCRIBE_SHARE_GROUP_OFFSETS,
    FIND_COORDINATOR,
    LEAVE_GROUP,
    LIST_GROUPS,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)

__all__ = [
    "ALL",
    "ALTER_SHARE_GROUP_OFFSETS",
    "API_VERSIONS",
    "CONSUMER_GROUP_DESCRIBE",
    "DELETE_GROUPS",
    "DELETE_SHARE_GROUP_OFFSETS",
    "DESCRIBE_CLUSTER",
    "DESCRIBE_CONFIGS",
    "DESCRIBE_GROUPS",
    "DESCRIBE_PRODUCERS",
    "DESCRIBE_SHARE_GROUP_OFFSETS",
    "FIND_COORDINATOR",
    "LEAVE_GROUP",
    "LIST_GROUPS",
    "LIST_OFFSETS",
    "METADATA",
    "OFFSET_COMMIT",
    "OFFSET_DELETE",
    "OFFSET_FETCH",
    "SASL_AUTHENTICATE",
    "SASL_HANDSHAKE",
    "SHARE_GROUP_DESCRIBE",
    "STREAMS_GROUP_DESCRIBE",
    "Api",
]
