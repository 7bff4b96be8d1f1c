"""A record of a group in the topic `__consumer_offsets`, as the kernels of groups read it.

All records of a group are in one partition of the topic, ordered by their offsets. Their times come from the clocks of
the brokers that coordinated the group, so a later record may have an earlier time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

# Kafka's names of types of records.
CLASSIC_GROUP: Final = "GroupMetadata"
CONSUMER_GROUP: Final = "ConsumerGroupMetadata"
_KIP_848: Final = "ConsumerGroup"  # the prefix of their names
# Events that records stand for.
GROUP_REMOVED: Final = "group_removed"
GROUP_EPOCH: Final = "group_epoch"
GENERATION: Final = "generation"
MEMBER_METADATA: Final = "member_metadata"
MEMBER_LEFT: Final = "member_left"
MEMBER_ASSIGNMENT: Final = "member_assignment"
STATIC_MEMBER_AWAY: Final = "static_member_away"


class GroupRecord(NamedTuple):
    """A record of a group. Times are microseconds since 1970, UTC; None marks a missing value.

    - `source_partition` and `source_offset` are the position of the record in `__consumer_offsets`.
    - `record_name` is Kafka's name of the record, `event_type` the event that it stands for.
    - `epoch` is the generation of a classic group, or the epoch of a group or of a member. `previous_epoch` is the
      member's epoch before this record.
    - `state_us` is when a classic group entered the state before this record: its last member had joined.
    - `expression` is the regular expression that members subscribe to.
    - `member_ids` are the members of a classic generation, sorted. `join_timeout_ms` is their longest rebalance
      timeout; None if a static member may exceed it.
    - `topics` are the topics that the record or its members name, sorted.
    """

    source_partition: int
    source_offset: int
    at_us: int
    record_name: str
    event_type: str
    epoch: int | None = None
    previous_epoch: int | None = None
    member_id: str | None = None
    member_state: str | None = None
    state_us: int | None = None
    expression: str | None = None
    member_ids: tuple[str, ...] | None = None
    join_timeout_ms: int | None = None
    topics: tuple[str, ...] = ()

    @property
    def is_classic(self) -> bool:
        """Whether the record describes a classic group."""
        return self.record_name == CLASSIC_GROUP

    @property
    def protocol(self) -> str:
        """The protocol of the group: classic, consumer, share or streams."""
        return self.record_name.partition("Group")[0].lower() or "classic"

    @property
    def is_kip_848(self) -> bool:
        """Whether the record describes a KIP-848 group or one of its members."""
        return self.record_name.startswith(_KIP_848)

    @property
    def is_group_deletion(self) -> bool:
        """Whether the record removes the group (a tombstone of the group's own record)."""
        return self.event_type == GROUP_REMOVED

    @property
    def shows_stable_member(self) -> bool:
        """Whether a member of a group with epochs has reached `epoch`: it owns exactly what that epoch assigns."""
        return self.event_type == MEMBER_ASSIGNMENT and self.member_state == "STABLE" and self.member_id is not None


def log_position(record: GroupRecord) -> tuple[int, int]:
    """Return the partition and the offset of a record: the sort key for the order of the log."""
    return record.source_partition, record.source_offset
