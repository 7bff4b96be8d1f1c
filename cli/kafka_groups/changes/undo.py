"""The plan of an undo: the commits before a recorded run, where the commits are still as the run left them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_groups.admin.api import Admin, Timeout
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import CurrentGroup, read_groups, refuse, refuse_active
from kafka_groups.changes.runs import Run
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

_COMMIT_TIMES: Final = "Restored commits have the time of this undo, not their old commit times."
_GROUPS: Final = (
    "A deleted group comes back with its commits only: as a classic group without members, whatever its type was."
)
_MEMBERS: Final = "Removed members are not restored; their clients may join again."


def plan_undo(admin: Admin, run: Run, *, force: bool = False, timeout: Timeout | None = None) -> PlannedGroups:
    """Plan the restoration of the commits that a run changed or deleted, from one reading of its groups.

    A commit that was not changed, as the record or the cluster shows, has no row. One that has moved since is refused,
    unless `force`.
    """
    changes: dict[str, list[Change]] = {}
    for change in run.changed():
        changes.setdefault(change.group, []).append(change)
    read = read_groups(admin, changes, timeout=timeout)
    failures = [why for why in read.failed.values() if why.code != GROUP_ID_NOT_FOUND]
    unread = {why.group for why in failures}
    keys = {change.key for each in changes.values() for change in each if change.key is not None}
    ends = admin.list_offsets(sorted(keys), timeout=timeout).succeeded if keys else {}
    rows: dict[str, list[PlannedChange]] = {}
    unchanged = 0
    for group in sorted(changes.keys() - unread):
        current = read.succeeded.get(group) or CurrentGroup(group, None, {}, {})
        planned = [_note_log_end(_plan(current, change, force=force), ends) for change in changes[group]]
        unchanged += sum(row is None for row in planned)
        rows[group] = [row for row in planned if row is not None]
        if (active := _refuse_commits(current, rows[group])) is not None:
            failures.append(active)
            del rows[group]
    return PlannedGroups(
        rows={group: tuple(planned) for group, planned in rows.items() if planned},
        failures=tuple(failures),
        notes=tuple(_notes(run, rows, unchanged)),
    )


def _plan(current: CurrentGroup, change: Change, *, force: bool) -> PlannedChange | None:
    """Return the change that restores the commit before; None if nothing has to be restored."""
    assert change.key is not None
    commit, before, after = current.offsets.get(change.key), change.before, change.after
    action = Action.DELETE_OFFSETS if before is None else Action.COMMIT
    back = to_change(action, change.group, change.key, commit, before)
    if change.key in current.unreadable:
        failure = current.unreadable[change.key]
        return PlannedChange(back, failure.message, failure)
    if commit == before:
        return None
    if commit != after:
        left = "no commit" if after is None else str(after.offset)
        text = f"it has moved since: the run left {left}"
        return PlannedChange(back, text, None if force else refuse(change.group, text, change.key))
    return PlannedChange(back, "deletes the commit: there was none before" if before is None else "")


def _note_log_end(row: PlannedChange | None, ends: Mapping[TopicPartition, int | None]) -> PlannedChange | None:
    """Return the row, with a note if the log ends before the commit: the topic may have been recreated."""
    if row is None or row.refusal is not None or row.change.key is None or row.change.new_offset is None:
        return row
    end = ends.get(row.change.key)
    if end is None or row.change.new_offset <= end:
        return row
    return row._replace(note=f"beyond the log end offset {end}: the topic may have been recreated")


def _refuse_commits(current: CurrentGroup, planned: Iterable[PlannedChange]) -> Failure | None:
    needs_no_members = any(row.change.action is Action.COMMIT and row.refusal is None for row in planned)
    return refuse_active(current) if needs_no_members else None


def _notes(run: Run, rows: Mapping[str, list[PlannedChange]], unchanged: int) -> Iterable[str]:
    actions = {change.action for change in run.plan.changes}
    if unchanged:
        yield f"{unchanged:,} commit{' is' if unchanged == 1 else 's are'} as before the run already."
    if any(row.change.action is Action.COMMIT for planned in rows.values() for row in planned):
        yield _COMMIT_TIMES
    if Action.DELETE_GROUP in actions:
        yield _GROUPS
    if Action.REMOVE_MEMBER in actions:
        yield _MEMBERS
