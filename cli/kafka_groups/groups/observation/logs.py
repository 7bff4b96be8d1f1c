"""What the logs of partitions show at a poll, before the first poll, and of transactions that are open on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, IsolationLevel, OffsetSpec, Step, TimePlan, Topic
from kafka_groups.causes.evidence import LogTime
from kafka_groups.groups import steps
from kafka_groups.model import Failure, Results, TopicPartition
from kafka_groups.protocol.errors import LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION, broker_error

Offsets = Results[TopicPartition, int | None]

_MINUTE_MS: Final = 60_000
# How long before the first poll the offsets of logs are looked up, in ms.
_AGES_MS: Final = tuple(minutes * _MINUTE_MS for minutes in (1, 2, 5, 15, 60, 360, 1_440))
# A leader reads its time index and then records for each partition and time: some 0.1 ms if both are in memory.
MOST_LOOKUPS: Final = 1_000


class Logs(NamedTuple):
    """The topics and the log offsets of partitions. A partition of a topic that failed is in `failed` of the ends."""

    topics: Results[str, Topic]
    ends: Offsets
    starts: Offsets
    stable_ends: Offsets

    def lacks(self, key: TopicPartition) -> bool:
        """Return whether a topic that exists does not have the partition."""
        topic = self.topics.succeeded.get(key.topic)
        return topic is not None and key.partition not in topic.partitions

    def leader_of(self, key: TopicPartition) -> int | None:
        """Return the id of the partition's leader; None without one, or if it is unknown."""
        topic = self.topics.succeeded.get(key.topic)
        return None if topic is None else topic.leaders.get(key.partition)

    def failures(self) -> Iterable[Failure]:
        """Yield all failures, also those of topics that do not exist."""
        for results in (self.topics, self.ends, self.starts, self.stable_ends):
            yield from results.failed.values()


class LogTimes(NamedTuple):
    """Earlier offsets of logs, ascending by time. `failed` has the reason why those of a partition are unknown."""

    times: Mapping[TopicPartition, tuple[LogTime, ...]] = MappingProxyType({})
    failed: Mapping[TopicPartition, str] = MappingProxyType({})


def is_absent(failure: Failure) -> bool:
    """Return whether a topic or a partition failed because it does not exist."""
    return failure.code == UNKNOWN_TOPIC_OR_PARTITION


def read_logs(
    admin: Admin, observed: Collection[TopicPartition], others: Collection[TopicPartition], plan: TimePlan
) -> Logs:
    """Read topics, last stable offsets, log ends and log starts; of partitions of other groups only the log ends.

    Last stable offsets come first, so that none is above the log end of the same poll. The plan has the `log_steps`.
    """
    names = dict.fromkeys(key.topic for key in (*observed, *others))
    topics: Results[str, Topic] = Results()
    if names:
        topics = admin.describe_topics(names, timeout=plan.until(steps.OBSERVED_TOPICS))
    with_leader = {
        TopicPartition(name, partition) for name, topic in topics.succeeded.items() for partition in topic.leaders
    }
    with_logs = [key for key in observed if key in with_leader]
    every = dict.fromkeys((*with_logs, *(key for key in others if key in with_leader)))
    stable_ends: Offsets = Results()
    ends: Offsets = Results()
    starts: Offsets = Results()
    if with_logs:
        stable_ends = admin.list_offsets(
            with_logs, isolation_level=IsolationLevel.READ_COMMITTED, timeout=plan.until(steps.STABLE_ENDS)
        )
    if every:
        ends = admin.list_offsets(every, timeout=plan.until(steps.LOG_ENDS))
    if with_logs:
        starts = admin.list_offsets(with_logs, spec=OffsetSpec.earliest(), timeout=plan.until(steps.LOG_STARTS))
    unknown = _unknown_logs(topics, (*observed, *others))
    return Logs(topics, ends._replace(failed={**unknown, **ends.failed}), starts, stable_ends)


def _unknown_logs(topics: Results[str, Topic], keys: Iterable[TopicPartition]) -> dict[TopicPartition, Failure]:
    """Return the failures of partitions whose topic failed, or that exist and have no leader.

    A request to a leader that does not exist would wait for one until the deadline.
    """
    failed: dict[TopicPartition, Failure] = {}
    for key in keys:
        topic = topics.succeeded.get(key.topic)
        if key.topic in topics.failed:
            failed[key] = topics.failed[key.topic]
        elif topic is not None and key.partition in topic.partitions and key.partition not in topic.leaders:
            error = broker_error(LEADER_NOT_AVAILABLE)
            failed[key] = Failure.of(error, topic=key.topic, partition=key.partition)
    return failed


def log_steps() -> Sequence[Step]:
    """Return the steps of `read_logs`."""
    return (steps.OBSERVED_TOPICS, steps.STABLE_ENDS, steps.LOG_ENDS, steps.LOG_STARTS)


def read_log_times(admin: Admin, ends: Mapping[TopicPartition, int], before_ms: int, plan: TimePlan) -> LogTimes:
    """Read the offsets that logs had at some times before a poll, by one request per leader and time.

    `ends` are the log ends at the poll: they stand for a time after which nothing was written.
    """
    times: dict[TopicPartition, list[LogTime]] = {}
    failed: dict[TopicPartition, str] = {}
    for age_ms in sorted(_AGES_MS, reverse=True):
        known = [key for key in ends if key not in failed]
        if not known:
            break
        at_ms = before_ms - age_ms
        found = admin.list_offsets(known, spec=OffsetSpec.for_timestamp(at_ms), timeout=plan.until(steps.LOG_TIMES))
        for key, offset in found.succeeded.items():
            times.setdefault(key, []).append(LogTime(at_ms, ends[key] if offset is None else offset))
        failed.update({key: reason_of(failure) for key, failure in found.failed.items()})
    return LogTimes({key: tuple(each) for key, each in times.items()}, failed)


def reason_of(failure: Failure) -> str:
    """Return why something could not be observed."""
    return f"{failure.message} ({failure.name})"
