"""The groups of a simulated cluster: what they do, the records that their coordinator writes, and the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.pipeline.oracle.simulated_logs import DataPartition, OffsetsPartition, Row, moment

CONSUMER: Final = "ConsumerGroup"
REBALANCE_TIMEOUT_MS: Final = 300_000


@dataclass
class TrueRebalance:
    """A rebalance as it was. `ended_ms` is None while not all members have reached the epoch."""

    protocol: str
    generation: int
    started_ms: float
    ended_ms: float | None
    before: frozenset[str]
    after: frozenset[str]
    is_overtaken: bool = False
    reached: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class TrueCommit:
    """A commit as it was; `offset` is None for a removal. `clock_ms` is its time by the coordinator's clock."""

    true_ms: float
    clock_ms: float
    offset: int | None
    topic_id: str
    source_offset: int


@dataclass
class Reader:
    """A group's position on a partition: it reads `share` of what is written, and commits each `interval_ms`."""

    log: DataPartition
    interval_ms: float
    share: float
    committed: int | None = None
    commits: list[TrueCommit] = field(default_factory=list)


@dataclass
class Group:
    """A group: its records go to `coordinator`. `kind` is classic, consumer (KIP-848) or admin (no members)."""

    name: str
    kind: str
    coordinator: OffsetsPartition
    readers: list[Reader]
    members: list[str] = field(default_factory=list)
    generation: int = 0
    exists: bool = False
    rebalances: list[TrueRebalance] = field(default_factory=list)
    # Members from a time on; None after the group was deleted.
    membership: list[tuple[float, frozenset[str] | None]] = field(default_factory=list)
    # Spans in which a classic group prepares a rebalance.
    joins: list[tuple[float, float]] = field(default_factory=list)
    epochs: dict[str, int] = field(default_factory=dict)
    members_made: int = 0
    had_two_kinds: bool = False

    def members_at(self, ms: float) -> frozenset[str] | None:
        """Return the members at a time; None before the group existed and after it was deleted."""
        known = [members for since, members in self.membership if since <= ms]
        return known[-1] if known else None

    def commit(self, ms: float, reader: Reader, offset: int | None) -> None:
        """Write a commit, or with None its removal."""
        place = self.coordinator.next_offset
        key = ("commit", self.name, reader.log.topic, reader.log.number)
        row: Row = {
            "group": self.name,
            "topic": reader.log.topic,
            "partition": reader.log.number,
            "committed_offset": offset,
            "topic_id": None if offset is None else reader.log.topic_id,
        }
        self.coordinator.append(ms, key, "offset_commits", row, is_tombstone=offset is None)
        clock_ms = round(ms) + self.coordinator.leader.clock_ahead_ms
        reader.commits.append(TrueCommit(ms, clock_ms, offset, reader.log.topic_id, place))
        reader.committed = offset
        if offset is not None and not self.exists:
            self.exists = True
            self.membership.append((ms, frozenset(self.members)))

    def write(self, ms: float, kind: str, event_type: str, *, is_tombstone: bool = False, **others: Any) -> None:
        """Write a record of the group or of one of its members."""
        key = (kind, self.name, others.get("member_id"))
        row = {"group": self.name, "record_name": kind, "event_type": event_type} | others
        self.coordinator.append(ms, key, "group_events", row, is_tombstone=is_tombstone)

    def new_member(self) -> str:
        """Return the id of a member that never joined before."""
        self.members_made += 1
        return f"{self.name}-m{self.members_made}"

    # Classic groups

    def write_generation(self, asked_ms: float, ms: float, members: list[str]) -> None:
        """End a rebalance that began at `asked_ms`: these are the members from now on."""
        before = frozenset(self.members)
        self.generation += 1
        self.members = list(members)
        listed = [
            {"member_id": name, "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS, "session_timeout_ms": 45_000}
            for name in members
        ]
        clock_ms = round(ms) + self.coordinator.leader.clock_ahead_ms
        self.write(
            ms,
            "GroupMetadata",
            "generation" if members else "group_emptied",
            epoch=self.generation,
            protocol_type="consumer",
            members=listed,
            state_time=moment(clock_ms - 300),
        )
        rebalance = TrueRebalance("classic", self.generation, asked_ms, ms, before, frozenset(members))
        self.rebalances.append(rebalance)
        self.joins.append((asked_ms, ms))
        self.membership.append((ms, frozenset(members)))
        self.exists = True

    # KIP-848

    def bump(self, ms: float, before: frozenset[str]) -> None:
        """Begin the next epoch of the members as they are now."""
        if self.rebalances and self.rebalances[-1].ended_ms is None:
            self.rebalances[-1].ended_ms = ms
            self.rebalances[-1].is_overtaken = True
        self.generation += 1
        self.write(ms, f"{CONSUMER}Metadata", "group_epoch", epoch=self.generation)
        ended_ms = None if self.members else ms
        rebalance = TrueRebalance("consumer", self.generation, ms, ended_ms, before, frozenset(self.members))
        self.rebalances.append(rebalance)
        self.membership.append((ms, frozenset(self.members)))
        self.exists = True

    def join(self, ms: float, name: str) -> None:
        """Add a member, which begins an epoch."""
        before = frozenset(self.members)
        self.write(ms, f"{CONSUMER}MemberMetadata", "member_metadata", member_id=name, topics=["topic-0"])
        self.members.append(name)
        self.epochs[name] = self.generation + 1
        self.bump(ms, before)

    def leave(self, ms: float, name: str) -> None:
        """Remove a member, which begins an epoch."""
        before = frozenset(self.members)
        self._write_leaving(ms, name)
        self.members.remove(name)
        self.bump(ms, before)

    def _write_leaving(self, ms: float, name: str) -> None:
        for kind, event_type in (
            (f"{CONSUMER}CurrentMemberAssignment", "member_assignment_removed"),
            (f"{CONSUMER}TargetAssignmentMember", "target_assignment_removed"),
            (f"{CONSUMER}MemberMetadata", "member_left"),
        ):
            self.write(ms, kind, event_type, is_tombstone=True, member_id=name)

    def reach(self, ms: float, name: str, epoch: int) -> None:
        """Record that a member reaches the epoch, unless it left or a later epoch began."""
        if self.kind != "consumer" or name not in self.members or epoch != self.generation:
            return
        self.write(
            ms,
            f"{CONSUMER}CurrentMemberAssignment",
            "member_assignment",
            member_id=name,
            epoch=epoch,
            previous_epoch=self.epochs.get(name, 0),
            member_state="STABLE",
        )
        self.epochs[name] = epoch
        rebalance = self.rebalances[-1]
        rebalance.reached.add(name)
        if rebalance.ended_ms is None and rebalance.reached >= set(self.members):
            rebalance.ended_ms = ms

    def upgrade(self, ms: float) -> None:
        """Turn a classic group into one of KIP-848, online: its members stay."""
        self.write(ms, "GroupMetadata", "group_removed", is_tombstone=True)
        for name in self.members:
            self.write(ms, f"{CONSUMER}MemberMetadata", "member_metadata", member_id=name, topics=["topic-0"])
            self.epochs[name] = self.generation
        self.kind = "consumer"
        self.had_two_kinds = True
        self.bump(ms, frozenset(self.members))

    def delete(self, ms: float) -> None:
        """Delete the group, which has no members."""
        for reader in self.readers:
            if reader.committed is not None:
                self.commit(ms, reader, None)
        kind = {"classic": "GroupMetadata", "consumer": f"{CONSUMER}Metadata"}.get(self.kind)
        if kind and self.generation:
            self.write(ms, kind, "group_removed", is_tombstone=True)
        self.generation = 0
        self.exists = False
        self.membership.append((ms, None))


def choose_offset(chance: Random, reader: Reader, ms: float) -> int | None:
    """Return the offset that a reader commits now: mostly a little behind the log end; None for no commit."""
    end = reader.log.end_at(ms)
    if chance.random() < 0.015:  # a rewind
        return int(end * chance.random())
    if chance.random() < 0.01:  # a skip
        return end
    if reader.share == 0.0:
        return reader.committed if reader.committed is not None else end // 2
    behind = 0 if reader.committed is None else int((end - reader.committed) * (1 - reader.share))
    return max(0, end - max(0, behind) - chance.choice((0, 0, 1, 3)))
