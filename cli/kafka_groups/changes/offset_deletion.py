"""Plan the deletion of committed offsets, and of the start offsets of share groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, TimePlan
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import (
    CurrentGroup,
    note_unstable,
    read_all_start_offsets,
    read_existing_groups,
    refuse,
    refuse_active,
    refuse_kind,
)
from kafka_groups.changes.current_topics import CurrentTopics, note_unknown_ids
from kafka_groups.changes.deletion import DeletionRequest
from kafka_groups.changes.internal_topics import internal_topics, note_internal, refuse_internal
from kafka_groups.changes.partitions import FoundPartitions, find_partitions
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.changes.restoration import note_delivery_state, refuse_unrestorable
from kafka_groups.changes.start_offsets import other_start_offsets, refuse_other_offsets, refuse_part_of_topic
from kafka_groups.changes.validity import describe_difference
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import has_unreadable_assignments
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors, listing_steps, select_groups
from kafka_groups.groups.suggestions import suggest_groups, suggest_topics
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol.errors import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    broker_error,
)

_UNKNOWN_TOPICS: Final = "the partitions of a member are unknown, so it may read the topic; stop its consumers first"
_ABSENT: Final = "the partition does not exist; brokers may refuse to delete its commit"


def plan_offset_deletion(
    admin: Admin, selectors: Selectors, request: DeletionRequest, *, deadline: Deadline | None = None
) -> PlannedGroups:
    """Plan the deletion of the commits, or start offsets, of groups on partitions. A member's topics are refused.

    A share group with members is refused, and so is a part of its partitions of a topic.
    If a topic or a partition that the caller named does not exist, nothing is planned. Those of a file are planned
    all the same: it may be a plan of `orphans`, and the broker decides on each of them.
    """
    if request.file.is_empty():
        return PlannedGroups(notes=request.file.notes)
    plan = TimePlan(deadline, (steps.TOPICS, *listing_steps(selectors), steps.GROUPS, steps.COMMITS))
    topics = request.file.named_topics() or request.topics or {}
    named = find_partitions(admin, topics, timeout=plan.until(steps.TOPICS))
    if named.absent and request.file.name is None:
        absent_topics = suggest_topics(admin, named.absent, deadline)
        return PlannedGroups(failures=(*absent_topics, *named.failed), notes=request.file.notes)
    absent = _absent_partitions(request.file, named)
    partitions = sorted((*named.partitions, *absent))
    selection = select_groups(admin, selectors, operation=Operation.DELETE_OFFSETS, plan=plan)
    scopes = {group: _scope(request, group, partitions) for group in selection.groups}
    read = read_existing_groups(admin, scopes, timeout=plan.until(steps.GROUPS))
    read = read_all_start_offsets(admin, read, timeout=plan.until(steps.COMMITS))
    refused = {group: why for group, current in read.succeeded.items() if (why := _refuse_group(current)) is not None}
    groups = {group: current for group, current in sorted(read.succeeded.items()) if group not in refused}
    failures, notes = selection.without_deleted(read.failed)
    # The groups of a file are those of a plan; if one is absent, it was deleted since.
    typed = selectors.ids_without_listing() if request.file.name is None else ()
    failures = [*suggest_groups(admin, failures, named=typed, operation=Operation.DELETE_OFFSETS, deadline=deadline)]
    targets = _Targets(named.topics, frozenset(absent))
    rows = {
        group: tuple(_delete_offsets(current, request, _with_removed(current, request, scopes[group]), targets))
        for group, current in groups.items()
    }
    notes += _note_rows(groups, rows)
    return PlannedGroups(
        rows={group: planned for group, planned in rows.items() if planned},
        failures=(*selection.failures, *named.failed, *failures, *refused.values()),
        notes=(
            *request.file.notes,
            *selection.notes(),
            *notes,
            *note_unstable(read.succeeded.values()),
            *note_unknown_ids(request.file.rows, named.topics),
        ),
    )


def _note_rows(groups: Mapping[str, CurrentGroup], rows: Mapping[str, Sequence[PlannedChange]]) -> list[Note]:
    """Return the notes on planned rows: groups without any, internal topics, and delivery states that are lost."""
    changed = {group: [row.change for row in planned if row.refusal is None] for group, planned in rows.items()}
    internal = {
        group: internal_topics(groups[group], {each.topic for each in changes if each.topic})
        for group, changes in changed.items()
    }
    without_rows = [group for group, planned in rows.items() if not planned]
    return [
        *(
            Note(
                NoteKind.NO_OFFSETS, group, f"Group '{group}' has no {groups[group].offset_noun}s on the named topics."
            )
            for group in without_rows
        ),
        *note_internal(internal, changed=True),
        *note_delivery_state(change for changes in changed.values() for change in changes),
    ]


def _absent_partitions(file: PlanRows, named: FoundPartitions) -> list[TopicPartition]:
    """Return the partitions of a file that do not exist."""
    missing = {(why.topic, why.partition) for why in named.absent}
    return [
        TopicPartition(topic, partition)
        for topic, partitions in file.named_topics().items()
        for partition in partitions
        if missing & {(topic, None), (topic, partition)}
    ]


def _refuse_group(current: CurrentGroup) -> Failure | None:
    """Return why no offset of a group is deleted: its kind has none, or it is a share group with members."""
    if (other_kind := refuse_kind(current, Operation.DELETE_OFFSETS)) is not None:
        return other_kind
    return refuse_active(current) if current.has_start_offsets else None


class _Targets(NamedTuple):
    topics: CurrentTopics
    absent: Collection[TopicPartition]


def _scope(request: DeletionRequest, group: str, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions of a group that the request is for."""
    rows = request.file.by_partition(group)
    return [key for key in partitions if not rows or key in rows]


def _with_removed(
    current: CurrentGroup, request: DeletionRequest, partitions: Sequence[TopicPartition]
) -> Sequence[TopicPartition]:
    """Return the partitions, with those that a recreated topic lacks now: start offsets are deleted by topic."""
    if not current.has_start_offsets or not partitions:
        return partitions
    existing = {key.topic for key in partitions}
    whole = {topic for topic, named in (request.topics or {}).items() if not named and topic in existing}
    return sorted({*partitions, *(key for key in current.offsets if key.topic in whole)})


def _delete_offsets(
    current: CurrentGroup, request: DeletionRequest, partitions: Sequence[TopicPartition], targets: _Targets
) -> Iterable[PlannedChange]:
    rows = request.file.by_partition(current.group)
    explicit = {topic for topic, named in (request.topics or {}).items() if named}
    checks = _checks(current, request, partitions)
    for key in partitions:
        commit = current.offsets.get(key)
        is_wanted = bool(rows) or key in current.unreadable
        if commit is None and not is_wanted and not _is_listed(current, key, explicit):
            continue
        change = to_change(
            Action.DELETE_OFFSETS,
            current.group,
            key,
            commit,
            topic_id=targets.topics.topic_id(key.topic),
            group_type=current.group_type,
        )
        refusal = _refuse_offset_deletion(current, request, change, checks, targets.topics)
        if refusal is not None:
            yield PlannedChange(change, refusal.message, refusal)
        else:
            note = f"no {current.offset_noun}" if commit is None else _ABSENT if key in targets.absent else ""
            yield PlannedChange(change, note)


def _is_listed(current: CurrentGroup, key: TopicPartition, explicit: Collection[str]) -> bool:
    """Return whether a partition without an offset has a row: one that the user named, or that a share group reads."""
    return key in current.offsets if current.has_start_offsets else key.topic in explicit


class _Checks(NamedTuple):
    """What forbids deletions of a group: topics that members read, internal topics, and other start offsets."""

    assigned: Collection[str]
    internal: Collection[str]
    others: Mapping[str, TopicPartition]

    def refuse(self, current: CurrentGroup, key: TopicPartition) -> Failure | None:
        """Return the failure of a deletion that is never made; None if nothing forbids it."""
        if key.topic in self.internal:
            return refuse_internal(current.group, key)
        if key.topic in self.others:
            return refuse_part_of_topic(current.group, key, self.others[key.topic])
        return _refuse_for_the_broker(current, key, self.assigned)


def _checks(current: CurrentGroup, request: DeletionRequest, partitions: Sequence[TopicPartition]) -> _Checks:
    members = current.description.members if current.description is not None else ()
    topics = () if request.internal_topics else {key.topic for key in partitions}
    return _Checks(
        assigned={assignment.topic for member in members for assignment in member.assignment or ()},
        internal=internal_topics(current, topics),
        others=other_start_offsets(current, partitions) if current.has_start_offsets else {},
    )


def _refuse_offset_deletion(
    current: CurrentGroup,
    request: DeletionRequest,
    change: Change,
    checks: _Checks,
    topics: CurrentTopics,
) -> Failure | None:
    key = change.key
    assert key is not None
    row = request.file.by_partition(current.group).get(key)
    certain = checks.refuse(current, key)
    if certain is None and row is not None:
        certain = refuse_other_offsets(current, row) or topics.refuse(row)
    if certain is not None or request.force:
        return certain
    if row is not None and row.before != change.before:
        return refuse(current.group, describe_difference(row.before, change.before, noun=row.noun), key)
    return refuse_unrestorable(change)


def _refuse_for_the_broker(current: CurrentGroup, key: TopicPartition, assigned: Collection[str]) -> Failure | None:
    """Return the failure of a deletion that the broker would refuse, or that concerns a commit nobody can read."""
    if key in current.unreadable:
        return current.unreadable[key]
    if current.group == "":
        return refuse("", "brokers delete no single commits of the empty group id; delete the group", key)
    if key.topic in assigned:
        error = broker_error(GROUP_SUBSCRIBED_TO_TOPIC, "members of the group read the topic")
        return Failure.of(error, group=current.group, topic=key.topic, partition=key.partition)
    if current.description is not None and has_unreadable_assignments(current.description):
        return refuse(current.group, _UNKNOWN_TOPICS, key)
    return None
