"""The types of records in `__consumer_offsets`, and the events that records other than commits stand for.

Records are states, not changes: a broker may write the same state again, and a compacted topic keeps the newest state.
So an `event_type` names the state that is valid from this record on.

| event_type | record type | meaning | event_type of a tombstone |
|---|---|---|---|
| generation | 2 | a rebalance of a classic group ended with these members and assignments | group_removed |
| group_emptied | 2 | a classic group has no members left; its commits remain | group_removed |
| group_epoch | 3, 11, 17 | members or subscriptions changed, and a rebalance begins | group_removed |
| partition_metadata | 4 | the partitions of the subscribed topics (brokers up to 4.0) | partition_metadata_removed |
| member_metadata | 5, 10, 19 | a member joined, or its client or subscription changed | member_left (or was fenced) |
| target_epoch | 6, 12, 20 | the target assignment was computed for this epoch | target_epoch_removed |
| target_assignment | 7, 13, 21 | the partitions that a member will have at the end | target_assignment_removed |
| member_assignment | 8, 14, 22 | the partitions and the state of a member at this epoch | member_assignment_removed |
| static_member_away | 8, 22 | a static member left and may come back: epoch -2 | member_assignment_removed |
| share_partitions | 15 | the partitions that have a share state, and its lifecycle state | share_partitions_removed |
| regex_resolved | 16 | the topics that match a subscribed expression | regex_removed |
| topology | 23 | the topology that a streams application runs | topology_removed |

A tombstone removes a state: the member left, or the group was deleted. The `group_removed` of a classic group (2) is an
online upgrade to KIP-848 if a ConsumerGroupMetadata (3) of the same group follows. The `group_removed` of a KIP-848
group (3) is a downgrade if a GroupMetadata (2) follows. Without such a record, the group was deleted.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.pipeline.facts.decode import record_schemas as schemas
from kafka_groups.pipeline.facts.decode.record_schemas import COMMIT_KEY, GROUP_KEY, MEMBER_KEY, REGEX_KEY
from kafka_groups.protocol import Cursor, Field, Read, SchemaError, Struct, compile_reader

Fields: TypeAlias = tuple[Field, ...]

PREFIX_BYTES: Final = 2  # A key begins with the record's type, a value with its version.


class RecordType(NamedTuple):
    """A type of record: Kafka's number and name, and the fields of its key and its value.

    `written` is the event_type of a record with a value, `removed` the event_type of a tombstone; both are empty for
    commits. Only values of `newest_version` have compact strings and tags. Keys have neither versions nor compact
    strings.
    """

    id: int
    name: str
    key: Fields
    value: Fields
    written: str = ""
    removed: str = ""
    newest_version: int = 0


# From CoordinatorRecordType of kafka-group-coordinator 4.4.0. Numbers and names never change; 9 and 18 were removed.
RECORD_TYPES: Final = (
    RecordType(0, "LegacyOffsetCommit", COMMIT_KEY, schemas.OFFSET_COMMIT, newest_version=4),
    RecordType(1, "OffsetCommit", COMMIT_KEY, schemas.OFFSET_COMMIT, newest_version=4),
    RecordType(2, "GroupMetadata", GROUP_KEY, schemas.GROUP_METADATA, "generation", "group_removed", newest_version=4),
    RecordType(3, "ConsumerGroupMetadata", GROUP_KEY, schemas.CONSUMER_GROUP_METADATA, "group_epoch", "group_removed"),
    RecordType(
        4,
        "ConsumerGroupPartitionMetadata",
        GROUP_KEY,
        schemas.CONSUMER_GROUP_PARTITION_METADATA,
        "partition_metadata",
        "partition_metadata_removed",
    ),
    RecordType(
        5,
        "ConsumerGroupMemberMetadata",
        MEMBER_KEY,
        schemas.CONSUMER_GROUP_MEMBER_METADATA,
        "member_metadata",
        "member_left",
    ),
    RecordType(
        6,
        "ConsumerGroupTargetAssignmentMetadata",
        GROUP_KEY,
        schemas.TARGET_ASSIGNMENT_METADATA,
        "target_epoch",
        "target_epoch_removed",
    ),
    RecordType(
        7,
        "ConsumerGroupTargetAssignmentMember",
        MEMBER_KEY,
        schemas.TARGET_ASSIGNMENT_MEMBER,
        "target_assignment",
        "target_assignment_removed",
    ),
    RecordType(
        8,
        "ConsumerGroupCurrentMemberAssignment",
        MEMBER_KEY,
        schemas.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        "member_assignment",
        "member_assignment_removed",
    ),
    RecordType(
        10,
        "ShareGroupMemberMetadata",
        MEMBER_KEY,
        schemas.SHARE_GROUP_MEMBER_METADATA,
        "member_metadata",
        "member_left",
    ),
    RecordType(11, "ShareGroupMetadata", GROUP_KEY, schemas.SHARE_GROUP_METADATA, "group_epoch", "group_removed"),
    RecordType(
        12,
        "ShareGroupTargetAssignmentMetadata",
        GROUP_KEY,
        schemas.TARGET_ASSIGNMENT_METADATA,
        "target_epoch",
        "target_epoch_removed",
    ),
    RecordType(
        13,
        "ShareGroupTargetAssignmentMember",
        MEMBER_KEY,
        schemas.TARGET_ASSIGNMENT_MEMBER,
        "target_assignment",
        "target_assignment_removed",
    ),
    RecordType(
        14,
        "ShareGroupCurrentMemberAssignment",
        MEMBER_KEY,
        schemas.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        "member_assignment",
        "member_assignment_removed",
    ),
    RecordType(
        15,
        "ShareGroupStatePartitionMetadata",
        GROUP_KEY,
        schemas.SHARE_GROUP_STATE_PARTITION_METADATA,
        "share_partitions",
        "share_partitions_removed",
    ),
    RecordType(
        16,
        "ConsumerGroupRegularExpression",
        REGEX_KEY,
        schemas.CONSUMER_GROUP_REGULAR_EXPRESSION,
        "regex_resolved",
        "regex_removed",
    ),
    RecordType(17, "StreamsGroupMetadata", GROUP_KEY, schemas.STREAMS_GROUP_METADATA, "group_epoch", "group_removed"),
    RecordType(
        19,
        "StreamsGroupMemberMetadata",
        MEMBER_KEY,
        schemas.STREAMS_GROUP_MEMBER_METADATA,
        "member_metadata",
        "member_left",
    ),
    RecordType(
        20,
        "StreamsGroupTargetAssignmentMetadata",
        GROUP_KEY,
        schemas.TARGET_ASSIGNMENT_METADATA,
        "target_epoch",
        "target_epoch_removed",
    ),
    RecordType(
        21,
        "StreamsGroupTargetAssignmentMember",
        MEMBER_KEY,
        schemas.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
        "target_assignment",
        "target_assignment_removed",
    ),
    RecordType(
        22,
        "StreamsGroupCurrentMemberAssignment",
        MEMBER_KEY,
        schemas.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        "member_assignment",
        "member_assignment_removed",
    ),
    RecordType(23, "StreamsGroupTopology", GROUP_KEY, schemas.STREAMS_GROUP_TOPOLOGY, "topology", "topology_removed"),
)
COMMIT_TYPES: Final = frozenset({0, 1})
_TYPES_BY_ID: Final = {record_type.id: record_type for record_type in RECORD_TYPES}


def read_prefix(data: bytes | None) -> int | None:
    """Return the type at the start of a key, or the version at the start of a value; None if it is missing."""
    if data is None or len(data) < PREFIX_BYTES:
        return None
    return int.from_bytes(data[:PREFIX_BYTES], signed=True)


def read_key(key: bytes | None) -> tuple[RecordType, Struct]:
    """Return the type of a record, and the fields of its key by name; SchemaError says why the key cannot be read."""
    if key is None:
        raise SchemaError("the record has none")
    type_id = read_prefix(key)
    if type_id is None:
        raise SchemaError("it is shorter than its type")
    if type_id not in _TYPES_BY_ID:
        msg = f"type {type_id} is not known"
        raise SchemaError(msg)
    record_type = _TYPES_BY_ID[type_id]
    return record_type, _read_whole(key, _key_reader(type_id))


def read_value(record_type: RecordType, value: bytes) -> Struct:
    """Return the fields of a value by name; SchemaError says why it is not exactly as a known schema describes it."""
    version = read_prefix(value)
    if version is None:
        raise SchemaError("it is shorter than its version")
    if not 0 <= version <= record_type.newest_version:
        msg = f"version {version} of the value is not known, only 0 to {record_type.newest_version}"
        raise SchemaError(msg)
    return _read_whole(value, _value_reader(record_type.id, version))


def _read_whole(data: bytes, read: Read) -> Struct:
    """Return the fields after the prefix; SchemaError if the bytes contain more or less than these fields."""
    cursor = Cursor(data, PREFIX_BYTES)
    fields: Struct = read(cursor)
    # Brokers write nothing after the fields, so bytes there belong to an unknown layout.
    if cursor.remaining():
        msg = f"{cursor.remaining()} bytes are left over"
        raise SchemaError(msg)
    return fields


@cache
def _key_reader(type_id: int) -> Read:
    return compile_reader(_TYPES_BY_ID[type_id].key, version=0, flexible=False)


@cache
def _value_reader(type_id: int, version: int) -> Read:
    record_type = _TYPES_BY_ID[type_id]
    return compile_reader(record_type.value, version=version, flexible=version == record_type.newest_version)
