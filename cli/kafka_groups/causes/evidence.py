"""The evidence on one group: what was observed of it, of its logs and of its cluster, oldest first.

Live polls fill it, and the tables of the pipeline can. What was not observed is absent or None, never a guess. Times
are in milliseconds since 1970, offsets are those of a partition's log.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kafka_groups.kinds import Kind, kind_of
from kafka_groups.model import Broker, Failure, GroupDescription, TopicPartition


class Need(StrEnum):
    """A part of the evidence that a cause may need. The values are those of JSON documents."""

    MEMBERS = "members"
    COMMITS = "commits"
    LOG_ENDS = "log_ends"
    LOG_STARTS = "log_starts"
    LOG_TIMES = "log_times"
    STABLE_ENDS = "stable_ends"
    TOPICS = "topics"
    TRANSACTIONS = "transactions"
    OTHER_GROUPS = "other_groups"
    BROKERS = "brokers"


class GroupPoll(NamedTuple):
    """The group at a time: its description, whose members are those of that time."""

    at_ms: int
    group: GroupDescription


class PartitionPoll(NamedTuple):
    """A partition of the group at a time; an offset is None if it is unknown.

    `committed` is the start offset for a share group, and `lag` the number of records that its coordinator counts; for
    other groups it is the log end minus the commit. `leader_epoch` is that of the commit: None for a commit of an
    administrator. `stable_end` is the last stable offset: a consumer of committed records cannot read beyond it.
    `leader` is the id of a broker, None without a leader.
    """

    at_ms: int
    committed: int | None
    log_end: int | None
    log_start: int | None = None
    lag: int | None = None
    leader_epoch: int | None = None
    stable_end: int | None = None
    leader: int | None = None


class LogTime(NamedTuple):
    """The offset of the first record of a log that was written at or after a time; the log end if there is none."""

    at_ms: int
    offset: int


class TopicPoll(NamedTuple):
    """A topic at a time; `topic_id` is None on brokers without ids. A topic that does not exist has no partitions."""

    at_ms: int
    topic_id: str | None
    partitions: int
    exists: bool = True


class OpenTransaction(NamedTuple):
    """A transaction that is open on a partition (DescribeProducers, KIP-664).

    `start_offset` is that of its first record there, and `updated_ms` the time of the producer's last one.
    """

    producer_id: int
    producer_epoch: int
    start_offset: int
    updated_ms: int


class OtherGroup(NamedTuple):
    """Another group of the cluster: its coordinator, and its partitions that were observed."""

    group: str
    coordinator: int | None
    partitions: Mapping[TopicPartition, tuple[PartitionPoll, ...]]


PartitionPolls: TypeAlias = tuple[PartitionPoll, ...]


class Evidence(NamedTuple):
    """What was observed of a group. Each series is in the order of time, and its last element the newest.

    `partitions` are those with a commit, and those that a member owns. `log_times` are earlier offsets of each log.
    `unanswering_brokers` did not respond at the last poll, with the reason. `unseen` has the parts of the evidence that
    could not be observed, with the reason. `unexplained` are the partitions that no cause has explained yet.
    `coordinator_failure` is that of the last request to the group's coordinator, None if it responded.
    `bootstrap_server` is what commands of Kafka's tools connect to. `interval_ms` is the time between two polls.
    """

    polls: tuple[GroupPoll, ...]
    partitions: Mapping[TopicPartition, PartitionPolls] = MappingProxyType({})
    log_times: Mapping[TopicPartition, tuple[LogTime, ...]] = MappingProxyType({})
    topics: Mapping[str, tuple[TopicPoll, ...]] = MappingProxyType({})
    transactions: Mapping[TopicPartition, tuple[OpenTransaction, ...]] = MappingProxyType({})
    others: tuple[OtherGroup, ...] = ()
    brokers: Mapping[int, Broker] = MappingProxyType({})
    unanswering_brokers: Mapping[int, str] = MappingProxyType({})
    coordinator_failure: Failure | None = None
    unseen: Mapping[Need, str] = MappingProxyType({})
    unexplained: frozenset[TopicPartition] = frozenset()
    bootstrap_server: str = "localhost:9092"
    interval_ms: int = 5_000

    @property
    def last(self) -> GroupPoll:
        """Return the newest poll of the group."""
        return self.polls[-1]

    @property
    def group(self) -> str:
        """Return the id of the group."""
        return self.last.group.group

    @property
    def kind(self) -> Kind:
        """Return the kind of the group at the newest poll."""
        return kind_of(self.last.group)

    @property
    def duration_ms(self) -> int:
        """Return the time from the first poll to the last one."""
        return self.last.at_ms - self.polls[0].at_ms

    def open_partitions(self) -> dict[TopicPartition, PartitionPolls]:
        """Return the partitions that no cause has explained yet, with their polls."""
        return {key: polls for key, polls in self.partitions.items() if key in self.unexplained}
