"""The plan of an undo: the commits before a recorded run, where the commits are still as the run left them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Timeout
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import CurrentGroup, note_unstable, read_groups, refuse, refuse_active
from kafka_groups.changes.current_topics import UNKNOWN_ID, CurrentTopics, note_unknown_ids, read_topics
from kafka_groups.changes.run_record import Run
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

_COMMIT_TIMES: Final = "Restored commits have the time of this undo, not their old commit times."
_GROUPS: Final = (
    "A deleted group comes back with its commits only: as a classic group without members, whatever its type was."
)
_MEMBERS: Final = "Removed members are not restored; their clients may join again."


class _Current(NamedTuple):
    """What the cluster shows now of the topics of a run; `ends` are log end offsets, or why they are unknown."""

    topics: CurrentTopics
    ends: Results[TopicPartition, int | None]


def plan_undo(admin: Admin, run: Run, *, force: bool = False, timeout: Timeout | None = None) -> PlannedGroups:
    """Plan the restoration of the commits that a run changed or deleted, from one reading of its groups.

    A commit that was not changed, as the record or the cluster shows, has no row. One that has moved since is refused,
    unless `force`; one whose topic was deleted, or recreated, is refused in any case.
    """
    changes: dict[str, list[Change]] = {}
    for change in run.changed():
        changes.setdefault(change.group, []).append(change)
    keys = {group: [change.key for change in each if change.key is not None] for group, each in changes.items()}
    read = read_groups(admin, keys, timeout=timeout)
    failures = [why for why in read.failed.values() if why.code != GROUP_ID_NOT_FOUND]
    unread = {why.group for why in failures}
    topics = read_topics(admin, {change.topic for change in run.changed()}, timeout=timeout)
    existing = sorted({key for each in keys.values() for key in each if key.topic in topics.described})
    ends: Results[TopicPartition, int | None] = admin.list_offsets(existing, timeout=timeout) if existing else Results()
    now = _Current(topics, ends)
    rows: dict[str, list[PlannedChange]] = {}
    unchanged = 0
    for group in sorted(changes.keys() - unread):
        current = read.succeeded.get(group) or CurrentGroup(group)
        planned = [_plan(current, change, now, force=force) for change in changes[group]]
        unchanged += sum(row is None for row in planned)
        rows[group] = [row for row in planned if row is not None]
        if (active := _refuse_commits(current, rows[group])) is not None:
            failures.append(active)
            del rows[group]
    planned_changes = [row.change for planned in rows.values() for row in planned]
    planned_rows = {group: tuple(planned) for group, planned in rows.items() if planned}
    return PlannedGroups(
        rows=planned_rows,
        failures=tuple(failures),
        notes=(
            *_notes(run, rows, unchanged),
            *note_unstable(read.succeeded.values()),
            *note_unknown_ids(planned_changes, topics),
        ),
        # Undo brings back groups that are deleted, but not those that somebody deletes while the prompt waits.
        existing=frozenset() if force else frozenset(planned_rows.keys() & read.succeeded.keys()),
    )


def _plan(current: CurrentGroup, change: Change, now: _Current, *, force: bool) -> PlannedChange | None:
    """Return the change that restores the commit before; None if nothing has to be restored."""
    assert change.key is not None
    commit = current.offsets.get(change.key)
    before = change.before
    after = change.after
    action = Action.DELETE_OFFSETS if before is None else Action.COMMIT
    back = to_change(action, change.group, change.key, commit, before, topic_id=change.topic_id)
    if change.key in current.unreadable:
        failure = current.unreadable[change.key]
        return PlannedChange(back, failure.message, failure)
    if commit == before:
        return None
    if (other_topic := now.topics.refuse(back)) is not None:
        return PlannedChange(back, other_topic.message, other_topic)
    if commit != after:
        text = describe_move(after, commit)
        if not force:
            return PlannedChange(back, text, refuse(change.group, text, change.key))
        return PlannedChange(back, ", ".join([text, *_row_notes(back, now)]))
    return PlannedChange(back, ", ".join(_row_notes(back, now)))


def describe_move(left: CommittedOffset | None, current: CommittedOffset | None) -> str:
    """Return how a commit differs from the one that a run left."""
    was = "no commit" if left is None else str(left.offset)
    if left is not None and current is not None and left.offset == current.offset:
        return f"it has changed since: the run left {was} with another leader epoch or other metadata"
    now = "there is none now" if current is None else f"it is {current.offset} now"
    return f"it has moved since: the run left {was}, and {now}"


def _row_notes(back: Change, now: _Current) -> Iterator[str]:
    """Yield what the user should know of a commit that is restored."""
    assert back.key is not None
    if back.new_offset is None:
        yield "deletes the commit: there was none before"
        return
    if now.topics.is_unknown(back):
        yield UNKNOWN_ID
    end = now.ends.succeeded.get(back.key)
    if end is not None and back.new_offset > end:
        yield f"beyond the log end offset {end}: records were deleted, or the topic was recreated"
    elif back.key in now.ends.failed:
        yield f"log end offset unknown: {now.ends.failed[back.key].message}"


def _refuse_commits(current: CurrentGroup, planned: Iterable[PlannedChange]) -> Failure | None:
    needs_no_members = any(row.change.action is Action.COMMIT and row.refusal is None for row in planned)
    return refuse_active(current) if needs_no_members else None


def _notes(run: Run, rows: Mapping[str, list[PlannedChange]], unchanged: int) -> Iterable[Note]:
    actions = {change.action for change in run.plan.changes}
    if unchanged:
        text = f"{unchanged:,} commit{' is' if unchanged == 1 else 's are'} as before the run already."
        yield Note(NoteKind.UNCHANGED, None, text)
    restored = [row for planned in rows.values() for row in planned if row.refusal is None]
    if any(row.change.action is Action.COMMIT for row in restored):
        yield Note(NoteKind.UNDO, None, _COMMIT_TIMES)
    if Action.DELETE_GROUP in actions:
        yield Note(NoteKind.UNDO, None, _GROUPS)
    if Action.REMOVE_MEMBER in actions:
        yield Note(NoteKind.UNDO, None, _MEMBERS)
