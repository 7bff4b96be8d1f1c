"""The types of records in `__consumer_offsets`, and what a record that is no commit says about its group.

Records are states, not changes: a broker writes the same state again when it likes (a compacted topic keeps the
newest one), so an `event_type` says what holds from this record on.

| event_type | record type | it says | event_type of a tombstone |
|---|---|---|---|
| generation | 2 | a classic group has these members and assignments: a rebalance ended | group_removed |
| group_emptied | 2 | a classic group has no members left; its commits remain | group_removed |
| group_epoch | 3, 11, 17 | members or subscriptions changed, a rebalance begins | group_removed |
| partition_metadata | 4 | the partitions of the subscribed topics (brokers up to 4.0) | partition_metadata_removed |
| member_metadata | 5, 10, 19 | a member joined, or its client or subscription changed | member_left (or was fenced) |
| target_epoch | 6, 12, 20 | the target assignment was computed for this epoch | target_epoch_removed |
| target_assignment | 7, 13, 21 | what a member is to have in the end | target_assignment_removed |
| member_assignment | 8, 14, 22 | what it has at this epoch, and its state on the way | member_assignment_removed |
| static_member_away | 8, 22 | a static member left and may come back: epoch -2 | member_assignment_removed |
| share_partitions | 15 | the partitions whose share state is made, kept or being deleted | share_partitions_removed |
| regex_resolved | 16 | the topics that a subscribed expression stands for | regex_removed |
| topology | 23 | the topology that a streams application runs | topology_removed |

A tombstone says that there is no such state any more: the member left, or the group is deleted. `group_removed` of a
classic group (2) is an online upgrade to KIP-848 if a ConsumerGroupMetadata (3) of the same group follows, and of a
KIP-848 group (3) a downgrade if a GroupMetadata (2) follows; only else is the group deleted.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_groups import protocol as kinds
from kafka_groups.pipeline.tables.shape import logical_lines
from kafka_groups.protocol import Array, Cursor, Field, Inline, Read, SchemaError, Struct, compile_reader

Fields: TypeAlias = tuple[Field, ...]

PREFIX_BYTES: Final = 2  # a key starts with its type, a value with its version
_NUMBERS: Final = (kinds.INT8, kinds.INT16, kinds.UINT16, kinds.INT32, kinds.INT64)
_PRIMITIVES: Final = {kind.name: kind for kind in (*_NUMBERS, kinds.BYTES, kinds.VISIBLE_STRING, kinds.UUID_)}


def _parse_fields(text: str, structs: Mapping[str, Fields]) -> Fields:
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
        schemas.update(dict.fromkeys(names.split(", "), _parse_fields(fields, schemas)))
    return schemas


# What values contain: the schema files of Apache Kafka 4.4.0, a line for each struct, which those below it may use.
# A field is `name type`, with Kafka's names of types: `[]` is an array, and what `?` follows may be null. Words behind
# it are the `versions` that have it (from one on, or this one alone), its `tag` (KIP-482), and its `default` if that is
# not the type's. Records grow by tags; unknown ones are skipped. What only an early access wrote is not here (KIP-848
# groups in 3.7, share groups in 4.0): no later broker reads it, either, and it goes to unknown_records.
#
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


class RecordType(NamedTuple):
    """A type of record: Kafka's number and name, the fields of its key, the event_types of values and of tombstones."""

    id: int
    name: str
    key: str
    written: str = ""
    removed: str = ""
    newest_version: int = 0  # the first one whose values have compact texts and tags


# Keys have no versions and no compact texts. Kafka calls the first field `group` up to type 2 and `groupId` after.
_COMMIT: Final = "group string, topic string, partition int32"
_GROUP: Final = "group string"
_MEMBER: Final = "group string, member_id string"
_REGEX: Final = "group string, regular_expression string"
# From CoordinatorRecordType of kafka-group-coordinator 4.4.0. Number and name never change; 9 and 18 were removed.
ALL: Final = (
    RecordType(0, "LegacyOffsetCommit", _COMMIT, newest_version=4),
    RecordType(1, "OffsetCommit", _COMMIT, newest_version=4),
    RecordType(2, "GroupMetadata", _GROUP, "generation", "group_removed", newest_version=4),
    RecordType(3, "ConsumerGroupMetadata", _GROUP, "group_epoch", "group_removed"),
    RecordType(4, "ConsumerGroupPartitionMetadata", _GROUP, "partition_metadata", "partition_metadata_removed"),
    RecordType(5, "ConsumerGroupMemberMetadata", _MEMBER, "member_metadata", "member_left"),
    RecordType(6, "ConsumerGroupTargetAssignmentMetadata", _GROUP, "target_epoch", "target_epoch_removed"),
    RecordType(7, "ConsumerGroupTargetAssignmentMember", _MEMBER, "target_assignment", "target_assignment_removed"),
    RecordType(8, "ConsumerGroupCurrentMemberAssignment", _MEMBER, "member_assignment", "member_assignment_removed"),
    RecordType(10, "ShareGroupMemberMetadata", _MEMBER, "member_metadata", "member_left"),
    RecordType(11, "ShareGroupMetadata", _GROUP, "group_epoch", "group_removed"),
    RecordType(12, "ShareGroupTargetAssignmentMetadata", _GROUP, "target_epoch", "target_epoch_removed"),
    RecordType(13, "ShareGroupTargetAssignmentMember", _MEMBER, "target_assignment", "target_assignment_removed"),
    RecordType(14, "ShareGroupCurrentMemberAssignment", _MEMBER, "member_assignment", "member_assignment_removed"),
    RecordType(15, "ShareGroupStatePartitionMetadata", _GROUP, "share_partitions", "share_partitions_removed"),
    RecordType(16, "ConsumerGroupRegularExpression", _REGEX, "regex_resolved", "regex_removed"),
    RecordType(17, "StreamsGroupMetadata", _GROUP, "group_epoch", "group_removed"),
    RecordType(19, "StreamsGroupMemberMetadata", _MEMBER, "member_metadata", "member_left"),
    RecordType(20, "StreamsGroupTargetAssignmentMetadata", _GROUP, "target_epoch", "target_epoch_removed"),
    RecordType(21, "StreamsGroupTargetAssignmentMember", _MEMBER, "target_assignment", "target_assignment_removed"),
    RecordType(22, "StreamsGroupCurrentMemberAssignment", _MEMBER, "member_assignment", "member_assignment_removed"),
    RecordType(23, "StreamsGroupTopology", _GROUP, "topology", "topology_removed"),
)
COMMITS: Final = frozenset({0, 1})
_BY_ID: Final = {one.id: one for one in ALL}
_KEY_READERS: Final = {one.id: compile_reader(_parse_fields(one.key, {}), version=0, flexible=False) for one in ALL}


def read_prefix(data: bytes | None) -> int | None:
    """Return the type that a key starts with, or the version that a value starts with; None if it is too short."""
    return int.from_bytes(data[:PREFIX_BYTES], signed=True) if data and len(data) >= PREFIX_BYTES else None


def read_key(key: bytes | None) -> tuple[RecordType, Struct]:
    """Return the type of a record, and the names in its key; SchemaError, with a sentence, if they cannot be read."""
    type_id = read_prefix(key)
    if key is None or type_id is None:
        raise SchemaError("the record has none" if key is None else "it is shorter than its type")
    if type_id not in _BY_ID:
        msg = f"type {type_id} is not known"
        raise SchemaError(msg)
    return _BY_ID[type_id], _read_whole(key, _KEY_READERS[type_id])


def read_value(record_type: RecordType, value: bytes) -> Struct:
    """Return the fields of a value; SchemaError, with a sentence, if it is not exactly as a schema says."""
    version = read_prefix(value)
    if version is None:
        raise SchemaError("it is shorter than its version")
    if not 0 <= version <= record_type.newest_version:
        msg = f"version {version} of the value is not known, only 0 to {record_type.newest_version}"
        raise SchemaError(msg)
    return _read_whole(value, _value_reader(record_type.id, version))


def _read_whole(data: bytes, read: Read) -> Struct:
    cursor = Cursor(data, PREFIX_BYTES)
    found: Struct = read(cursor)
    # A broker never leaves bytes over, so these are of a layout that nobody here has seen.
    if cursor.remaining():
        msg = f"{cursor.remaining()} bytes are left over"
        raise SchemaError(msg)
    return found


@cache
def _value_reader(type_id: int, version: int) -> Read:
    flexible = version == _BY_ID[type_id].newest_version
    return compile_reader(SCHEMAS[_BY_ID[type_id].name], version=version, flexible=flexible)


def partition_of(group: str, partitions: int) -> int:
    """Return the partition, of so many, that has all records of a group, as GroupCoordinatorService.partitionFor."""
    code = 0
    # Java's String.hashCode goes over UTF-16 code units, so two for each character beyond the first 65,536.
    for (unit,) in struct.iter_unpack(">H", group.encode("utf-16-be", "surrogatepass")):
        code = (31 * code + unit) & 0xFFFF_FFFF
    # As a signed number. Java's Math.abs of the smallest one is negative, so Kafka's Utils.abs makes it 0.
    return min(code, 2**32 - code) % 2**31 % partitions
