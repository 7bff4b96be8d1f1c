"""The structs of records of `__consumer_offsets`, from the schema files of Apache Kafka 4.4.0.

A constant has the name of Kafka's schema file or of a struct in it, and a field has its name in Kafka. Records grow by
tagged fields (KIP-482), and readers skip tags that they do not know. Layouts that only an early access wrote (consumer
groups in 3.7, share groups in 4.0) are missing: no later broker reads them either.
"""

from __future__ import annotations

from typing import Final

from kafka_groups.protocol import BYTES, INT8, INT16, INT32, INT64, UINT16, UUID_, VISIBLE_STRING, Array, Field, Inline

# Names that are not UTF-8 are read with visible escapes, because a record must not be lost for that.
STRING: Final = VISIBLE_STRING

# Keys of records. Kafka calls the first field `group` in types 0 to 2 and `groupId` in later ones.
COMMIT_KEY: Final = (
    Field("group", STRING),
    Field("topic", STRING),
    Field("partition", INT32),
)
GROUP_KEY: Final = (Field("group", STRING),)
MEMBER_KEY: Final = (
    Field("group", STRING),
    Field("member_id", STRING),
)
REGEX_KEY: Final = (
    Field("group", STRING),
    Field("regular_expression", STRING),
)

# Commits and classic groups.
OFFSET_COMMIT: Final = (
    Field("offset", INT64),
    Field("leader_epoch", INT32, since=3, default=-1),
    Field("metadata", STRING),
    Field("commit_timestamp", INT64),
    Field("expire_timestamp", INT64, since=1, until=1, default=-1),
    Field("topic_id", UUID_, since=4, tag=0),
)
_MEMBER: Final = (
    Field("member_id", STRING),
    Field("group_instance_id", STRING, since=3, nullable_since=3, default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("rebalance_timeout", INT32, since=1, default=-1),
    Field("session_timeout", INT32),
    Field("subscription", BYTES),
    Field("assignment", BYTES),
)
GROUP_METADATA: Final = (
    Field("protocol_type", STRING),
    Field("generation", INT32),
    Field("protocol", STRING, nullable_since=0, default=None),
    Field("leader", STRING, nullable_since=0, default=None),
    Field("current_state_timestamp", INT64, since=2, default=-1),
    Field("members", Array(_MEMBER)),
)

# The subscription and the assignment of a classic member, which consumers write. All versions begin with these fields.
_TOPIC_PARTITION: Final = (
    Field("topic", STRING),
    Field("partitions", Array(INT32)),
)
CONSUMER_PROTOCOL_SUBSCRIPTION: Final = (Field("topics", Array(STRING)),)
CONSUMER_PROTOCOL_ASSIGNMENT: Final = (Field("assigned_partitions", Array(_TOPIC_PARTITION)),)

# Consumer groups of KIP-848.
CONSUMER_GROUP_METADATA: Final = (
    Field("epoch", INT32),
    Field("metadata_hash", INT64, tag=0),
)
_PARTITION_METADATA: Final = (
    Field("partition", INT32),
    Field("racks", Array(STRING)),
)
_TOPIC_METADATA: Final = (
    Field("topic_id", UUID_),
    Field("topic_name", STRING),
    Field("num_partitions", INT32),
    Field("partition_metadata", Array(_PARTITION_METADATA)),
)
CONSUMER_GROUP_PARTITION_METADATA: Final = (Field("topics", Array(_TOPIC_METADATA)),)
_CLASSIC_PROTOCOL: Final = (
    Field("name", STRING),
    Field("metadata", BYTES),
)
_CLASSIC_MEMBER_METADATA: Final = (
    Field("session_timeout_ms", INT32),
    Field("supported_protocols", Array(_CLASSIC_PROTOCOL)),
)
CONSUMER_GROUP_MEMBER_METADATA: Final = (
    Field("instance_id", STRING, nullable_since=0, default=None),
    Field("rack_id", STRING, nullable_since=0, default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
    Field("subscribed_topic_regex", STRING, nullable_since=0, default=None),
    Field("rebalance_timeout_ms", INT32),
    Field("server_assignor", STRING, nullable_since=0, default=None),
    Field("classic_member_metadata", Inline(_CLASSIC_MEMBER_METADATA), nullable_since=0, tag=0, default=None),
)
# Kafka has a schema file of the same fields for each kind of group, with its prefix (ConsumerGroup…, ShareGroup…).
TARGET_ASSIGNMENT_METADATA: Final = (
    Field("assignment_epoch", INT32),
    Field("assignment_timestamp", INT64, tag=0),
)
_TOPIC_PARTITIONS: Final = (
    Field("topic_id", UUID_),
    Field("partitions", Array(INT32)),
)
# Streams groups have a schema of their own; see below.
TARGET_ASSIGNMENT_MEMBER: Final = (Field("topic_partitions", Array(_TOPIC_PARTITIONS)),)
_HELD_PARTITIONS: Final = (
    Field("topic_id", UUID_),
    Field("partitions", Array(INT32)),
    Field("assignment_epochs", Array(INT32), nullable_since=0, tag=0),
)
CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = (
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("assigned_partitions", Array(_HELD_PARTITIONS)),
    Field("partitions_pending_revocation", Array(_HELD_PARTITIONS)),
)
CONSUMER_GROUP_REGULAR_EXPRESSION: Final = (
    Field("topics", Array(STRING)),
    Field("version", INT64),
    Field("timestamp", INT64),
)

# Share groups (KIP-932).
SHARE_GROUP_METADATA: Final = (
    Field("epoch", INT32),
    Field("metadata_hash", INT64),
)
SHARE_GROUP_MEMBER_METADATA: Final = (
    Field("rack_id", STRING, nullable_since=0, default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("subscribed_topic_names", Array(STRING)),
)
SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = (
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("assigned_partitions", Array(_TOPIC_PARTITIONS)),
)
_SHARE_PARTITIONS: Final = (
    Field("topic_id", UUID_),
    Field("topic_name", STRING),
    Field("partitions", Array(INT32)),
)
_DELETING_TOPIC: Final = (
    Field("topic_id", UUID_),
    Field("topic_name", STRING),
)
SHARE_GROUP_STATE_PARTITION_METADATA: Final = (
    Field("initializing_topics", Array(_SHARE_PARTITIONS)),
    Field("initialized_topics", Array(_SHARE_PARTITIONS)),
    Field("deleting_topics", Array(_DELETING_TOPIC)),
)

# Streams groups (KIP-1071).
_KEY_VALUE: Final = (
    Field("key", STRING),
    Field("value", STRING),
)
STREAMS_GROUP_METADATA: Final = (
    Field("epoch", INT32),
    Field("metadata_hash", INT64),
    Field("validated_topology_epoch", INT32, tag=0, default=-1),
    Field("last_assignment_configs", Array(_KEY_VALUE), nullable_since=0, tag=1),
    Field("stored_description_topology_epoch", INT32, tag=2, default=-1),
    Field("failed_description_topology_epoch", INT32, tag=3, default=-1),
)
_ENDPOINT: Final = (
    Field("host", STRING),
    Field("port", UINT16),
)
STREAMS_GROUP_MEMBER_METADATA: Final = (
    Field("instance_id", STRING, nullable_since=0, default=None),
    Field("rack_id", STRING, nullable_since=0, default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("rebalance_timeout_ms", INT32),
    Field("topology_epoch", INT32),
    Field("process_id", STRING),
    Field("user_endpoint", Inline(_ENDPOINT), nullable_since=0, default=None),
    Field("client_tags", Array(_KEY_VALUE)),
)
_TASKS: Final = (
    Field("subtopology_id", STRING),
    Field("partitions", Array(INT32)),
)
STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: Final = (
    Field("active_tasks", Array(_TASKS)),
    Field("standby_tasks", Array(_TASKS)),
    Field("warmup_tasks", Array(_TASKS)),
)
_HELD_TASKS: Final = (
    Field("subtopology_id", STRING),
    Field("partitions", Array(INT32)),
    Field("assignment_epochs", Array(INT32), nullable_since=0, tag=0),
)
STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: Final = (
    Field("member_epoch", INT32),
    Field("previous_member_epoch", INT32),
    Field("state", INT8),
    Field("active_tasks", Array(_HELD_TASKS)),
    Field("standby_tasks", Array(_HELD_TASKS)),
    Field("warmup_tasks", Array(_HELD_TASKS)),
    Field("active_tasks_pending_revocation", Array(_HELD_TASKS)),
    Field("standby_tasks_pending_revocation", Array(_HELD_TASKS)),
    Field("warmup_tasks_pending_revocation", Array(_HELD_TASKS)),
)
_INTERNAL_TOPIC: Final = (
    Field("name", STRING),
    Field("partitions", INT32),
    Field("replication_factor", INT16),
    Field("topic_configs", Array(_KEY_VALUE)),
)
_COPARTITION_GROUP: Final = (
    Field("source_topics", Array(INT16)),
    Field("source_topic_regex", Array(INT16)),
    Field("repartition_source_topics", Array(INT16)),
)
_SUBTOPOLOGY: Final = (
    Field("subtopology_id", STRING),
    Field("source_topics", Array(STRING)),
    Field("source_topic_regex", Array(STRING)),
    Field("state_changelog_topics", Array(_INTERNAL_TOPIC)),
    Field("repartition_sink_topics", Array(STRING)),
    Field("repartition_source_topics", Array(_INTERNAL_TOPIC)),
    Field("copartition_groups", Array(_COPARTITION_GROUP)),
)
STREAMS_GROUP_TOPOLOGY: Final = (
    Field("epoch", INT32),
    Field("subtopologies", Array(_SUBTOPOLOGY)),
)
