"""Plan the reset of committed offsets: the new offset of each partition of each group, and why it is what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, OffsetSpec, TimePlan
from kafka_groups.changes.change import Action, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import (
    CurrentGroup,
    note_unstable,
    read_existing_groups,
    refuse,
    refuse_active,
    refuse_kind,
)
from kafka_groups.changes.current_topics import CurrentTopics, read_topics
from kafka_groups.changes.internal_topics import internal_topics, note_internal, refuse_internal
from kafka_groups.changes.partition_logs import PartitionLogs, read_logs
from kafka_groups.changes.partitions import FoundPartitions, NamedTopics, find_partitions
from kafka_groups.changes.restoration import note_delivery_state, refuse_unrestorable
from kafka_groups.changes.specifications.specification import Position, Refusal, Specification, Target, find_target
from kafka_groups.groups import steps
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selection, Selectors, listing_steps, select_groups
from kafka_groups.groups.suggestions import (
    nearest_groups,
    suggest_groups,
    suggest_topics,
    with_nearest_groups,
)
from kafka_groups.kinds import Operation
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

_NOTHING: Final[Mapping[OffsetSpec, int | None]] = {}
_ABSENT: Final = "there is no such group; --create creates it, by committing offsets for it"


class ResetRequest(NamedTuple):
    """What a caller wants: the specification, and the partitions that it is for.

    Without `topics` the specification decides: the partitions with a commit, or those of a file. `create` allows
    groups that do not exist yet, `force` changes that `undo` may not take back, and `internal_topics` those of offsets
    on internal topics of Streams applications.
    """

    specification: Specification
    topics: NamedTopics | None = None
    create: bool = False
    force: bool = False
    internal_topics: bool = False


class _Reading(NamedTuple):
    """The partitions that the user or a file names, the selected groups, and all groups that were read.

    `scopes` are the partitions of each selected group, None for all with a commit. `groups` also has those whose
    commits are new offsets.
    """

    named: FoundPartitions
    scope: Sequence[TopicPartition] | None
    selection: Selection
    scopes: Mapping[str, Sequence[TopicPartition] | None]
    groups: Results[str, CurrentGroup]


# The steps behind the listing.
_STEPS: Final = (
    steps.GROUPS,
    steps.ABSENT_GROUPS,
    steps.PARTITIONS,
    steps.LOG_ENDS,
    steps.OFFSETS,
    steps.LOG_STARTS,
)


def plan_reset(
    admin: Admin, selectors: Selectors, request: ResetRequest, *, deadline: Deadline | None = None
) -> PlannedGroups:
    """Plan the reset of the selected groups. Nothing is changed on the cluster.

    If a topic or a partition that the caller named does not exist, nothing is planned, because the rest of the request
    may be a mistake, too. Any other failure belongs to one group or partition.
    """
    file = request.specification.file
    if file.is_empty():
        return PlannedGroups(notes=file.notes)
    plan = TimePlan(deadline, (steps.TOPICS, *listing_steps(selectors), *_STEPS))
    topics = file.named_topics() or request.topics
    named = find_partitions(admin, topics or {}, timeout=plan.until(steps.TOPICS))
    if named.absent:
        absent_topics = suggest_topics(admin, named.absent, deadline)
        return PlannedGroups(failures=(*absent_topics, *named.failed), notes=file.notes)
    selection = select_groups(admin, selectors, operation=Operation.ALTER_OFFSETS, plan=plan)
    scope = None if topics is None else named.partitions
    scopes = {group: request.specification.scope(group, scope) for group in selection.groups}
    sources = request.specification.groups()
    all_scopes = {**dict.fromkeys(sources, scope), **scopes}
    groups = read_existing_groups(admin, all_scopes, timeout=plan.until(steps.GROUPS))
    if unread := [groups.failed[group] for group in sources if group in groups.failed]:
        failures = suggest_groups(admin, unread, named=sources, operation=Operation.ALTER_OFFSETS, deadline=deadline)
        return PlannedGroups(failures=(*selection.failures, *failures))
    return _plan_groups(admin, request, _Reading(named, scope, selection, scopes, groups), plan)


def _plan_groups(admin: Admin, request: ResetRequest, reading: _Reading, plan: TimePlan) -> PlannedGroups:
    """Read the topics and the logs of the groups that can be reset, and plan their rows."""
    selection = reading.selection
    specification = request.specification.with_groups(reading.groups.succeeded)
    to_reset = _find_groups(admin, request, reading, plan.until(steps.ABSENT_GROUPS))
    refused = {
        group: why
        for group, found in to_reset.succeeded.items()
        if (why := refuse_kind(found, Operation.ALTER_OFFSETS) or refuse_active(found)) is not None
    }
    groups = {group: found for group, found in sorted(to_reset.succeeded.items()) if group not in refused}
    partitions, internal = _find_rows(request, specification, groups, reading.scopes)
    described = reading.named.topics
    unknown = {key.topic for keys in partitions.values() for key in keys} - described.described.keys()
    topics = described.merge(read_topics(admin, unknown, timeout=plan.until(steps.PARTITIONS)))
    logs = read_logs(admin, specification, partitions.values(), plan)
    planned = {
        group: tuple(
            _plan_partition(specification, groups[group], key, topics, logs, force=request.force)
            if key.topic not in internal.refused[group]
            else _refuse_internal(groups[group], key, topics)
            for key in keys
        )
        for group, keys in partitions.items()
    }
    failures, notes = selection.without_deleted(to_reset.failed)
    without_rows = [group for group, rows in planned.items() if not rows]
    notes += [Note(NoteKind.NO_OFFSETS, group, _describe_no_offsets(groups[group])) for group in without_rows]
    return PlannedGroups(
        rows={group: rows for group, rows in planned.items() if rows},
        failures=(
            *selection.failures,
            *failures,
            *reading.named.failed,
            *refused.values(),
            *specification.failures(reading.scope),
        ),
        notes=(
            *specification.file.notes,
            *selection.notes(),
            *notes,
            *note_unstable(reading.groups.succeeded.values()),
            *note_internal(internal.noted, changed=request.internal_topics),
            *note_delivery_state(row.change for rows in planned.values() for row in rows if row.refusal is None),
            *specification.notes(reading.scope, partitions, topics),
        ),
        existing=frozenset(group for group, rows in planned.items() if rows and not request.create),
    )


def _find_groups(
    admin: Admin, request: ResetRequest, reading: _Reading, deadline: Deadline | None
) -> Results[str, CurrentGroup]:
    """Return the groups to reset: the selected ones that exist, and with `create` those that can be created."""
    found = {group: current for group, current in reading.groups.succeeded.items() if group in reading.scopes}
    failed = {group: why for group, why in reading.groups.failed.items() if group in reading.scopes}
    absent = _absent_groups(admin, failed, deadline)
    if request.create:
        types = {group: request.specification.group_type(group) for group in absent}
        new = {group: CurrentGroup(group, group_type=group_type) for group, group_type in types.items()}
        return Results({**found, **new}, {group: why for group, why in failed.items() if group not in new})
    return Results(found, {**failed, **absent})


def _absent_groups(admin: Admin, failed: Mapping[str, Failure], deadline: Deadline | None) -> Mapping[str, Failure]:
    """Return the failures of groups that can be created, with the option for it and the nearest id.

    A group that a broker lists exists: it is a share or a streams group.
    """
    absent = [group for group, why in failed.items() if why.code == GROUP_ID_NOT_FOUND]
    listed = admin.list_groups(timeout=deadline) if absent else Results()
    if listed.failed:
        return {}
    unlisted = [failed[group]._replace(message=_ABSENT) for group in absent if group not in listed.succeeded]
    near = nearest_groups(absent, listed.succeeded, Operation.ALTER_OFFSETS)
    return {why.group: why for why in with_nearest_groups(unlisted, near) if why.group is not None}


def _describe_no_offsets(current: CurrentGroup) -> str:
    kind = "start" if current.has_start_offsets else "committed"
    return f"Group '{current.group}' has no {kind} offsets in scope."


class _InternalTopics(NamedTuple):
    """The internal topics of each group: those whose rows are refused, and those that a note names."""

    refused: Mapping[str, frozenset[str]]
    noted: Mapping[str, frozenset[str]]


def _find_rows(
    request: ResetRequest,
    specification: Specification,
    groups: Mapping[str, CurrentGroup],
    scopes: Mapping[str, Sequence[TopicPartition] | None],
) -> tuple[Mapping[str, Sequence[TopicPartition]], _InternalTopics]:
    """Return the partitions of each group that have a row, and the internal topics.

    Unless the request allows them, rows on internal topics that the user names are refused, and others are skipped.
    """
    rows = {group: specification.partitions(current, scopes[group]) for group, current in groups.items()}
    internal = {group: internal_topics(groups[group], {key.topic for key in keys}) for group, keys in rows.items()}
    if request.internal_topics:
        return rows, _InternalTopics(dict.fromkeys(groups, frozenset()), internal)
    skipped = {group: topics for group, topics in internal.items() if scopes[group] is None}
    kept = {group: [key for key in keys if key.topic not in skipped.get(group, ())] for group, keys in rows.items()}
    return kept, _InternalTopics(internal, skipped)


def _refuse_internal(current: CurrentGroup, key: TopicPartition, topics: CurrentTopics) -> PlannedChange:
    """Return the refused change of an offset on an internal topic."""
    change = to_change(Action.COMMIT, current.group, key, current.offsets.get(key), topic_id=topics.topic_id(key.topic))
    failure = refuse_internal(current.group, key)
    return PlannedChange(change, failure.message, failure)


def _plan_partition(
    specification: Specification,
    current: CurrentGroup,
    key: TopicPartition,
    topics: CurrentTopics,
    logs: PartitionLogs,
    *,
    force: bool,
) -> PlannedChange:
    commit = current.offsets.get(key)
    topic_id = topics.topic_id(key.topic)
    to_planned = partial(
        to_change, Action.COMMIT, current.group, key, commit, topic_id=topic_id, group_type=current.group_type
    )
    unchanged = to_planned()
    failure = current.unreadable.get(key) or logs.failed.get(key) or specification.refuse(current, key, topics)
    if failure is not None:
        return PlannedChange(unchanged, failure.message, failure._replace(group=current.group))
    target = _find_target(specification, current, key, logs)
    if isinstance(target, Refusal):
        return PlannedChange(unchanged, target.message, refuse(current.group, target.message, key))
    new = target.commit or _new_commit(commit, target.offset)
    change = to_planned(new)
    refusal = None if force or commit == new else refuse_unrestorable(change)
    return PlannedChange(change, target.note if refusal is None else refusal.message, refusal)


def _find_target(
    specification: Specification, current: CurrentGroup, key: TopicPartition, logs: PartitionLogs
) -> Target | Refusal:
    """Return the new offset of a partition."""
    start = logs.starts.get(key)
    end = logs.ends.get(key)
    if start is None or end is None:
        return Refusal("its log offsets are unknown")
    found = {spec: offsets.get(key) for spec, offsets in logs.found.items()} if logs.found else _NOTHING
    position = Position(current.group, key, current.offsets.get(key), start, end, found, current.has_start_offsets)
    return find_target(specification, position)


def _new_commit(commit: CommittedOffset | None, offset: int) -> CommittedOffset:
    """Return the commit of a new offset. One of the same offset stays as it is, with its metadata."""
    if commit is not None and commit.offset == offset:
        return commit
    # As with Kafka's tool, a reset commits no leader epoch, and empty metadata.
    return CommittedOffset(offset, None, "")
