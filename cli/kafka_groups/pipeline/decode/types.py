"""The types of records in `__consumer_offsets`: Kafka's number and name of each, its key and its value.

From CoordinatorRecordType of kafka-group-coordinator 4.4.0. Number and name never change; 9 and 18 were removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_groups.pipeline.decode.values import classic, consumer, share, streams
from kafka_groups.pipeline.decode.values.shape import ValueSchema
from kafka_groups.protocol import INT32, STRING, Field


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type of record."""

    id: int
    name: str
    key: tuple[Field, ...]
    value: ValueSchema


# Keys have no versions and no compact texts. Kafka calls the first field `group` up to type 2 and `groupId` after.
_COMMIT: Final = (Field("group", STRING), Field("topic", STRING), Field("partition", INT32))
_GROUP: Final = (Field("group", STRING),)
_MEMBER: Final = (Field("group", STRING), Field("member_id", STRING))
_EXPRESSION: Final = (Field("group", STRING), Field("regular_expression", STRING))

# Type 0 has the values of type 1: which version has which layout never depended on the key.
ALL: Final = (
    RecordType(0, "LegacyOffsetCommit", _COMMIT, classic.OFFSET_COMMIT),
    RecordType(1, "OffsetCommit", _COMMIT, classic.OFFSET_COMMIT),
    RecordType(2, "GroupMetadata", _GROUP, classic.GROUP_METADATA),
    RecordType(3, "ConsumerGroupMetadata", _GROUP, consumer.METADATA),
    RecordType(4, "ConsumerGroupPartitionMetadata", _GROUP, consumer.PARTITION_METADATA),
    RecordType(5, "ConsumerGroupMemberMetadata", _MEMBER, consumer.MEMBER_METADATA),
    RecordType(6, "ConsumerGroupTargetAssignmentMetadata", _GROUP, consumer.TARGET_ASSIGNMENT_METADATA),
    RecordType(7, "ConsumerGroupTargetAssignmentMember", _MEMBER, consumer.TARGET_ASSIGNMENT_MEMBER),
    RecordType(8, "ConsumerGroupCurrentMemberAssignment", _MEMBER, consumer.CURRENT_MEMBER_ASSIGNMENT),
    RecordType(10, "ShareGroupMemberMetadata", _MEMBER, share.MEMBER_METADATA),
    RecordType(11, "ShareGroupMetadata", _GROUP, share.METADATA),
    RecordType(12, "ShareGroupTargetAssignmentMetadata", _GROUP, consumer.TARGET_ASSIGNMENT_METADATA),
    RecordType(13, "ShareGroupTargetAssignmentMember", _MEMBER, consumer.TARGET_ASSIGNMENT_MEMBER),
    RecordType(14, "ShareGroupCurrentMemberAssignment", _MEMBER, share.CURRENT_MEMBER_ASSIGNMENT),
    RecordType(15, "ShareGroupStatePartitionMetadata", _GROUP, share.STATE_PARTITION_METADATA),
    RecordType(16, "ConsumerGroupRegularExpression", _EXPRESSION, consumer.REGULAR_EXPRESSION),
    RecordType(17, "StreamsGroupMetadata", _GROUP, streams.METADATA),
    RecordType(19, "StreamsGroupMemberMetadata", _MEMBER, streams.MEMBER_METADATA),
    RecordType(20, "StreamsGroupTargetAssignmentMetadata", _GROUP, consumer.TARGET_ASSIGNMENT_METADATA),
    RecordType(21, "StreamsGroupTargetAssignmentMember", _MEMBER, streams.TARGET_ASSIGNMENT_MEMBER),
    RecordType(22, "StreamsGroupCurrentMemberAssignment", _MEMBER, streams.CURRENT_MEMBER_ASSIGNMENT),
    RecordType(23, "StreamsGroupTopology", _GROUP, streams.TOPOLOGY),
)

BY_ID: Final = {record_type.id: record_type for record_type in ALL}
COMMITS: Final = frozenset({0, 1})
REMOVED: Final = {9: "ShareGroupPartitionMetadata", 18: "StreamsGroupPartitionMetadata"}
