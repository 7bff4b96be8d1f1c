"""What callers pass to an Admin client and what such a client provides, whatever it is built on."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from kafka_groups.model import (
    Broker,
    CommittedOffset,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
    TopicPartition,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kafka_groups.acl_operations import AclOperation
    from kafka_groups.admin.producer_state import ProducerState


# The part of a deadline that a plan reserves for its steps.
_RESERVED: Final = 0.5


class Deadline(NamedTuple):
    """A point in time that several calls share. All fields are seconds, `at` and `end` on the monotonic clock.

    `at` and `end` are equal unless the deadline comes from `share`: a call stops at `at` if it has a result by then,
    otherwise it goes on until `end`.
    """

    at: float
    end: float
    timeout_s: float
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline that is `timeout_s` seconds from now."""
        at = clock() + timeout_s
        return cls(at, at, timeout_s, clock)

    def renew(self) -> Deadline:
        """Return a deadline with the same timeout, from now on: the next poll of a command that polls."""
        return Deadline.after(self.timeout_s, self.clock)

    def share(self, fraction: float) -> Deadline:
        """Return an earlier deadline that leaves the rest of the remaining time to the calls after it."""
        now = self.clock()
        share_s = (self.at - now) * fraction
        return self._replace(at=now + share_s, timeout_s=share_s)


class Step(NamedTuple):
    """A step of a use case. Its weight decides how much of a deadline is reserved for it."""

    name: str
    weight: int


class TimePlan(NamedTuple):
    """The steps of a use case in their order, and the deadline that they share; None for the client's default.

    Half of the time is reserved for the steps, each by its weight. A step may take all that is left except what is
    reserved for those after it. So a slow step has at least half of the time, and no later one is left without any.
    """

    deadline: Deadline | None = None
    steps: tuple[Step, ...] = ()

    def until(self, step: Step) -> Deadline | None:
        """Return the deadline of a step that begins now. Raises ValueError for a step that the plan lacks."""
        if self.deadline is None:
            return None
        rest = self.steps[self.steps.index(step) :]
        left_s = self.deadline.at - self.deadline.clock()
        if len(rest) == 1 or left_s <= 0:
            return self.deadline
        weight_of_rest = sum(later.weight for later in rest)
        part = (weight_of_rest - step.weight) / sum(each.weight for each in self.steps)
        reserved_s = _RESERVED * self.deadline.timeout_s * part
        return self.deadline.share(max(1 - reserved_s / left_s, step.weight / weight_of_rest))


# The timeout of a call in seconds, or a deadline that it shares with other calls.
Timeout: TypeAlias = float | Deadline


def to_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, in the given order. TypeError for a single str (its characters are no names) or others."""
    if isinstance(names, str):
        msg = f"pass a list of names, not one str: [{names!r}]"
        raise TypeError(msg)
    found = tuple(dict.fromkeys(names))
    for name in found:
        if not isinstance(name, str):
            msg = f"pass names of type str, not {type(name).__name__}: {name!r}"
            raise TypeError(msg)
    return found


class IsolationLevel(IntEnum):
    """Which records a log end offset counts (IsolationLevel.java)."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(NamedTuple):
    """Which log offset a caller wants (OffsetSpec.java); `timestamp` is milliseconds since 1970 or a special value."""

    timestamp: int

    @classmethod
    def latest(cls) -> OffsetSpec:
        """Return the specification of the log end offset."""
        return cls(-1)

    @classmethod
    def earliest(cls) -> OffsetSpec:
        """Return the specification of the log start offset."""
        return cls(-2)

    @classmethod
    def for_timestamp(cls, timestamp_ms: int) -> OffsetSpec:
        """Return the specification of the first record at or after a time, in milliseconds since 1970."""
        return cls(timestamp_ms)


class RecordPosition(NamedTuple):
    """An offset of a partition, from which on a caller wants the first record."""

    topic: str
    partition: int
    offset: int


class RecordTime(NamedTuple):
    """The offset of a record, and its timestamp in milliseconds since 1970; None for a record without one."""

    offset: int
    timestamp_ms: int | None


class MemberIdentity(NamedTuple):
    """A member of a group, by its id (empty if unknown), by its `group.instance.id`, or by both."""

    member_id: str
    group_instance_id: str | None


class Topic(NamedTuple):
    """A topic with its partitions, ascending. `topic_id` is None on brokers before 2.8, which return none.

    `leaders` has the id of the broker that leads each partition; a partition without a leader is absent.
    `authorized_operations` are what the user may do with the topic, None if not requested or unknown (KIP-430).
    """

    name: str
    topic_id: UUID | None
    internal: bool
    partitions: tuple[int, ...]
    leaders: Mapping[int, int] = MappingProxyType({})
    authorized_operations: frozenset[AclOperation] | None = None


class Admin(Protocol):
    """The operations that `groups` and `changes` need. GroupAdmin provides them over Kafka's protocol."""

    def deadline(self, timeout: Timeout | None = None) -> Deadline:
        """Return a deadline that calls share, `timeout` seconds from now."""

    def brokers(self, *, timeout: Timeout | None = None) -> Mapping[int, Broker]:
        """Return the brokers of the cluster, by id."""

    def cluster_id(self, *, timeout: Timeout | None = None) -> str:
        """Return the id of the cluster, or a substitute where brokers return none."""

    @property
    def bootstrap_servers(self) -> tuple[str, ...]:
        """Return the bootstrap servers of the settings, as host:port."""

    def list_groups(
        self,
        *,
        states: Collection[str] | None = None,
        types: Collection[str] | None = None,
        timeout: Timeout | None = None,
    ) -> Results[str, GroupListing]:
        """List the groups of every type, by id."""

    def describe_groups(
        self, groups: Iterable[str], *, topology: bool = False, timeout: Timeout | None = None
    ) -> Results[str, GroupDescription]:
        """Describe groups of every kind: state and members; with `topology` the nodes of topologies, too."""

    def list_group_offsets(
        self,
        groups: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        timeout: Timeout | None = None,
    ) -> Results[str, GroupOffsets]:
        """List the committed offsets of groups, and the start offsets of share groups."""

    def describe_with_offsets(
        self,
        described: Iterable[str],
        offsets: Mapping[str, Sequence[tuple[str, int]] | None],
        *,
        require_stable: bool = False,
        topology: bool = False,
        timeout: Timeout | None = None,
    ) -> tuple[Results[str, GroupDescription], Results[str, GroupOffsets]]:
        """Describe groups and list committed offsets of groups, in the same round of requests."""

    def list_offsets(
        self,
        partitions: Iterable[tuple[str, int]],
        *,
        spec: OffsetSpec = ...,
        isolation_level: IsolationLevel = ...,
        timeout: Timeout | None = None,
    ) -> Results[TopicPartition, int | None]:
        """List the log offset of partitions."""

    def describe_producers(
        self, partitions: Iterable[tuple[str, int]], *, timeout: Timeout | None = None
    ) -> Results[TopicPartition, tuple[ProducerState, ...]]:
        """Describe the producers of partitions, with their open transactions."""

    def describe_topics(self, topics: Iterable[str], *, timeout: Timeout | None = None) -> Results[str, Topic]:
        """Describe topics: id and partitions."""

    def describe_topic_configs(
        self, topics: Iterable[str], names: Sequence[str], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[str, str | None]]:
        """Return the values that topics have for these names of the configuration."""

    def list_partitions(
        self, topics: Iterable[str], *, max_age_s: float | None = None, timeout: Timeout | None = None
    ) -> Results[str, tuple[int, ...]]:
        """List the partitions of topics; those that a response had within `max_age_s` need no request."""

    def list_topics(self, *, timeout: Timeout | None = None) -> Results[str, Topic]:
        """List all topics that the user may see, by name."""

    def require_record_times(self) -> None:
        """Raise MissingFeatureError if records cannot be read with these settings, before any request."""

    def list_record_times(
        self,
        positions: Iterable[tuple[str, int, int]],
        *,
        isolation_level: IsolationLevel = ...,
        timeout: Timeout | None = None,
    ) -> Results[RecordPosition, RecordTime | None]:
        """Read the first record at or after each position; None if there is none."""

    def alter_consumer_group_offsets(
        self,
        offsets: Mapping[str, Mapping[tuple[str, int], CommittedOffset]],
        *,
        topic_ids: Mapping[str, UUID] = ...,
        timeout: Timeout | None = None,
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        """Commit offsets of groups; None for each partition that is done."""

    def delete_consumer_group_offsets(
        self, partitions: Mapping[str, Iterable[tuple[str, int]]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        """Delete committed offsets of groups; None for each partition that is done."""

    def alter_share_group_offsets(
        self, offsets: Mapping[str, Mapping[tuple[str, int], int | None]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[TopicPartition, Failure | None]]:
        """Alter start offsets of share groups; None for each partition that is done."""

    def delete_share_group_offsets(
        self, topics: Mapping[str, Iterable[str]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[str, Failure | None]]:
        """Delete start offsets of share groups, of whole topics; None for each topic that is done."""

    def delete_consumer_groups(
        self, groups: Iterable[str], *, record_bytes: Mapping[str, int] = ..., timeout: Timeout | None = None
    ) -> Results[str, None]:
        """Delete groups with their commits."""

    def remove_members_from_consumer_group(
        self, members: Mapping[str, Iterable[MemberIdentity]], *, timeout: Timeout | None = None
    ) -> Results[str, Mapping[MemberIdentity, Failure | None]]:
        """Remove members from groups; None for each member that is done."""
