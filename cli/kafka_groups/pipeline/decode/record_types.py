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
from functools import cache
from typing import Final, NamedTuple

from kafka_groups.pipeline.decode.value_schemas import SCHEMAS, parse_fields
from kafka_groups.protocol import Cursor, Read, SchemaError, Struct, compile_reader

# A key starts with its type, a value with its version.
PREFIX_BYTES: Final = 2


class RecordType(NamedTuple):
    """One type of record: Kafka's number and name, the fields of its key, the event_types of its values and tombstones.

    The newest version of its values is the first one with compact texts and tags.
    """

    id: int
    name: str
    key: str
    written: str = ""
    removed: str = ""
    newest_version: int = 0


# Keys have no versions and no compact texts. Kafka calls the first field `group` up to type 2 and `groupId` after.
_COMMIT: Final = "group string, topic string, partition int32"
_GROUP: Final = "group string"
_MEMBER: Final = "group string, member_id string"
_REGEX: Final = "group string, regular_expression string"

# From CoordinatorRecordType of kafka-group-coordinator 4.4.0. Number and name never change.
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
_BY_ID: Final = {record_type.id: record_type for record_type in ALL}
_REMOVED: Final = {9: "ShareGroupPartitionMetadata", 18: "StreamsGroupPartitionMetadata"}


def read_prefix(data: bytes | None) -> int | None:
    """Return the type that a key starts with, or the version that a value starts with; None if it is too short."""
    return int.from_bytes(data[:PREFIX_BYTES], signed=True) if data and len(data) >= PREFIX_BYTES else None


def read_key(key: bytes | None) -> tuple[RecordType, Struct]:
    """Return the type of a record, and the names in its key; SchemaError, with a sentence, if they cannot be read."""
    type_id = read_prefix(key)
    if key is None or type_id is None:
        raise SchemaError("the record has none" if key is None else "it is shorter than its type")
    if type_id not in _BY_ID:
        was = f"; it was {_REMOVED[type_id]} once" if type_id in _REMOVED else ""
        msg = f"type {type_id} is not known{was}"
        raise SchemaError(msg)
    return _BY_ID[type_id], _read_whole(key, _key_reader(type_id))


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
def _key_reader(type_id: int) -> Read:
    return compile_reader(parse_fields(_BY_ID[type_id].key, {}), version=0, flexible=False)


@cache
def _value_reader(type_id: int, version: int) -> Read:
    flexible = version == _BY_ID[type_id].newest_version
    return compile_reader(SCHEMAS[_BY_ID[type_id].name], version=version, flexible=flexible)


def partition_of(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets`, out of so many, that all records of this group are in.

    As in GroupCoordinatorService.partitionFor: Utils.abs(group.hashCode()) % partitions.
    """
    code = 0
    # Java's String.hashCode goes over UTF-16 code units, so two for each character beyond the first 65,536.
    for (unit,) in struct.iter_unpack(">H", group.encode("utf-16-be", "surrogatepass")):
        code = (31 * code + unit) & 0xFFFF_FFFF
    # As a signed number. Java's Math.abs of the smallest one is negative, so Kafka's Utils.abs makes it 0.
    return min(code, 2**32 - code) % 2**31 % partitions
