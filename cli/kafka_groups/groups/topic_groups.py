"""The groups of topics: those that have commits on them, or members that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_groups.admin.api import Admin, Deadline, TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import has_unknown_assignments
from kafka_groups.groups.descriptions import describe_groups, description_steps
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors, listing_steps, select_groups
from kafka_groups.groups.suggestions import suggest_groups, suggest_topics
from kafka_groups.groups.topic_scope import TopicScope, read_topic_scope
from kafka_groups.kinds import REBALANCING_STATES, Operation, has_start_offsets
from kafka_groups.model import Failure, GroupDescription, GroupOffsets


class TopicGroup(NamedTuple):
    """A group that reads a topic: its members that read it, and the partitions with a commit or a start offset.

    `members` is None if it is unknown, so that the group may read the topic: a member's assignment is unreadable, the
    group is rebalancing, or it could not be described. `committed_partitions` is None if a start offset is unknown.
    """

    group: str
    type: str | None
    state: str | None
    protocol_type: str | None
    members: int | None
    committed_partitions: int | None


class TopicGroups(NamedTuple):
    """The groups of topics, by id. `anything_read` says whether a group was read, or none is there to read."""

    groups: tuple[TopicGroup, ...]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]
    anything_read: bool


def list_topic_groups(
    admin: Admin, selectors: Selectors, topics: Mapping[str, Sequence[int]], *, deadline: Deadline | None = None
) -> TopicGroups:
    """List the selected groups, all if none is selected, that have commits on topics or members that read them.

    `topics` maps topics to partitions, none for all of the topic. A topic or a partition that does not exist is a
    failure; groups with commits on it are listed all the same. A group that cannot be described is listed if it has a
    commit on a topic, and it is a failure.
    """
    selected = selectors._replace(all_groups=True) if selectors.is_empty() else selectors
    details = Details(offsets=True, log_offsets=False, undescribed=True)
    plan = TimePlan(deadline, (steps.TOPICS, *listing_steps(selected), *description_steps(details)))
    read = read_topic_scope(admin, topics, deadline=plan.until(steps.TOPICS))
    selection = select_groups(admin, selected, operation=Operation.LIST_OFFSETS, plan=plan)
    described = describe_groups(admin, selection, details=details, operation=Operation.LIST_OFFSETS, plan=plan)
    counts = [
        (description, _count(description, described.offsets.get(group, GroupOffsets()), read.scope))
        for group, description in described.descriptions.items()
    ]
    groups = tuple(count for description, count in counts if _may_read(description, count))
    is_any_described = any(description.is_described for description, _ in counts)
    rebalancing = [group.group for group in groups if group.members is None and group.state in REBALANCING_STATES]
    unknown = suggest_topics(admin, read.failures, deadline)
    unlisted = selected.ids_without_listing()
    failures = suggest_groups(
        admin, described.failures, named=unlisted, operation=Operation.LIST_OFFSETS, deadline=deadline
    )
    return TopicGroups(
        groups=groups,
        failures=(*unknown, *failures),
        notes=(*described.notes, *map(_note_rebalancing, rebalancing)),
        anything_read=bool(groups) or (is_any_described and read.is_complete),
    )


def _count(group: GroupDescription, offsets: GroupOffsets, scope: TopicScope) -> TopicGroup:
    commits = [commit for key, commit in offsets.rows() if scope.has(*key)]
    committed = sum(commit is not None for commit in commits)
    is_unknown = has_start_offsets(group.type) and committed < len(commits)
    members = sum(map(scope.is_read_by, group.members))
    known = None if has_unknown_assignments(group) else members
    return TopicGroup(
        group.group, group.type, group.state, group.protocol_type, known, None if is_unknown else committed
    )


def _may_read(description: GroupDescription, count: TopicGroup) -> bool:
    """Return whether a group is listed. The failure of a description alone says nothing about a topic."""
    return count.committed_partitions != 0 or (description.is_described and count.members != 0)


def _note_rebalancing(group: str) -> Note:
    text = f"Group '{group}' is rebalancing: whether its members read the topic is unknown until that has ended."
    return Note(NoteKind.REBALANCING, group, text)
