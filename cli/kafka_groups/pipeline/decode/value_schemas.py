"""What the values of records contain: the schema files of Apache Kafka 4.4.0, a line for each struct.

A field is `name type`, with Kafka's names of types: `[]` is an array, and what `?` follows may be null. Words behind it
are the `versions` that have it (from one on, or this one alone), its `tag` (KIP-482), and its `default` if that is not
the type's. Structs are used by those below them. Records grow by tags; unknown ones are skipped.

What only an early access wrote is not here (KIP-848 groups in 3.7, share groups in 4.0): no later broker reads those
records, either. They are rows of unknown_records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from kafka_groups.pipeline.schemas.shape import logical_lines
from kafka_groups.protocol import BYTES, INT8, INT16, INT32, INT64, STRING, UINT16, UUID_, Array, Field, Inline

Fields: TypeAlias = tuple[Field, ...]

_PRIMITIVES: Final = {kind.name: kind for kind in (BYTES, INT8, INT16, INT32, INT64, STRING, UINT16, UUID_)}


def parse_fields(text: str, structs: Mapping[str, Fields]) -> Fields:
    """Return the fields of a text; `structs` are those that it may name."""
    return tuple(_parse_field(field, structs) for field in text.split(", "))


def _parse_field(text: str, structs: Mapping[str, Fields]) -> Field:
    name, kind, *words = text.split()
    options = dict(zip(words[::2], words[1::2], strict=True))
    versions = options.get("versions", "0+")
    since = int(versions.rstrip("+"))
    is_array, is_nullable, bare = kind.startswith("[]"), kind.endswith("?"), kind.strip("[]?")
    element: Any = structs[bare] if bare in structs else _PRIMITIVES[bare]
    default: Any = None if is_nullable and not is_array else ...
    return Field(
        name,
        Array(element) if is_array else Inline(element) if bare in structs else element,
        since=since,
        until=None if versions.endswith("+") else since,
        nullable_since=since if is_nullable else None,
        tag=int(options["tag"]) if "tag" in options else None,
        default=int(options["default"]) if "default" in options else default,
    )


def _parse_schemas(text: str) -> dict[str, Fields]:
    schemas: dict[str, Fields] = {}
    for line in filter(None, logical_lines(text)):
        names, _, fields = line.partition(": ")
        schemas.update(dict.fromkeys(names.split(", "), parse_fields(fields, schemas)))
    return schemas


# Commits and classic groups; what consumers write into a member's subscription and assignment, in all versions (more
# follows in both); KIP-848 groups; share groups (KIP-932); streams groups (KIP-1071).
SCHEMAS: Final = _parse_schemas("""
    LegacyOffsetCommit, OffsetCommit: offset int64, leader_epoch int32 versions 3+ default -1, metadata string,
        commit_timestamp int64, expire_timestamp int64 versions 1 default -1, topic_id uuid versions 4+ tag 0
    Member: member_id string, group_instance_id string? versions 3+, client_id string, client_host string,
        rebalance_timeout int32 versions 1+ default -1, session_timeout int32, subscription bytes, assignment bytes
    GroupMetadata: protocol_type string, generation int32, protocol string?, leader string?,
        current_state_timestamp int64 versions 2+ default -1, members []Member

    TopicPartition: topic string, partitions []int32
    ConsumerProtocolSubscription: topics []string
    ConsumerProtocolAssignment: assigned_partitions []TopicPartition

    ConsumerGroupMetadata: epoch int32, metadata_hash int64 tag 0
    PartitionMetadata: partition int32, racks []string
    TopicMetadata: topic_id uuid, topic_name string, num_partitions int32, partition_metadata []PartitionMetadata
    ConsumerGroupPartitionMetadata: topics []TopicMetadata
    ClassicProtocol: name string, metadata bytes
    ClassicMemberMetadata: session_timeout_ms int32, supported_protocols []ClassicProtocol
    ConsumerGroupMemberMetadata: instance_id string?, rack_id string?, client_id string, client_host string,
        subscribed_topic_names []string, subscribed_topic_regex string?, rebalance_timeout_ms int32,
        server_assignor string?, classic_member_metadata ClassicMemberMetadata? tag 0
    ConsumerGroupTargetAssignmentMetadata, ShareGroupTargetAssignmentMetadata, StreamsGroupTargetAssignmentMetadata:
        assignment_epoch int32, assignment_timestamp int64 tag 0
    TopicPartitions: topic_id uuid, partitions []int32
    ConsumerGroupTargetAssignmentMember, ShareGroupTargetAssignmentMember: topic_partitions []TopicPartitions
    HeldPartitions: topic_id uuid, partitions []int32, assignment_epochs []int32? tag 0
    ConsumerGroupCurrentMemberAssignment: member_epoch int32, previous_member_epoch int32, state int8,
        assigned_partitions []HeldPartitions, partitions_pending_revocation []HeldPartitions
    ConsumerGroupRegularExpression: topics []string, version int64, timestamp int64

    ShareGroupMetadata: epoch int32, metadata_hash int64
    ShareGroupMemberMetadata: rack_id string?, client_id string, client_host string, subscribed_topic_names []string
    ShareGroupCurrentMemberAssignment: member_epoch int32, previous_member_epoch int32, state int8,
        assigned_partitions []TopicPartitions
    SharePartitions: topic_id uuid, topic_name string, partitions []int32
    DeletingTopic: topic_id uuid, topic_name string
    ShareGroupStatePartitionMetadata: initializing_topics []SharePartitions, initialized_topics []SharePartitions,
        deleting_topics []DeletingTopic

    KeyValue: key string, value string
    StreamsGroupMetadata: epoch int32, metadata_hash int64, validated_topology_epoch int32 tag 0 default -1,
        last_assignment_configs []KeyValue? tag 1, stored_description_topology_epoch int32 tag 2 default -1,
        failed_description_topology_epoch int32 tag 3 default -1
    Endpoint: host string, port uint16
    StreamsGroupMemberMetadata: instance_id string?, rack_id string?, client_id string, client_host string,
        rebalance_timeout_ms int32, topology_epoch int32, process_id string, user_endpoint Endpoint?,
        client_tags []KeyValue
    Tasks: subtopology_id string, partitions []int32
    StreamsGroupTargetAssignmentMember: active_tasks []Tasks, standby_tasks []Tasks, warmup_tasks []Tasks
    HeldTasks: subtopology_id string, partitions []int32, assignment_epochs []int32? tag 0
    StreamsGroupCurrentMemberAssignment: member_epoch int32, previous_member_epoch int32, state int8,
        active_tasks []HeldTasks, standby_tasks []HeldTasks, warmup_tasks []HeldTasks,
        active_tasks_pending_revocation []HeldTasks, standby_tasks_pending_revocation []HeldTasks,
        warmup_tasks_pending_revocation []HeldTasks
    InternalTopic: name string, partitions int32, replication_factor int16, topic_configs []KeyValue
    CopartitionGroup: source_topics []int16, source_topic_regex []int16, repartition_source_topics []int16
    Subtopology: subtopology_id string, source_topics []string, source_topic_regex []string,
        state_changelog_topics []InternalTopic, repartition_sink_topics []string,
        repartition_source_topics []InternalTopic, copartition_groups []CopartitionGroup
    StreamsGroupTopology: epoch int32, subtopologies []Subtopology
    """)
