"""StreamsGroupDescribe: state, epochs, topology and members of streams groups (KIP-1071, KIP-1331)."""

from kafka_groups.protocol import BOOL, INT8, INT16, INT32, INT64, STRING, UINT16, Array, Field, Inline
from kafka_groups.protocol.schema import Api

TOPOLOGY_DESCRIPTION_SINCE = 1

_KEY_VALUE = (Field("key", STRING), Field("value", STRING))
_TOPIC = (
    Field("name", STRING),
    Field("partitions", INT32),
    Field("replication_factor", INT16),
    Field("topic_configs", Array(_KEY_VALUE)),
)
_SUBTOPOLOGY = (
    Field("subtopology_id", STRING),
    Field("source_topics", Array(STRING)),
    Field("repartition_sink_topics", Array(STRING)),
    Field("state_changelog_topics", Array(_TOPIC)),
    Field("repartition_source_topics", Array(_TOPIC)),
)
_TOPOLOGY = Inline(
    (
        Field("epoch", INT32),
        Field("subtopologies", Array(_SUBTOPOLOGY), nullable_since=0, default=None),
    )
)
_TASKS = Array((Field("subtopology_id", STRING), Field("partitions", Array(INT32))))
_ASSIGNMENT = Inline(
    (
        Field("active_tasks", _TASKS),
        Field("standby_tasks", _TASKS),
        Field("warmup_tasks", _TASKS),
    )
)
_TASK_OFFSET = (Field("subtopology_id", STRING), Field("partition", INT32), Field("offset", INT64))
_MEMBER = (
    Field("member_id", STRING),
    Field("member_epoch", INT32),
    Field("instance_id", STRING, nullable_since=0, default=None),
    Field("rack_id", STRING, nullable_since=0, default=None),
    Field("client_id", STRING),
    Field("client_host", STRING),
    Field("topology_epoch", INT32),
    Field("process_id", STRING),
    Field("user_endpoint", Inline((Field("host", STRING), Field("port", UINT16))), nullable_since=0, default=None),
    Field("client_tags", Array(_KEY_VALUE)),
    Field("task_offsets", Array(_TASK_OFFSET)),
    Field("task_end_offsets", Array(_TASK_OFFSET)),
    Field("assignment", _ASSIGNMENT),
    Field("target_assignment", _ASSIGNMENT),
    Field("is_classic", BOOL),
)
_NODE = (
    Field("name", STRING),
    Field("node_type", INT8),
    Field("source_topics", Array(STRING)),
    Field("sink_topic", STRING, nullable_since=1, default=None),
    Field("stores", Array(STRING)),
    Field("successors", Array(STRING)),
)
_DESCRIPTION = Inline(
    (
        Field("subtopologies", Array((Field("subtopology_id", STRING), Field("nodes", Array(_NODE))))),
        Field("global_stores", Array((Field("source", Inline(_NODE)), Field("processor", Inline(_NODE))))),
    )
)
_GROUP = (
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0, default=None),
    Field("group_id", STRING),
    Field("group_state", STRING),
    Field("group_epoch", INT32),
    Field("assignment_epoch", INT32),
    Field("topology", _TOPOLOGY, nullable_since=0, default=None),
    Field("members", Array(_MEMBER)),
    Field("authorized_operations", INT32, default=-(2**31)),
    Field(
        "topology_description",
        _DESCRIPTION,
        since=TOPOLOGY_DESCRIPTION_SINCE,
        nullable_since=TOPOLOGY_DESCRIPTION_SINCE,
        default=None,
    ),
    Field("topology_description_status", INT8, since=TOPOLOGY_DESCRIPTION_SINCE),
    Field("assignor_name", STRING, since=1, nullable_since=1, default=None),
)

STREAMS_GROUP_DESCRIBE = Api(
    key=89,
    name="StreamsGroupDescribe",
    lowest=0,
    highest=1,
    flexible_since=0,
    throttle_since=0,
    first_release="4.1",
    request=(
        Field("group_ids", Array(STRING)),
        Field("include_authorized_operations", BOOL),
        Field("include_topology_description", BOOL, since=TOPOLOGY_DESCRIPTION_SINCE),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field("groups", Array(_GROUP)),
    ),
)
