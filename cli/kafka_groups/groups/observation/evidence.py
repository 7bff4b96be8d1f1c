"""Evidence on each observed group, from the polls and from what was read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_groups.causes.evidence import (
    Evidence,
    GroupPoll,
    Need,
    OtherGroup,
    PartitionPoll,
    PartitionPolls,
    TopicPoll,
)
from kafka_groups.errors import ConnectionFailedError, TimeoutExceededError
from kafka_groups.groups.observation.logs import LogTimes, reason_of
from kafka_groups.groups.observation.other_groups import MOST_GROUPS, OtherGroups
from kafka_groups.groups.observation.poll import Poll
from kafka_groups.groups.observation.transactions import Transactions
from kafka_groups.model import Failure, GroupDescription, TopicPartition

# Failures of a group whose coordinator does not respond, or that has none.
_NOT_SERVING: Final = frozenset(
    {
        ConnectionFailedError.name,
        TimeoutExceededError.name,
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
    }
)


class Background(NamedTuple):
    """What was read once, beside the polls, and where commands of Kafka's tools connect to."""

    log_times: LogTimes = LogTimes()
    others: OtherGroups = OtherGroups()
    transactions: Transactions = Transactions()
    bootstrap_server: str = "localhost:9092"
    interval_ms: int = 5_000


def collect_evidence(polls: Sequence[Poll], background: Background) -> dict[str, Evidence]:
    """Return the evidence on each group that a poll observed, by id, and on those whose coordinator did not respond.

    `polls` are in the order of time.
    """
    observed = {group for poll in polls for group in poll.groups}
    failures = _coordinator_failures(polls[-1]) if polls else {}
    others = _other_groups(polls, sorted(observed), background.others)
    evidence = {group: _evidence_of(group, polls, others, background) for group in sorted(observed)}
    for group, failure in failures.items():
        known = evidence.get(group) or _unobserved(group, polls[-1], failure, background)
        evidence[group] = known._replace(coordinator_failure=failure)
    return dict(sorted(evidence.items()))


def _coordinator_failures(poll: Poll) -> dict[str, Failure]:
    """Return the failures of groups that a poll did not observe because their coordinators did not serve them."""
    return {
        failure.group: failure
        for failure in poll.failures
        if failure.group is not None
        and failure.topic is None
        and failure.group not in poll.groups
        and failure.name in _NOT_SERVING
    }


def _unobserved(group: str, poll: Poll, failure: Failure, background: Background) -> Evidence:
    """Return the evidence on a group that no poll saw."""
    unknown = GroupDescription(
        group=group, type=None, state=None, protocol_type=None, coordinator=None, is_described=False
    )
    return Evidence(
        polls=(GroupPoll(poll.at_ms, unknown),),
        brokers=poll.brokers,
        unanswering_brokers=poll.unanswering_brokers,
        unseen=dict.fromkeys(Need, reason_of(failure)),
        bootstrap_server=background.bootstrap_server,
        interval_ms=background.interval_ms,
    )


def _evidence_of(group: str, polls: Sequence[Poll], others: Sequence[OtherGroup], background: Background) -> Evidence:
    of_group = [poll for poll in polls if group in poll.groups]
    partitions = {
        key: series for key, series in _series(group, of_group).items() if _is_current(series, of_group[-1].at_ms)
    }
    topics = {key.topic for key in partitions}
    return Evidence(
        polls=tuple(GroupPoll(poll.at_ms, poll.groups[group]) for poll in of_group),
        partitions=partitions,
        log_times={key: times for key, times in background.log_times.times.items() if key in partitions},
        topics={topic: series for topic in sorted(topics) if (series := _topic_series(topic, polls))},
        transactions={key: each for key, each in background.transactions.open.items() if key in partitions},
        others=tuple(other for other in others if other.group != group),
        brokers=of_group[-1].brokers,
        unanswering_brokers=polls[-1].unanswering_brokers,
        unseen={**of_group[-1].unseen.get(group, {}), **_unseen(partitions, background)},
        bootstrap_server=background.bootstrap_server,
        interval_ms=background.interval_ms,
    )


def _series(group: str, polls: Iterable[Poll]) -> dict[TopicPartition, PartitionPolls]:
    series: dict[TopicPartition, list[PartitionPoll]] = {}
    for poll in polls:
        for key, partition in poll.partitions.get(group, {}).items():
            series.setdefault(key, []).append(partition)
    return {key: tuple(series[key]) for key in sorted(series)}


def _is_current(polls: PartitionPolls, last_ms: int) -> bool:
    """Return whether the last poll of a group has the partition, or a kept poll saw a commit on it."""
    return polls[-1].at_ms == last_ms or any(poll.committed is not None for poll in polls)


def _topic_series(topic: str, polls: Iterable[Poll]) -> tuple[TopicPoll, ...]:
    return tuple(poll.topics[topic] for poll in polls if topic in poll.topics)


def _other_groups(polls: Sequence[Poll], selected: Sequence[str], others: OtherGroups) -> list[OtherGroup]:
    """Return the groups that a selected one is compared with: other selected ones, too, up to the same number."""
    coordinators: dict[str, int | None] = {}
    for poll in polls:
        for group in selected[:MOST_GROUPS]:
            description = poll.groups.get(group)
            if description is not None and description.coordinator is not None:
                coordinators[group] = description.coordinator.id
    coordinators |= others.coordinators
    compared = (OtherGroup(group, at, _series(group, polls)) for group, at in coordinators.items())
    return [other for other in compared if other.partitions]


def _unseen(partitions: Iterable[TopicPartition], background: Background) -> dict[Need, str]:
    """Return why parts of the evidence that were read once are unknown."""
    keys = [*partitions]
    unseen: dict[Need, str] = {}
    for need, failed in (
        (Need.LOG_TIMES, background.log_times.failed),
        (Need.TRANSACTIONS, background.transactions.failed),
    ):
        reason = next((failed[key] for key in keys if key in failed), None)
        if reason is not None:
            unseen[need] = reason
    if background.others.unseen is not None:
        unseen[Need.OTHER_GROUPS] = background.others.unseen
    return unseen
