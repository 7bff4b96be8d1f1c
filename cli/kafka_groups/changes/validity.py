"""The second check of planned changes: the last reading of the groups before they are changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, TimePlan
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import (
    CurrentGroup,
    read_groups,
    refuse,
    refuse_active,
    with_existing_groups,
)
from kafka_groups.changes.current_topics import CurrentTopics, read_topics
from kafka_groups.changes.start_offsets import deletes_topic, refuse_other_offsets, refuse_topics
from kafka_groups.groups import steps
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, UNSTABLE_OFFSET_COMMIT

_DELETED: Final = "the group was deleted since the plan, and a commit would create it; run the command again"


def check_again(
    admin: Admin, planned: PlannedGroups, *, force: bool, deadline: Deadline | None = None
) -> PlannedGroups:
    """Return the plan after reading its groups again in one round, with what is no longer valid refused.

    A change is invalid if its group has members now, if its commit cannot be read or is pending in an open transaction,
    if its topic was recreated, if it would create a group that existed before, or if the commit is no longer the one
    before the change. `force` allows the latter: the change gets the commit that is there now, so that it can be
    undone. Members that are to be removed are not checked.
    The changes after the check need a share of the deadline.
    """
    changes = [change for change in planned.changes() if change.action is not Action.REMOVE_MEMBER]
    if not changes:
        return planned
    timeout = TimePlan(deadline, (steps.CHECK, steps.CHANGES)).until(steps.CHECK)
    scopes = _scopes(changes)
    # The plan decided which types of groups are deleted.
    is_deletion = any(change.action is Action.DELETE_GROUP for change in changes)
    read = read_groups(admin, scopes, any_type=is_deletion, timeout=timeout)
    existing = {group: scope for group, scope in scopes.items() if group in planned.existing}
    read = with_existing_groups(admin, read, existing, timeout=timeout)
    # A forced deletion of a group has the commits that are there now.
    read_keys = (key for current in read.succeeded.values() for key in current.offsets)
    names = {*(change.topic for change in changes), *(key.topic for key in read_keys)}
    checked = _Reading(read, read_topics(admin, names, timeout=timeout), planned.existing)
    groups = {change.group for change in changes}
    rows = {
        group: tuple(_check_rows(each, checked, force=force)) if group in groups else each
        for group, each in planned.rows.items()
    }
    return planned._replace(rows=rows)


class _Reading(NamedTuple):
    groups: Results[str, CurrentGroup]
    topics: CurrentTopics
    # The groups that existed when they were planned.
    existing: frozenset[str]


def _scopes(changes: Iterable[Change]) -> dict[str, list[TopicPartition] | None]:
    """Return the partitions to read of each group: all of one that is deleted, or loses start offsets of topics."""
    scopes: dict[str, list[TopicPartition] | None] = {}
    for change in changes:
        needs_all = change.action is Action.DELETE_GROUP or deletes_topic(change)
        scope = scopes.setdefault(change.group, None if needs_all else [])
        if scope is not None and change.key is not None:
            scope.append(change.key)
    return scopes


def _check_rows(rows: Sequence[PlannedChange], checked: _Reading, *, force: bool) -> Iterator[PlannedChange]:
    changes = [row.change for row in rows if row.refusal is None]
    group = changes[0].group
    failure = checked.groups.failed.get(group)
    current = checked.groups.succeeded.get(group) or CurrentGroup(group)
    is_deletion = changes[0].action is Action.DELETE_GROUP
    invalid = _find_invalid(current, changes, checked, force=force)
    if force and is_deletion and not invalid and group in checked.groups.succeeded:
        note = rows[0].note
        for change in deletions_of(current):
            yield PlannedChange(change._replace(topic_id=checked.topics.topic_id(change.topic or "")), note)
        return
    rebases = force and (failure is None or not is_deletion)
    for row in rows:
        refusal = row.refusal or (invalid.get(row.change) if invalid else None)
        if rebases and not refusal:
            yield row._replace(change=_rebase(row.change, current))
        else:
            yield row._replace(refusal=refusal) if refusal else row


def _find_invalid(
    current: CurrentGroup, changes: Sequence[Change], checked: _Reading, *, force: bool
) -> dict[Change, Failure]:
    """Return the changes of a group that are no longer valid, and why."""
    failure = checked.groups.failed.get(current.group)
    recreated = _recreated(changes, checked.topics)
    if failure is not None and failure.code != GROUP_ID_NOT_FOUND:
        return {**recreated, **dict.fromkeys(changes, failure)}
    if failure is not None and changes[0].action is Action.DELETE_GROUP:
        # A group that is absent, or has no commits such as a share group, is left to the broker.
        return recreated
    invalid = dict(_check_group(current, changes, force=force))
    if failure is not None and current.group in checked.existing:
        creations = [change for change in changes if change.sets_offset]
        invalid = {**{change: refuse(current.group, _DELETED, change.key) for change in creations}, **invalid}
    return {**recreated, **invalid}


def _recreated(changes: Sequence[Change], topics: CurrentTopics) -> dict[Change, Failure]:
    """Return the changes whose topics were deleted or recreated; a group is deleted as a whole, or not at all."""
    refused = {change: why for change in changes if (why := topics.refuse(change)) is not None}
    if refused and changes[0].action is Action.DELETE_GROUP:
        return dict.fromkeys(changes, next(iter(refused.values())))
    return refused


def deletions_of(current: CurrentGroup) -> list[Change]:
    """Return the changes that delete a group: one for each commit, or a single one without a partition."""
    commits = sorted((key, commit) for key, commit in current.offsets.items() if commit is not None)
    group_type = current.group_type
    changes = [
        to_change(Action.DELETE_GROUP, current.group, key, commit, group_type=group_type) for key, commit in commits
    ]
    start_type = group_type if current.has_start_offsets else None
    return changes or [Change(Action.DELETE_GROUP, current.group, group_type=start_type)]


def _rebase(change: Change, current: CurrentGroup) -> Change:
    """Return the change with the commit that is there now."""
    if change.key is None or change.action is Action.REMOVE_MEMBER:
        return change
    commit = current.offsets.get(change.key)
    return to_change(
        change.action,
        change.group,
        change.key,
        commit,
        change.after,
        topic_id=change.topic_id,
        group_type=change.group_type,
    )


def describe_difference(
    planned: CommittedOffset | None, current: CommittedOffset | None, *, noun: str = "commit"
) -> str:
    """Return why a change is refused: its commit, or start offset (`noun`), is no longer the one before the change."""
    was = f"no {noun}" if planned is None else str(planned.offset)
    now = f"no {noun}" if current is None else str(current.offset)
    if was == now:
        return f"the leader epoch or the metadata of its commit at {now} has changed since the plan"
    return f"its {noun} has changed since the plan, from {was} to {now}"


def _check_group(current: CurrentGroup, planned: Sequence[Change], *, force: bool) -> Mapping[Change, Failure]:
    active = refuse_active(current)
    invalid: dict[Change, Failure] = {}
    for change in planned:
        if (other_kind := refuse_other_offsets(current, change)) is not None:
            invalid[change] = other_kind
        elif active is not None and change.needs_no_members:
            invalid[change] = active
        elif (failure := _check_commit(current, change, force=force)) is not None:
            invalid[change] = failure
    if planned[0].action is not Action.DELETE_GROUP or active is not None:
        return {**refuse_topics(current, planned), **invalid}
    unstable = [why for why in current.unreadable.values() if why.code == UNSTABLE_OFFSET_COMMIT]
    if unstable:
        return dict.fromkeys(planned, unstable[0])
    if force:
        return invalid
    # One request deletes all commits, also those that the plan does not know.
    known = {change.key for change in planned}
    unknown = [key for key, commit in current.offsets.items() if commit is not None and key not in known]
    if unknown:
        text = f"it has commits that it did not have when it was planned, such as on {unknown[0][0]}-{unknown[0][1]}"
        return dict.fromkeys(planned, refuse(current.group, text))
    return dict.fromkeys(planned, next(iter(invalid.values()))) if invalid else {}


def _check_commit(current: CurrentGroup, change: Change, *, force: bool) -> Failure | None:
    key = change.key
    if key is None:
        return None
    if key in current.unreadable:
        return current.unreadable[key]
    commit = current.offsets.get(key)
    if force or commit == change.before:
        return None
    return refuse(change.group, describe_difference(change.before, commit, noun=change.noun), key)
