"""Log offsets of the partitions of described groups, and the choice of what a caller reads of groups."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafka_groups.admin.api import Admin, IsolationLevel, OffsetSpec, TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.topic_scope import PARTITIONS_MAX_AGE_S, TopicScope
from kafka_groups.model import Assignment, Failure, GroupDescription, GroupOffsets, Member, Results, TopicPartition
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION


class Details(NamedTuple):
    """The parts of groups that a caller reads, besides their states.

    `offsets`: committed offsets, and the start offsets of share groups; with `log_offsets` log end offsets, and with
    `log_start_offsets` log start offsets, too. `share_log_ends`: also the log end offsets of share groups, which their
    lag does not need. `streams_log_starts`: the log start offsets of those partitions of streams groups that have no
    commit. `topology`: the nodes of topologies, whose absence is a failure.
    `whole_topics`: also the partitions of these topics that have neither an owner nor a commit, such as those that were
    added to a topic. `members`: members and epochs even of an empty group, which an `offsets` view does not show.
    `undescribed`: a group whose description failed is there without members, if it has commits. `offsets_only` implies
    it; a group whose committed offsets are unknown then has nothing to show, and is dropped. `isolation_level` is that
    of the log end offsets. `scope` narrows all offsets to the topics that a caller named.
    """

    offsets: bool
    log_offsets: bool = True
    log_start_offsets: bool = False
    share_log_ends: bool = True
    streams_log_starts: bool = False
    topology: bool = False
    whole_topics: bool = False
    members: bool = True
    undescribed: bool = False
    offsets_only: bool = False
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    scope: TopicScope | None = None


class LogOffsets(NamedTuple):
    """Log end offsets, log start offsets, what failed, and all partitions of topics if they were wanted.

    `absent` are partitions that tasks of streams groups would read, and that do not exist.
    """

    ends: Mapping[TopicPartition, int | None] = MappingProxyType({})
    starts: Mapping[TopicPartition, int | None] = MappingProxyType({})
    failures: tuple[Failure, ...] = ()
    partitions: Mapping[str, frozenset[int]] = MappingProxyType({})
    absent: frozenset[TopicPartition] = frozenset()


def read_log_offsets(
    admin: Admin,
    groups: Mapping[str, GroupDescription],
    offsets: Mapping[str, GroupOffsets],
    details: Details,
    plan: TimePlan,
) -> LogOffsets:
    """Return the log offsets of the groups' partitions, and of the rest of their topics with `whole_topics`.

    `offsets` are those of the groups, by id. The plan has the steps of log offsets of these details.
    """
    # Only share groups have lags.
    measured = {name: read for name, read in offsets.items() if details.share_log_ends or read.lags is None}
    read = _partitions((groups[name] for name in groups if name in measured), measured.values())
    topics: Collection[str] = ()
    if details.scope is not None:
        topics = dict.fromkeys(key.topic for key in read if key.topic in details.scope.named)
        read = [key for key in read if details.scope.has(*key) and details.scope.may_exist(key)]
    if not (read or topics):
        return LogOffsets()
    ends: Results[TopicPartition, int | None] = Results()
    if read:
        ends = admin.list_offsets(read, isolation_level=details.isolation_level, timeout=plan.until(steps.LOG_ENDS))
    absent = _absent_tasks(groups.values(), measured.values(), ends)
    failures = tuple(failure for key, failure in ends.failed.items() if key not in absent)
    logs = LogOffsets(ends.succeeded, failures=failures, absent=absent)
    if details.whole_topics:
        listed = _list_partitions(admin, logs, topics, details, plan)
        logs = _with_other_partitions(admin, logs._replace(partitions=listed.succeeded), read, details, plan)
        logs = logs._replace(failures=(*logs.failures, *listed.failed.values()))
    # A partition whose end is unknown would only fail a second time.
    with_starts = [key for key in _partitions_with_starts(groups, offsets, logs, details) if key in logs.ends]
    if not with_starts:
        return logs
    starts = admin.list_offsets(with_starts, spec=OffsetSpec.earliest(), timeout=plan.until(steps.LOG_STARTS))
    return logs._replace(starts=starts.succeeded, failures=(*logs.failures, *starts.failed.values()))


def _partitions_with_starts(
    groups: Mapping[str, GroupDescription],
    offsets: Mapping[str, GroupOffsets],
    logs: LogOffsets,
    details: Details,
) -> Iterable[TopicPartition]:
    """Return the partitions whose log start offsets the caller reads."""
    if details.log_start_offsets:
        return logs.ends
    if not details.streams_log_starts:
        return ()
    return [
        key
        for name, group in groups.items()
        if group.topology is not None
        for key in _partitions((group,), ())
        if (name not in offsets or offsets[name].get(key) is None)
    ]


def _absent_tasks(
    groups: Iterable[GroupDescription],
    offsets: Iterable[GroupOffsets],
    ends: Results[TopicPartition, int | None],
) -> frozenset[TopicPartition]:
    """Return the partitions that tasks would read, but that their topics do not have.

    A subtopology has as many tasks as its largest topic has partitions; a smaller topic has no partition for some of
    them. A topic without any known partition is a failure: it was deleted.
    """
    unknown = {key for key, failure in ends.failed.items() if failure.code == UNKNOWN_TOPIC_OR_PARTITION}
    if not unknown:
        return frozenset()
    of_tasks = {*_partitions((group for group in groups if group.topology is not None), ())}
    with_commits = {*_partitions((), offsets)}
    existing_topics = {key.topic for key in ends.succeeded}
    return frozenset(key for key in (unknown & of_tasks) - with_commits if key.topic in existing_topics)


def without_absent_tasks(groups: Mapping[str, GroupDescription], logs: LogOffsets) -> dict[str, GroupDescription]:
    """Return the groups, and streams groups without the partitions of their members that do not exist."""
    if not logs.absent:
        return dict(groups)
    return {
        name: group if group.topology is None else group._replace(members=tuple(_existing(group, logs.absent)))
        for name, group in groups.items()
    }


def _existing(group: GroupDescription, absent: Container[TopicPartition]) -> Iterator[Member]:
    """Yield the members of a group with the partitions that exist."""
    for member in group.members:
        assignment = [
            (topic.topic, [number for number in topic.partitions if (topic.topic, number) not in absent])
            for topic in member.assignment or ()
        ]
        yield member._replace(
            assignment=tuple(Assignment(topic, (*numbers,)) for topic, numbers in assignment if numbers)
        )


def _list_partitions(
    admin: Admin, found: LogOffsets, topics: Iterable[str], details: Details, plan: TimePlan
) -> Results[str, frozenset[int]]:
    """Return all partitions of the topics with a log end, or the named ones of `topics` if there is a scope.

    The lookup of their leaders has just read most topics, and that of the scope all.
    """
    if details.scope is not None:
        return Results({topic: details.scope.partitions_of(topic) for topic in topics})
    names = dict.fromkeys(key.topic for key in found.ends)
    listed = admin.list_partitions(names, max_age_s=PARTITIONS_MAX_AGE_S, timeout=plan.until(steps.PARTITIONS))
    return Results({topic: frozenset(numbers) for topic, numbers in listed.succeeded.items()}, listed.failed)


def _with_other_partitions(
    admin: Admin, found: LogOffsets, requested: Iterable[TopicPartition], details: Details, plan: TimePlan
) -> LogOffsets:
    """Add the log ends of the other partitions of these topics."""
    keys = (TopicPartition(topic, each) for topic, numbers in found.partitions.items() for each in sorted(numbers))
    known = {*requested}
    others = [key for key in keys if key not in known]
    if not others:
        return found
    ends = admin.list_offsets(others, isolation_level=details.isolation_level, timeout=plan.until(steps.OTHER_LOG_ENDS))
    return found._replace(ends={**found.ends, **ends.succeeded}, failures=(*found.failures, *ends.failed.values()))


def _partitions(groups: Iterable[GroupDescription], offsets: Iterable[GroupOffsets]) -> list[TopicPartition]:
    topics: dict[str, set[int]] = {}
    for group_offsets in offsets:
        for topic, partitions in group_offsets.partitions():
            topics.setdefault(topic, set()).update(partitions)
    for group in groups:
        for member in group.members:
            for assigned in member.assignment or ():
                topics.setdefault(assigned.topic, set()).update(assigned.partitions)
    return [TopicPartition(topic, partition) for topic, found in topics.items() for partition in sorted(found)]


def by_topic(offsets: Mapping[TopicPartition, int | None]) -> dict[str, dict[int, int]]:
    """Return the known offsets by topic and partition."""
    topics: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        if offset is not None:
            topics.setdefault(topic, {})[partition] = offset
    return topics
