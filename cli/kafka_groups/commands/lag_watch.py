"""`kafka-groups lag --watch`: polls of lag, with rates and verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from kafka_groups.commands.lag_check import UNCHECKED_NOTES, LagResult, is_unchecked
from kafka_groups.commands.lag_display import Display, ShownPoll
from kafka_groups.commands.lag_polls import PollsFile
from kafka_groups.commands.lag_rows import ClusterLag, sort_rows
from kafka_groups.conditions import Condition
from kafka_groups.errors import IncompleteResultError
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure, status_of
from kafka_groups.options.cluster_session import search_cycles
from kafka_groups.options.signals import pause
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.stderr import lead_of


class ClusterPoll(NamedTuple):
    """A poll of a cluster: its reading, or the failure of the whole cluster. `rank` is its place in the command.

    In a command of several clusters, notes and failures name theirs.
    """

    cluster: Cluster
    reading: LagReading | None
    failure: Failure | None = None
    rank: int = 0


# Yields what a poll at a time, in milliseconds since 1970, has of each cluster when that ends. Raises an error that
# ends the watch.
Poll: TypeAlias = Callable[[int], Iterable[ClusterPoll]]


class WatchOptions(NamedTuple):
    """The seconds between two polls, and the number of polls (None: no end)."""

    interval_s: float
    polls: int | None


class LastPoll(NamedTuple):
    """The last poll of a watch: rows of all clusters, the worst first, and failures, those of whole clusters first."""

    rows: Sequence[ClusterLag]
    failures: Sequence[Failure]
    notes: Sequence[Note]
    anything_read: bool

    def result(self, condition: Condition | None, failing: Sequence[str]) -> LagResult:
        """Return the result of the watch; `failing` are the groups for which the condition holds."""
        unchecked = is_unchecked(condition, self.rows)
        if not self.failures and not unchecked:
            return LagResult(failing)
        status = status_of(anything_failed=True, anything_succeeded=self.anything_read and not unchecked)
        return LagResult(failing, IncompleteResultError(status))

    def unchecked_notes(self, condition: Condition | None) -> Sequence[Note]:
        """Return a note if nothing failed, and the condition could not be checked."""
        return UNCHECKED_NOTES if is_unchecked(condition, self.rows) and not self.failures else ()


def watch_lag(
    options: WatchOptions,
    poll: Poll,
    display: Display,
    *,
    screen: Screen,
    file: PollsFile | None,
    find_notes: Callable[[], Sequence[Note]] = tuple,
    note_rows: Callable[[Sequence[ClusterLag]], Sequence[Note]],
) -> LastPoll:
    """Poll until all polls are done, and return the last one.

    A cluster that fails in a poll has only its error there, and no rows. A note is shown at the first poll that has it.
    If the polls are kept in a file, it is saved after each of them: a failure is a note. `find_notes` returns notes on
    all clusters, after each poll, and `note_rows` those on its rows: one is shown again if it is on another group, and
    at each poll on a screen that is redrawn.
    """
    known_notes: set[str] = set()
    known_subjects: set[tuple[str | None, str | None]] = set()
    done = 0
    while True:
        started = time.monotonic()
        at = datetime.now(UTC)
        search_cycles(done)
        last = _poll_once(poll, display, at)
        done += 1
        texts = (lead_of(screen, note.cluster) + note.text for note in (*find_notes(), *last.notes))
        notes = [text for text in texts if text not in known_notes]
        known_notes.update(notes)
        for note in note_rows(last.rows):
            if display.is_redrawn or (note.cluster, note.subject) not in known_subjects:
                notes.append(lead_of(screen, note.cluster) + note.text)
            known_subjects.add((note.cluster, note.subject))
        notes += [] if file is None else file.try_to_save()
        display.end(ShownPoll(at, last.rows, last.failures, notes))
        if options.polls is not None and done >= options.polls:
            return last
        pause(max(0.0, options.interval_s - (time.monotonic() - started)))


def _poll_once(poll: Poll, display: Display, at: datetime) -> LastPoll:
    polls: list[ClusterPoll] = []
    rows: list[ClusterLag] = []
    for each in poll(round(at.timestamp() * 1000)):
        polls.append(each)
        own = [] if each.reading is None else [ClusterLag(each.cluster, group.total) for group in each.reading.groups]
        display.add(at, own)
        rows += own
    polls.sort(key=lambda each: each.rank)
    readings = [each.reading for each in polls if each.reading is not None]
    return LastPoll(
        # The groups of one reading are sorted.
        rows=sort_rows(rows) if len(readings) > 1 else rows,
        failures=[
            *(each.failure for each in polls if each.failure is not None),
            *(failure for reading in readings for failure in reading.failures),
        ],
        notes=[note for reading in readings for note in reading.notes],
        anything_read=any(reading.anything_read for reading in readings),
    )
