"""What a record that is no commit says about its group, as a stable word: column `event.event_type`.

Records are states, not changes: a broker writes the same state again when it likes (a compacted topic keeps the
newest one), so a word says what holds from this record on. Each tombstone has a word, too.

| event_type | record type | it says |
|---|---|---|
| generation | 2 | a classic group has this generation, these members and assignments: a rebalance ended |
| group_emptied | 2 | a classic group has no members left; its commits remain |
| group_epoch | 3, 11, 17 | the group has this epoch: members or subscriptions changed, a rebalance begins |
| group_removed | 2, 3, 11, 17, tombstone | the group is deleted, or moved to another protocol (see below) |
| partition_metadata | 4 | the partitions of the subscribed topics (brokers up to 4.0) |
| partition_metadata_removed | 4, tombstone | the same is no longer kept, or the group is deleted |
| member_metadata | 5, 10, 19 | a member joined, or its client or subscription changed |
| member_left | 5, 10, 19, tombstone | a member left or was fenced |
| target_epoch | 6, 12, 20 | the target assignment was computed for this epoch |
| target_epoch_removed | 6, 12, 20, tombstone | there is no target assignment, as the group is removed |
| target_assignment | 7, 13, 21 | what a member is to have in the end |
| target_assignment_removed | 7, 13, 21, tombstone | nothing any more: the member left |
| member_assignment | 8, 14, 22 | what a member has at this epoch, and its state on the way to its target |
| static_member_away | 8, 22 | a static member left and may come back: epoch -2, its target is kept |
| member_assignment_removed | 8, 14, 22, tombstone | nothing any more: the member left |
| share_partitions | 15 | the partitions whose share state is made, kept or being deleted |
| share_partitions_removed | 15, tombstone | no share state is kept |
| regex_resolved | 16 | the topics that a subscribed expression stands for |
| regex_removed | 16, tombstone | no member subscribes to the expression any more |
| topology | 23 | the topology that a streams application runs |
| topology_removed | 23, tombstone | none, as the group is removed |

`group_removed` of a classic group (2) is an online upgrade to KIP-848 if a ConsumerGroupMetadata (3) of the same
group follows, and of a KIP-848 group (3) a downgrade if a GroupMetadata (2) follows; only else is the group deleted.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from kafka_groups.protocol import Struct

# LEAVE_GROUP_STATIC_MEMBER_EPOCH of ConsumerGroupHeartbeatRequest, and of its sister for streams groups.
_STATIC_MEMBER_AWAY: Final = -2
_CURRENT_ASSIGNMENTS: Final = frozenset({8, 22})
_GROUP_METADATA: Final = 2

# By type: the word for a value, and the one for a tombstone.
WORDS: Final = MappingProxyType(
    {
        2: ("generation", "group_removed"),
        3: ("group_epoch", "group_removed"),
        4: ("partition_metadata", "partition_metadata_removed"),
        5: ("member_metadata", "member_left"),
        6: ("target_epoch", "target_epoch_removed"),
        7: ("target_assignment", "target_assignment_removed"),
        8: ("member_assignment", "member_assignment_removed"),
        10: ("member_metadata", "member_left"),
        11: ("group_epoch", "group_removed"),
        12: ("target_epoch", "target_epoch_removed"),
        13: ("target_assignment", "target_assignment_removed"),
        14: ("member_assignment", "member_assignment_removed"),
        15: ("share_partitions", "share_partitions_removed"),
        16: ("regex_resolved", "regex_removed"),
        17: ("group_epoch", "group_removed"),
        19: ("member_metadata", "member_left"),
        20: ("target_epoch", "target_epoch_removed"),
        21: ("target_assignment", "target_assignment_removed"),
        22: ("member_assignment", "member_assignment_removed"),
        23: ("topology", "topology_removed"),
    }
)


def event_type_of(record_type: int, value: Struct | None) -> str:
    """Return the word for a record of this type; its value is None for a tombstone."""
    written, removed = WORDS[record_type]
    if value is None:
        return removed
    if record_type == _GROUP_METADATA and not value["members"]:
        return "group_emptied"
    if record_type in _CURRENT_ASSIGNMENTS and value["member_epoch"] == _STATIC_MEMBER_AWAY:
        return "static_member_away"
    return written
