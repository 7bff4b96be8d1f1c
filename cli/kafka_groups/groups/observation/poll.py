"""One poll of selected groups: descriptions, offsets, topics and logs at a time, in one round of batched requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Step, TimePlan
from kafka_groups.causes.evidence import Need, PartitionPoll, TopicPoll
from kafka_groups.errors import (
    AuthenticationFailedError,
    ConnectionFailedError,
    NameNotResolvedError,
    TimeoutExceededError,
    TlsFailedError,
)
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import assigned_partitions, has_unreadable_assignments
from kafka_groups.groups.descriptions import DescribedGroups, describe_groups, description_steps
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.notes import Note
from kafka_groups.groups.observation.logs import Logs, is_absent, log_steps, read_logs, reason_of
from kafka_groups.groups.observation.other_groups import partitions_of, read_commits
from kafka_groups.groups.selection import Selection
from kafka_groups.model import Broker, Failure, GroupDescription, GroupOffsets, TopicPartition

_DETAILS: Final = Details(offsets=True, log_offsets=False)
# Failures of a broker that does not respond, rather than of what it was requested.
_NOT_RESPONDING: Final = frozenset(
    error.name
    for error in (
        AuthenticationFailedError,
        ConnectionFailedError,
        NameNotResolvedError,
        TimeoutExceededError,
        TlsFailedError,
    )
)


class Poll(NamedTuple):
    """What one poll observed. A group that failed is in no mapping but that of `failures`.

    `partitions` are those of the selected groups and of the others, by group. `unseen` has the parts of the evidence
    on each group that could not be observed, with the reason. `unanswering_brokers` are the brokers that did not
    respond, with the reason.
    """

    at_ms: int
    groups: Mapping[str, GroupDescription] = MappingProxyType({})
    partitions: Mapping[str, Mapping[TopicPartition, PartitionPoll]] = MappingProxyType({})
    topics: Mapping[str, TopicPoll] = MappingProxyType({})
    unseen: Mapping[str, Mapping[Need, str]] = MappingProxyType({})
    brokers: Mapping[int, Broker] = MappingProxyType({})
    unanswering_brokers: Mapping[int, str] = MappingProxyType({})
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()

    def log_ends(self) -> dict[TopicPartition, int]:
        """Return the known log ends of the selected groups' partitions, those with the largest lag first."""
        polls = ((key, poll) for group in self.groups for key, poll in self.partitions.get(group, {}).items())
        known = sorted(polls, key=lambda item: -(item[1].lag or 0))
        return {key: poll.log_end for key, poll in known if poll.log_end is not None}


def poll_steps() -> tuple[Step, ...]:
    """Return the steps of `read_poll`."""
    return (*description_steps(_DETAILS), steps.OTHER_COMMITS, *log_steps())


def read_poll(
    admin: Admin, selection: Selection, others: Iterable[str], at_ms: int, plan: TimePlan, before: Poll | None = None
) -> Poll:
    """Read the selected groups, and the commits of others, in one round; then the logs of their partitions.

    Partitions of the poll `before` are read again, although the group may have lost its commits on them: brokers delete
    the commits on a topic with it.

    With K coordinators and L leaders it costs K requests of each API that describes groups, K OffsetFetch and as many
    for the other groups, one Metadata, and 3 L ListOffsets. The plan has the `poll_steps`.
    """
    # A listing may be older than this poll, and descriptions must not come from it.
    described = describe_groups(admin, selection._replace(listings={}), details=_DETAILS, plan=plan)
    other_commits = read_commits(admin, [*others], plan)
    keys_by_group = _keys_by_group(described, {} if before is None else before.partitions)
    observed = dict.fromkeys(key for keys in keys_by_group.values() for key in keys)
    logs = read_logs(admin, observed, partitions_of(other_commits), plan)
    every: dict[str, Mapping[TopicPartition, PartitionPoll]] = {
        group: _join(described.offsets.get(group), keys, logs, at_ms) for group, keys in keys_by_group.items()
    }
    every |= {group: _join(offsets, offsets, logs, at_ms) for group, offsets in other_commits.items()}
    failures = (*described.failures, *logs.failures())
    return Poll(
        at_ms=at_ms,
        groups=described.descriptions,
        partitions=every,
        topics=_topic_polls(logs, at_ms),
        unseen={group: _unseen(described, group, every[group], logs) for group in described.descriptions},
        brokers=admin.brokers(timeout=plan.deadline),
        unanswering_brokers=_unanswering(failures),
        failures=(*_without_repeats((*described.failures, *_failed_ends(described, every, logs))),),
        notes=described.notes,
    )


def _keys_by_group(
    described: DescribedGroups, before: Mapping[str, Iterable[TopicPartition]]
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each group: with an offset, owned by a member, or known from the poll before."""
    keys: dict[str, list[TopicPartition]] = {}
    for name, group in described.descriptions.items():
        owned = [key for member in group.members for key in assigned_partitions(member)]
        keys[name] = [*dict.fromkeys((*described.offsets.get(name, ()), *owned, *before.get(name, ())))]
    return keys


def _join(
    offsets: GroupOffsets | None, keys: Iterable[TopicPartition], logs: Logs, at_ms: int
) -> dict[TopicPartition, PartitionPoll]:
    """Return the partitions of a group, without those that tasks would read and that their topics do not have."""
    known = dict(offsets.rows()) if offsets is not None else {}
    lags = None if offsets is None else offsets.lags
    polls: dict[TopicPartition, PartitionPoll] = {}
    for key in keys:
        commit = known.get(key)
        if commit is None and logs.lacks(key):
            continue
        committed = None if commit is None else commit.offset
        end = logs.ends.succeeded.get(key)
        lag = None if committed is None or end is None else end - committed
        polls[key] = PartitionPoll(
            at_ms=at_ms,
            committed=committed,
            log_end=end,
            log_start=logs.starts.succeeded.get(key),
            lag=lag if lags is None else lags.get(key),
            leader_epoch=None if commit is None else commit.leader_epoch,
            stable_end=logs.stable_ends.succeeded.get(key),
            leader=logs.leader_of(key),
        )
    return polls


def _topic_polls(logs: Logs, at_ms: int) -> dict[str, TopicPoll]:
    polls = {
        name: TopicPoll(at_ms, None if topic.topic_id is None else str(topic.topic_id), len(topic.partitions))
        for name, topic in logs.topics.succeeded.items()
    }
    absent = (name for name, failure in logs.topics.failed.items() if is_absent(failure))
    return polls | {name: TopicPoll(at_ms, None, 0, exists=False) for name in absent}


def _unseen(described: DescribedGroups, group: str, keys: Iterable[TopicPartition], logs: Logs) -> dict[Need, str]:
    """Return why parts of the evidence on a group are unknown: the first reason of each part."""
    partitions = [*keys]
    topics = dict.fromkeys(key.topic for key in partitions)
    unseen: dict[Need, str] = {}
    for need, results in (
        (Need.LOG_ENDS, logs.ends),
        (Need.LOG_STARTS, logs.starts),
        (Need.STABLE_ENDS, logs.stable_ends),
    ):
        failed = (results.failed[key] for key in partitions if key in results.failed)
        unseen |= _first_reason(need, failed)
    unseen |= _first_reason(Need.TOPICS, (logs.topics.failed[name] for name in topics if name in logs.topics.failed))
    for need in (Need.LOG_STARTS, Need.STABLE_ENDS):
        if Need.LOG_ENDS in unseen:
            unseen.setdefault(need, unseen[Need.LOG_ENDS])
    offsets = described.offsets.get(group)
    refused = [failure for failure in described.failures if failure.group == group] if offsets is None else ()
    unseen |= _first_reason(Need.COMMITS, refused if offsets is None else offsets.failed.values())
    description = described.descriptions[group]
    if not description.is_described:
        unseen[Need.MEMBERS] = "the group could not be described"
    elif has_unreadable_assignments(description):
        unseen[Need.MEMBERS] = "the assignment of a member cannot be read"
    return unseen


def _first_reason(need: Need, failures: Iterable[Failure]) -> dict[Need, str]:
    """Return the reason of the first failure that is not the absence of a topic, which is evidence itself."""
    reasons = (reason_of(failure) for failure in failures if not is_absent(failure))
    reason = next(reasons, None)
    return {} if reason is None else {need: reason}


def _failed_ends(
    described: DescribedGroups, partitions: Mapping[str, Iterable[TopicPartition]], logs: Logs
) -> Iterator[Failure]:
    """Yield the failures of log ends without which no lag is known, unless the topic does not exist."""
    keys = dict.fromkeys(key for group in described.descriptions for key in partitions[group])
    for key in keys:
        failure = logs.ends.failed.get(key)
        if failure is not None and not is_absent(failure):
            yield failure


def _unanswering(failures: Iterable[Failure]) -> dict[int, str]:
    return {
        failure.broker: reason_of(failure)
        for failure in failures
        if failure.broker is not None and failure.name in _NOT_RESPONDING
    }


def _without_repeats(failures: Iterable[Failure]) -> Iterator[Failure]:
    """Yield each failure once, that of a broker that does not respond only for the first of its partitions."""
    brokers: set[tuple[str | None, int]] = set()
    for failure in dict.fromkeys(failures):
        if failure.broker is not None and failure.name in _NOT_RESPONDING and failure.partition is not None:
            if (failure.group, failure.broker) in brokers:
                continue
            brokers.add((failure.group, failure.broker))
        yield failure
