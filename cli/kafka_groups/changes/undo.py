"""The plan of an undo: the commits before a recorded run, where the commits are still as the run left them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, OffsetSpec, Timeout
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import CurrentGroup, note_unstable, read_groups, refuse, refuse_active
from kafka_groups.changes.current_topics import UNKNOWN_ID, CurrentTopics, note_unknown_ids, read_topics
from kafka_groups.changes.run_record import Run
from kafka_groups.changes.specifications.specification import Position
from kafka_groups.changes.start_offsets import refuse_other_offsets
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

_COMMIT_TIMES: Final = "Restored commits have the time of this undo, not their old commit times."
_GROUPS: Final = (
    "A deleted group comes back with its commits only: as a classic group without members, whatever its type was."
)
_START_OFFSETS: Final = (
    "Of share groups, only start offsets are restored. The delivery state before the run is lost, and the undo "
    "discards the present one: acknowledged records beyond the start offset are delivered again."
)
_MEMBERS: Final = "Removed members are not restored; their clients may join again."


class _Current(NamedTuple):
    """What the cluster shows now of the topics of a run; `ends` are log end offsets, or why they are unknown.

    `starts` are the log start offsets of partitions with start offsets.
    """

    topics: CurrentTopics
    ends: Results[TopicPartition, int | None]
    starts: Results[TopicPartition, int | None] = Results()

    def log_of(self, change: Change) -> tuple[int, int] | None:
        """Return the log start offset and the log end offset of a partition; None if one is unknown."""
        start, end = (each.succeeded.get(change.key) if change.key else None for each in (self.starts, self.ends))
        return None if start is None or end is None else (start, end)


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
    now = _read_logs(admin, run.changed(), topics, timeout)
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


def _read_logs(admin: Admin, changes: Iterable[Change], topics: CurrentTopics, timeout: Timeout | None) -> _Current:
    """Return the topics with their log end offsets, and with log start offsets where start offsets are restored."""
    existing = [
        (change.key, change) for change in changes if change.key is not None and change.topic in topics.described
    ]
    keys = sorted({key for key, _ in existing})
    clamped = sorted({key for key, change in existing if change.has_start_offset})
    earliest = OffsetSpec.earliest()
    return _Current(
        topics,
        admin.list_offsets(keys, timeout=timeout) if keys else Results(),
        admin.list_offsets(clamped, spec=earliest, timeout=timeout) if clamped else Results(),
    )


def _plan(current: CurrentGroup, change: Change, now: _Current, *, force: bool) -> PlannedChange | None:
    """Return the change that restores the commit before; None if nothing has to be restored."""
    assert change.key is not None
    commit = current.offsets.get(change.key)
    before = change.before
    after = change.after
    # Kafka deletes start offsets of whole topics only, but a partition may lose its own.
    action = Action.DELETE_OFFSETS if before is None and not change.has_start_offset else Action.COMMIT
    back = to_change(
        action, change.group, change.key, commit, before, topic_id=change.topic_id, group_type=change.group_type
    )
    failure = current.unreadable.get(change.key)
    if failure is None and commit == before:
        return None
    failure = (
        failure or refuse_other_offsets(current, back) or now.topics.refuse(back) or _refuse_unknown_log(back, now)
    )
    if failure is not None:
        return PlannedChange(back, failure.message, failure)
    back, clamped = _clamp(back, now)
    if clamped and commit == back.after:
        return None
    moved = describe_move(after, commit) if commit != after else ""
    if moved and not force:
        return PlannedChange(back, moved, refuse(change.group, moved, change.key))
    return PlannedChange(back, ", ".join(filter(None, (moved, clamped, *_row_notes(back, now)))))


def _refuse_unknown_log(back: Change, now: _Current) -> Failure | None:
    """Return the failure of a start offset that cannot be clamped; brokers accept one outside of the log."""
    if not back.has_start_offset or back.new_offset is None or now.log_of(back) is not None:
        return None
    if (unread := now.topics.failed.get(back.topic or "")) is not None:
        return unread._replace(group=back.group, topic=back.topic, partition=back.partition)
    return refuse(back.group, "its log offsets are unknown, so the start offset may be outside of the log", back.key)


def _clamp(back: Change, now: _Current) -> tuple[Change, str]:
    """Return the change with a start offset inside the log, and a note if it differs; commits stay as they were."""
    log = now.log_of(back) if back.has_start_offset else None
    if log is None or back.key is None or back.new_offset is None:
        return back, ""
    target = Position(back.group, back.key, back.before, *log).clamp(back.new_offset)
    return back._replace(new_offset=target.offset), target.note


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
        yield f"{'removes' if back.has_start_offset else 'deletes'} the {back.noun}: there was none before"
        return
    if now.topics.is_unknown(back):
        yield UNKNOWN_ID
    end = now.ends.succeeded.get(back.key)
    if end is not None and back.new_offset > end:
        yield f"beyond the log end offset {end}: records were deleted, or the topic was recreated"
    elif back.key in now.ends.failed:
        yield f"log end offset unknown: {now.ends.failed[back.key].message}"


def _refuse_commits(current: CurrentGroup, planned: Iterable[PlannedChange]) -> Failure | None:
    needs_no_members = any(row.change.needs_no_members and row.refusal is None for row in planned)
    return refuse_active(current) if needs_no_members else None


def _notes(run: Run, rows: Mapping[str, list[PlannedChange]], unchanged: int) -> Iterable[Note]:
    actions = {change.action for change in run.plan.changes if not change.has_start_offset}
    if unchanged:
        noun = "offset" if any(change.has_start_offset for change in run.plan.changes) else "commit"
        text = f"{unchanged:,} {noun}{' is' if unchanged == 1 else 's are'} as before the run already."
        yield Note(NoteKind.UNCHANGED, None, text)
    restored = [row for planned in rows.values() for row in planned if row.refusal is None]
    if any(row.change.action is Action.COMMIT for row in restored):
        yield Note(NoteKind.UNDO, None, _COMMIT_TIMES)
    if any(row.change.has_start_offset for row in restored):
        yield Note(NoteKind.UNDO, None, _START_OFFSETS)
    if Action.DELETE_GROUP in actions:
        yield Note(NoteKind.UNDO, None, _GROUPS)
    if Action.REMOVE_MEMBER in actions:
        yield Note(NoteKind.UNDO, None, _MEMBERS)
