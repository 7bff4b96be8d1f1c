"""Evidence for tests of causes: a group whose polls are written down as series of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from kafka_groups.causes.evidence import Evidence, GroupPoll, LogTime, PartitionPoll
from kafka_groups.causes.finding import Finding
from kafka_groups.model import Assignment, Broker, GroupDescription, Member, TopicPartition

START_MS = 1_790_000_000_000
INTERVAL_MS = 5_000
COORDINATOR = Broker(1, "b1", 9092)


def member(name: str, partitions: Mapping[str, Sequence[int]] | None = None, **changes: Any) -> Member:
    """Return a member with the client id `name` on the host `name`, and its partitions by topic."""
    assignment = tuple(Assignment(topic, tuple(numbers)) for topic, numbers in (partitions or {}).items())
    known = Member(f"{name}-id", None, name, f"/{name}", assignment)
    return known._replace(**changes)


def description(*members: Member, state: str | None = None, **changes: Any) -> GroupDescription:
    """Return a group of the classic protocol, Stable with members and Empty without."""
    known = state or ("Stable" if members else "Empty")
    group = GroupDescription("g", "Classic", known, "consumer", COORDINATOR, "range", members=members)
    return group._replace(**changes)


class ObservedGroup:
    """Collects what polls saw, one every five seconds; series are in the order of time, None for what is unknown."""

    def __init__(self, *descriptions: GroupDescription) -> None:
        self.evidence = Evidence(
            polls=tuple(GroupPoll(time_of(number), each) for number, each in enumerate(descriptions)),
            bootstrap_server="b1:9092",
            interval_ms=INTERVAL_MS,
        )

    def partition(
        self,
        topic: str,
        number: int,
        *,
        committed: Sequence[int | None],
        ends: Sequence[int | None],
        **others: Sequence[Any],
    ) -> Self:
        """Add a partition. `others` are series of other fields of a PartitionPoll, such as `log_start`."""
        polls = []
        for poll, (commit, end) in enumerate(zip(committed, ends, strict=True)):
            lag = None if commit is None or end is None else end - commit
            known = PartitionPoll(time_of(poll), commit, end, lag=lag, leader_epoch=0, leader=1)
            polls.append(known._replace(**{field: series[poll] for field, series in others.items()}))
        partitions = {**self.evidence.partitions, TopicPartition(topic, number): tuple(polls)}
        return self.with_evidence(partitions=partitions)

    def log_times(self, topic: str, number: int, *pairs: tuple[int, int]) -> Self:
        """Add earlier log ends of a partition: pairs of seconds before the first poll, and the offset at that time."""
        times = sorted(LogTime(START_MS - 1000 * before_s, offset) for before_s, offset in pairs)
        known = {**self.evidence.log_times, TopicPartition(topic, number): tuple(times)}
        return self.with_evidence(log_times=known)

    def with_evidence(self, **changes: Any) -> Self:
        """Change other parts of the evidence."""
        self.evidence = self.evidence._replace(**changes)
        return self

    def all_unexplained(self) -> Evidence:
        """Return the evidence for a cause that is tested alone."""
        return self.evidence._replace(unexplained=frozenset(self.evidence.partitions))


def time_of(poll: int) -> int:
    """Return the time of a poll by its number from 0, in ms since 1970."""
    return START_MS + poll * INTERVAL_MS


def line(start: int, step: int, polls: int = 6) -> list[int]:
    """Return a series that grows evenly."""
    return [start + step * poll for poll in range(polls)]


def texts_of(finding: Finding) -> str:
    """Return the sentences of a finding, for comparisons with words."""
    return " ".join([finding.summary, *(fact.text for fact in finding.facts), finding.refuted_by, finding.next_step])
