"""Resets of this tool, as evidence for verdicts, and the notes on known resets: a reset is no rewind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from kafka_groups.changes.journal import ID_TIME
from kafka_groups.changes.journal_location import JournalLocation, open_journal
from kafka_groups.changes.run_record import read_record
from kafka_groups.changes.runs import list_ids
from kafka_groups.errors import AdminError, JournalError, SettingsError
from kafka_groups.groups.lag.polls import PartitionKey
from kafka_groups.groups.lag.resets import KnownReset
from kafka_groups.groups.notes import Note, NoteKind, note_each
from kafka_groups.rendering.times import format_time

# A run changes its last commit within this time.
_LONGEST_RUN: Final = timedelta(minutes=15)
# Notes on groups; another note counts the rest.
_MAX_NOTES: Final = 5
# The offsets that a run may have committed, by partition of a group.
Offsets: TypeAlias = Mapping[PartitionKey, int]


class KnownResets:
    """The resets in the user's journal. It is read only for a commit that went back, which is rare."""

    def __init__(self, find_cluster_id: Callable[[], str]) -> None:
        self._find_cluster_id = find_cluster_id
        # The times of one poll, and what the runs between them have committed, by their ids.
        self._times: tuple[int, int] | None = None
        self._runs: Mapping[str, Offsets] = {}

    def __call__(self, key: PartitionKey, offset: int, since_ms: int, until_ms: int) -> str | None:
        """Return the id of a run that may have reset a commit to an offset, or below it, between two times.

        Times are in ms since 1970. The newest run comes first. The group may have moved on from the offset of the
        reset. A journal that cannot be read knows of no run.
        """
        if self._times != (since_ms, until_ms):
            self._times = (since_ms, until_ms)
            try:
                self._runs = dict(_runs_between(self._find_cluster_id(), since_ms, until_ms))
            except (AdminError, JournalError, SettingsError):
                self._runs = {}
        run_ids = (run_id for run_id, offsets in self._runs.items() if key in offsets and offsets[key] <= offset)
        return next(run_ids, None)


def note_resets(resets: Iterable[KnownReset]) -> list[Note]:
    """Return a note for each group on its known resets; beyond a limit, one note counts the groups."""
    by_group: dict[str, list[KnownReset]] = {}
    for reset in resets:
        by_group.setdefault(reset.group, []).append(reset)
    kind = NoteKind.KNOWN_RESET
    notes = (Note(kind, group, _describe_resets(of_group)) for group, of_group in by_group.items())
    others = "Offsets of {:,} more groups were set back by known resets."
    return note_each(notes, most=_MAX_NOTES, others=lambda rest: Note(kind, None, others.format(rest)))


def _describe_resets(resets: Sequence[KnownReset]) -> str:
    """Return the text of a note on the resets of a group, at least one: partitions, offsets, times and reason."""
    first = resets[0]
    partition = f"{first.topic}-{first.partition} from {first.offset_before:,} to {first.offset_after:,}"
    if len(resets) == 1:
        subject = f"its offset on {partition} was set back"
    else:
        subject = f"its offsets on {len(resets):,} partitions, such as {partition}, were set back"
    since = format_time(_moment(min(reset.since_ms for reset in resets)))
    until = format_time(_moment(max(reset.until_ms for reset in resets)))
    run_ids = dict.fromkeys(reset.run_id for reset in resets if reset.run_id is not None)
    if run_ids:
        reason = f"Run {next(iter(run_ids))} of the journal did this"
    else:
        reason = "A poll saw the group without members, so no consumer did this"
    return f"Group '{first.group}': {subject} between {since} and {until}. {reason}: it is a reset, and no REWIND."


def _runs_between(cluster_id: str, since_ms: int, until_ms: int) -> Iterator[tuple[str, Offsets]]:
    """Yield the ids of the runs on a cluster that began between two times, or shortly before, and what they committed.

    Times are in ms since 1970.
    """
    journal = open_journal()
    since = _moment(since_ms) - _LONGEST_RUN
    until = _moment(until_ms)
    for run_id in list_ids(journal):
        began_at = datetime.strptime(run_id.rpartition("-")[0], ID_TIME).replace(tzinfo=UTC)
        if began_at < since:
            return
        if began_at <= until:
            yield run_id, _read_offsets(journal, run_id, cluster_id)


def _read_offsets(journal: JournalLocation, run_id: str, cluster_id: str) -> Offsets:
    """Return what a run has committed on a cluster; nothing for a damaged record, and for a deletion."""
    try:
        run = read_record(journal, run_id)
    except JournalError:
        return {}
    if run.plan.cluster_id != cluster_id:
        return {}
    return {
        (change.group, change.key.topic, change.key.partition): change.after.offset
        for change in run.changed()
        if change.key is not None and change.after is not None
    }


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1_000, UTC)
