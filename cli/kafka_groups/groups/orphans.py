"""Commits that nobody reads: of deleted topics, of topics that a group reads no longer, and of idle groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.admin.api import Admin, Deadline, TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import has_unknown_assignments
from kafka_groups.groups.descriptions import describe_groups, description_steps
from kafka_groups.groups.lag.polls import PartitionPolls, Polls
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.notes import Note
from kafka_groups.groups.selection import Selectors, listing_steps, select_groups
from kafka_groups.groups.suggestions import suggest_groups
from kafka_groups.kinds import STATES_WITHOUT_MEMBERS, Operation, has_start_offsets
from kafka_groups.model import CommittedOffset, Failure, GroupDescription, GroupOffsets, TopicPartition
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION

Commits: TypeAlias = Mapping[TopicPartition, CommittedOffset]
# The partitions of each topic that exists; None for a topic whose partitions are unknown.
Topics: TypeAlias = Mapping[str, Collection[int] | None]

_NO_COMMITS: Final = GroupOffsets()


class Reason(StrEnum):
    """Why nobody reads a commit. The values are those of JSON documents."""

    TOPIC_DELETED = "topic_deleted"
    NOT_SUBSCRIBED = "not_subscribed"
    IDLE = "idle"


class Orphan(NamedTuple):
    """A commit that nobody reads."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    leader_epoch: int | None
    metadata: str
    reason: Reason


class Orphans(NamedTuple):
    """The orphans of each group that has some, by id.

    `anything_read` says whether a group was read, or none is there to read. `start_offsets` has all start offsets of
    the share groups among them, because Kafka deletes those of whole topics only.
    """

    groups: Mapping[str, tuple[Orphan, ...]]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]
    anything_read: bool
    start_offsets: Mapping[str, GroupOffsets] = MappingProxyType({})


class IdleRule:
    """The rule for idle groups: no members, and commits that are as they were `idle_ms` before `now_ms`."""

    def __init__(self, polls: Polls, *, idle_ms: int, now_ms: int) -> None:
        self._idle_ms = idle_ms
        self._now_ms = now_ms
        self._seen: dict[str, dict[TopicPartition, PartitionPolls]] = {}
        for (group, topic, partition), found in polls.partitions.items():
            self._seen.setdefault(group, {})[TopicPartition(topic, partition)] = found

    def holds(self, group: str, commits: Commits, topics: Topics) -> bool:
        """Return whether every commit on a partition that exists was seen as it is now, long enough ago.

        Commits of deleted topics do not count, because polls have only partitions with a log end.
        """
        seen = self._seen.get(group, {})
        living = {key: commit for key, commit in commits.items() if exists(key, topics) is not False}
        return bool(living) and all(
            (found := seen.get(key)) is not None
            and found.last.offset == commit.offset
            and self._now_ms - found.moves[-1].at_ms >= self._idle_ms
            for key, commit in living.items()
        )


def find_orphans(
    admin: Admin, selectors: Selectors, *, idle: IdleRule | None = None, deadline: Deadline | None = None
) -> Orphans:
    """Return the orphans of the selected groups, of all groups if none is selected. Without a rule no group is idle.

    After the requests of a describe, one Metadata request returns which topics exist.
    """
    selected = selectors._replace(all_groups=True) if selectors.is_empty() else selectors
    details = Details(offsets=True, log_offsets=False, members=False, offsets_only=True)
    plan = TimePlan(deadline, (*listing_steps(selected), *description_steps(details), steps.TOPICS))
    selection = select_groups(admin, selected, operation=Operation.LIST_OFFSETS, plan=plan)
    described = describe_groups(admin, selection, details=details, operation=Operation.LIST_OFFSETS, plan=plan)
    topics, failures = _read_topics(admin, described.offsets.values(), deadline)
    groups = {
        group: orphans
        for group, description in sorted(described.descriptions.items())
        if (orphans := orphans_of(description, described.offsets.get(group, _NO_COMMITS), topics, idle))
    }
    unlisted = selected.ids_without_listing()
    unread = suggest_groups(
        admin, described.failures, named=unlisted, operation=Operation.LIST_OFFSETS, deadline=deadline
    )
    return Orphans(
        groups=groups,
        failures=(*unread, *failures),
        notes=described.notes,
        anything_read=bool(described.descriptions) or (not selection.groups and selection.anything_listed),
        start_offsets={
            group: described.offsets[group] for group in groups if has_start_offsets(described.descriptions[group].type)
        },
    )


def orphans_of(
    group: GroupDescription, offsets: GroupOffsets, topics: Topics, idle: IdleRule | None = None
) -> tuple[Orphan, ...]:
    """Return the orphans of a group, by topic and partition: if it is idle all its commits, with that reason.

    A group with a commit that cannot be read is not idle. A group without members has none that could be subscribed,
    so it may read its topics again. The topics of a rebalancing group, and of one with a member whose assignment is
    unreadable, are unknown.
    """
    commits = {key: commit for key, commit in sorted(offsets.rows()) if commit is not None}
    # A broker that calls a group with commits Dead has no members of it.
    may_be_idle = idle is not None and group.state in STATES_WITHOUT_MEMBERS and not offsets.failed
    if may_be_idle and idle is not None and idle.holds(group.group, commits, topics):
        return tuple(_orphan(group.group, key, commit, Reason.IDLE) for key, commit in commits.items())
    subscribed = _subscribed_topics(group)
    orphans = []
    for key, commit in commits.items():
        if exists(key, topics) is False:
            orphans.append(_orphan(group.group, key, commit, Reason.TOPIC_DELETED))
        elif subscribed is not None and key.topic not in subscribed:
            orphans.append(_orphan(group.group, key, commit, Reason.NOT_SUBSCRIBED))
    return tuple(orphans)


def exists(key: TopicPartition, topics: Topics) -> bool | None:
    """Return whether a partition exists; None if it is unknown. A topic that was recreated may have fewer of them."""
    partitions = topics.get(key.topic, ())
    return None if partitions is None else key.partition in partitions


def _subscribed_topics(group: GroupDescription) -> frozenset[str] | None:
    """Return the topics that members of a Stable group read; None if they are not all known.

    A member that is about to get a partition has the topic in its target assignment, and a member of a share group in
    its subscription.
    """
    if group.state != "Stable" or not group.members or has_unknown_assignments(group):
        return None
    assigned = [
        topic
        for member in group.members
        for topic in (*(member.assignment or ()), *(member.target_assignment or ()))
        if topic.partitions
    ]
    subscribed = {topic for member in group.members for topic in member.subscription or ()}
    return frozenset({*subscribed, *(topic.topic for topic in assigned)}) or None


def _read_topics(
    admin: Admin, offsets: Iterable[GroupOffsets], deadline: Deadline | None
) -> tuple[Topics, list[Failure]]:
    names = sorted({topic for group in offsets for topic, commits in group.topics if len(commits)})
    if not names:
        return {}, []
    listed = admin.describe_topics(names, timeout=deadline)
    unknown = {topic: why for topic, why in listed.failed.items() if why.code != UNKNOWN_TOPIC_OR_PARTITION}
    topics: Topics = {
        **{topic: frozenset(found.partitions) for topic, found in listed.succeeded.items()},
        **dict.fromkeys(unknown),
    }
    return topics, [*unknown.values()]


def _orphan(group: str, key: TopicPartition, commit: CommittedOffset, reason: Reason) -> Orphan:
    return Orphan(group, key.topic, key.partition, commit.offset, commit.leader_epoch, commit.metadata, reason)
