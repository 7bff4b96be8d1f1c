"""Plan the reset of committed offsets: the new offset of each partition of each group, and why it is what it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, OffsetSpec
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import CurrentGroup, note_unstable, read_existing_groups, refuse, refuse_active
from kafka_groups.changes.current_topics import (
    CurrentTopics,
    note_uncommitted,
    note_unknown_ids,
    read_topics,
)
from kafka_groups.changes.partitions import NamedTopics, find_partitions
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows
from kafka_groups.changes.restoration import refuse_unrestorable
from kafka_groups.changes.specifications.specification import (
    FromRows,
    Position,
    Refusal,
    Specification,
    Target,
    ToGroup,
    ToTime,
    find_target,
)
from kafka_groups.changes.validity import describe_difference
from kafka_groups.groups.describe import without_deleted
from kafka_groups.groups.kinds import Operation
from kafka_groups.groups.selection import NOT_LAST, Selectors, select_groups
from kafka_groups.groups.suggestions import (
    nearest_groups,
    suggest_groups,
    suggest_topics,
    with_nearest_groups,
)
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

_ABSENT: Final = "there is no such group; --create creates it, by committing offsets for it"


class ResetRequest(NamedTuple):
    """What a caller wants: the specification, and the partitions that it is for.

    Without `topics` it is for the partitions with a commit: those of the other group for ToGroup. The rows of `file`
    are for FromRows; those of a plan are refused if the commit has changed since, unless `force`. `create` allows
    groups that do not exist yet.
    """

    specification: Specification
    topics: NamedTopics | None = None
    file: PlanRows = NO_FILE
    create: bool = False
    force: bool = False

    def is_for_commits(self) -> bool:
        """Return whether the partitions are those on which each group has a commit (`--all-topics`)."""
        return self.topics is None and not isinstance(self.specification, FromRows | ToGroup)


class _Logs(NamedTuple):
    starts: Mapping[TopicPartition, int | None]
    ends: Mapping[TopicPartition, int | None]
    found: Mapping[TopicPartition, int | None]
    failed: Mapping[TopicPartition, Failure]
    topics: CurrentTopics


def plan_reset(
    admin: Admin, selectors: Selectors, request: ResetRequest, *, deadline: Deadline | None = None
) -> PlannedGroups:
    """Plan the reset of the selected groups. Nothing is changed on the cluster.

    If a topic or a partition that the caller named does not exist, nothing is planned, because the rest of the request
    may be a mistake, too. Any other failure belongs to one group or partition.
    """
    if request.file.is_empty():
        return PlannedGroups(notes=request.file.notes)
    share = deadline and deadline.share(NOT_LAST)
    named = find_partitions(admin, request.file.named_topics() or request.topics or {}, timeout=share)
    if named.absent:
        absent_topics = suggest_topics(admin, named.absent, deadline)
        return PlannedGroups(failures=(*absent_topics, *named.failed), notes=request.file.notes)
    selection = select_groups(admin, selectors, operation=Operation.LIST_OFFSETS, deadline=share)
    source = request.specification.group if isinstance(request.specification, ToGroup) else None
    scope = list(named.partitions) if request.topics is not None else None
    scopes = {group: _named_scope(request, group, named.partitions) for group in selection.groups}
    current = read_existing_groups(admin, scopes if source is None else {source: scope, **scopes}, timeout=share)
    if source is not None and source in current.failed:
        unread = suggest_groups(
            admin, [current.failed[source]], named=(source,), operation=Operation.LIST_OFFSETS, deadline=deadline
        )
        return PlannedGroups(failures=(*selection.failures, *unread))
    failed = {group: why for group, why in current.failed.items() if group in selection.groups}
    groups = {group: found for group, found in current.succeeded.items() if group in selection.groups}
    absent = _absent_groups(admin, failed, share)
    if request.create:
        groups |= {group: CurrentGroup(group) for group in absent}
    failed |= absent
    failures, notes = without_deleted(selection, {g: why for g, why in failed.items() if g not in groups})
    active = {group: why for group, found in groups.items() if (why := refuse_active(found)) is not None}
    other = current.succeeded[source].offsets if source is not None else None
    partitions = {
        group: _partitions(request, groups[group], named.partitions, other)
        for group in sorted(groups)
        if group not in active
    }
    if source is not None:
        # Its commit is not known to be missing.
        hidden = current.succeeded[source].unreadable
        partitions = {group: [key for key in keys if key not in hidden] for group, keys in partitions.items()}
    unknown = {key.topic for keys in partitions.values() for key in keys} - named.topics.described.keys()
    topics = named.topics.merge(read_topics(admin, unknown, timeout=share))
    logs = _read_logs(admin, request, partitions.values(), other, topics, deadline)
    rows = {group: _plan_group(request, groups[group], keys, logs) for group, keys in partitions.items()}
    failures += [*named.failed, *active.values()]
    if source is not None:
        failures += _unreadable(request, current.succeeded[source], named.partitions)
    notes += [f"Group '{group}' has no committed offsets in scope." for group, planned in rows.items() if not planned]
    return PlannedGroups(
        rows={group: planned for group, planned in rows.items() if planned},
        failures=(*selection.failures, *failures),
        notes=(
            *request.file.notes,
            *selection.notes(),
            *notes,
            *note_unstable(current.succeeded.values()),
            *(note_uncommitted(partitions, topics) if request.is_for_commits() else ()),
            *(note_unknown_ids(request.file.rows, topics) if request.file.cluster_id is not None else ()),
        ),
    )


def _named_scope(request: ResetRequest, group: str, named: Sequence[TopicPartition]) -> Sequence[TopicPartition] | None:
    """Return the partitions of a group that the caller named; None for all on which it has a commit."""
    if isinstance(request.specification, FromRows):
        rows = request.file.by_partition(group)
        return [key for key in named if key in rows]
    if request.topics is not None:
        return named
    # The partitions are those of another group, which are not known yet.
    return None


def _absent_groups(admin: Admin, failed: Mapping[str, Failure], deadline: Deadline | None) -> Mapping[str, Failure]:
    """Return the failures of groups that can be created, with the option for it and the nearest id.

    A group that a broker lists exists: it is a share or a streams group.
    """
    absent = [group for group, why in failed.items() if why.code == GROUP_ID_NOT_FOUND]
    listed = admin.list_groups(timeout=deadline) if absent else Results()
    if listed.failed:
        return {}
    unlisted = [failed[group]._replace(message=_ABSENT) for group in absent if group not in listed.succeeded]
    near = nearest_groups(absent, listed.succeeded, Operation.LIST_OFFSETS)
    return {why.group: why for why in with_nearest_groups(unlisted, near) if why.group is not None}


def _partitions(
    request: ResetRequest,
    current: CurrentGroup,
    named: Sequence[TopicPartition],
    other: Mapping[TopicPartition, CommittedOffset | None] | None,
) -> list[TopicPartition]:
    """Return the partitions of a group that the request is for."""
    scope = _named_scope(request, current.group, named)
    if scope is not None:
        return list(scope)
    commits = current.offsets if other is None else other
    return sorted({key for key, commit in commits.items() if commit is not None} | current.unreadable.keys())


def _read_logs(
    admin: Admin,
    request: ResetRequest,
    partitions: Iterable[Sequence[TopicPartition]],
    other: Mapping[TopicPartition, CommittedOffset | None] | None,
    topics: CurrentTopics,
    deadline: Deadline | None,
) -> _Logs:
    """Read both ends of the logs, and the first records since a time, for all groups together."""
    keys = list(dict.fromkeys(key for each in partitions for key in each))
    share = deadline and deadline.share(NOT_LAST)
    ends: Results[TopicPartition, int | None] = admin.list_offsets(keys, timeout=share) if keys else Results()
    known = list(ends.succeeded)
    times: Results[TopicPartition, int | None] = Results()
    if known and isinstance(request.specification, ToTime):
        spec = OffsetSpec.for_timestamp(request.specification.time_ms)
        times = admin.list_offsets(known, spec=spec, timeout=share)
    starts: Results[TopicPartition, int | None] = (
        admin.list_offsets(known, spec=OffsetSpec.earliest(), timeout=deadline) if known else Results()
    )
    found = {key: commit.offset if commit else None for key, commit in (other or {}).items()}
    return _Logs(
        starts=starts.succeeded,
        ends=ends.succeeded,
        found={**found, **times.succeeded},
        failed={**ends.failed, **times.failed, **starts.failed},
        topics=topics,
    )


def _plan_group(
    request: ResetRequest, current: CurrentGroup, partitions: Iterable[TopicPartition], logs: _Logs
) -> tuple[PlannedChange, ...]:
    rows = request.file.by_partition(current.group)
    return tuple(_plan_partition(request, current, key, rows.get(key), logs) for key in partitions)


def _plan_partition(
    request: ResetRequest, current: CurrentGroup, key: TopicPartition, row: Change | None, logs: _Logs
) -> PlannedChange:
    commit = current.offsets.get(key)
    unchanged = to_change(Action.COMMIT, current.group, key, commit, topic_id=logs.topics.topic_id(key.topic))
    failure = current.unreadable.get(key) or logs.failed.get(key)
    if failure is not None:
        return PlannedChange(unchanged, failure.message, failure._replace(group=current.group))
    is_plan = request.file.cluster_id is not None
    if row is not None and (recreated := logs.topics.refuse(row)) is not None:
        return PlannedChange(unchanged, recreated.message, recreated)
    target = _find_target(request, key, commit, row, logs)
    if isinstance(target, Refusal):
        return PlannedChange(unchanged, target.message, refuse(current.group, target.message, key))
    new = _new_commit(commit, target.offset, row if is_plan else None)
    change = to_change(Action.COMMIT, current.group, key, commit, new, topic_id=unchanged.topic_id)
    refusal = None if request.force or commit == new else refuse_unrestorable(change)
    return PlannedChange(change, target.note if refusal is None else refusal.message, refusal)


def _find_target(
    request: ResetRequest,
    key: TopicPartition,
    commit: CommittedOffset | None,
    row: Change | None,
    logs: _Logs,
) -> Target | Refusal:
    """Return the new offset of a partition; `row` is that of a file."""
    if row is not None and request.file.cluster_id is not None and not request.force and row.before != commit:
        return Refusal(describe_difference(row.before, commit))
    start, end = logs.starts.get(key), logs.ends.get(key)
    if start is None or end is None:
        return Refusal("its log offsets are unknown")
    found = row.new_offset if row is not None else logs.found.get(key)
    return find_target(request.specification, Position(commit, start, end, found))


def _new_commit(commit: CommittedOffset | None, offset: int, row: Change | None) -> CommittedOffset:
    """Return the commit of a new offset; `row` is that of a plan, which has the new metadata, too."""
    if commit is not None and commit.offset == offset and row is None:
        # The commit stays as it is, with its metadata.
        return commit
    if row is None or row.new_offset != offset:
        # As with Kafka's tool, a reset commits no leader epoch, and empty metadata.
        return CommittedOffset(offset, None, "")
    return CommittedOffset(offset, row.new_leader_epoch, row.new_metadata or "")


def _unreadable(request: ResetRequest, source: CurrentGroup, named: Iterable[TopicPartition]) -> Iterable[Failure]:
    """Return the failures of the source's partitions that the request is for; the others do no harm."""
    scope = list(source.unreadable if request.topics is None else named)
    return [source.unreadable[key] for key in scope if key in source.unreadable]
