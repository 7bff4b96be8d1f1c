"""`kafka-groups wait` for several clusters: until the condition holds for all groups of all of them at one time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from kafka_groups.commands.condition_options import MAX_NAMES, needs_time
from kafka_groups.commands.record_settings import resolve_with_records
from kafka_groups.conditions import Condition
from kafka_groups.errors import AuthenticationFailedError, CheckFailedError, IncompleteResultError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.lag.lag_row import LagKey, order_of
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.wait import WaitOutcome, judge_reading, poll_until_done
from kafka_groups.model import Failure
from kafka_groups.name_lists import first_names
from kafka_groups.options.cluster_outcomes import gather
from kafka_groups.options.cluster_results import ClusterResult, SeveralResults
from kafka_groups.options.cluster_session import (
    INTERRUPTED_FAILURE,
    ClusterSession,
    failure_of,
    search_cycles,
    without_garbage_collection,
)
from kafka_groups.options.cluster_threads import ClusterReader, ClusterThreads, Outcome, open_clusters
from kafka_groups.options.connection import Connection
from kafka_groups.options.several_clusters import note_shared_ids, open_screen
from kafka_groups.options.signals import pause
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.lag import lag_document
from kafka_groups.rendering.writers import Writer
from kafka_groups.settings import resolve_settings

Poll = Callable[[ClusterSession, float | None], LagReading]


class ClustersWait:
    """The last reading of each cluster, and whether the condition holds for all.

    A cluster whose first reading fails as a whole, or whose login is refused, is a failure and not polled again.
    """

    def __init__(self, poll: Poll, condition: Condition, named: Collection[str]) -> None:
        self._poll = poll
        self.condition = condition
        self._named = named
        self._noted: set[Note] = set()
        self._polls = 0
        self.last: dict[ClusterReader, WaitOutcome] = {}
        self.failed: dict[ClusterReader, Failure] = {}

    def poll(
        self, clusters: ClusterThreads, results: SeveralResults, screen: Screen, remaining_s: float | None
    ) -> bool:
        """Read all clusters at once, and return whether the wait is over."""
        polled = ClusterThreads([reader for reader in clusters.readers if reader not in self.failed])

        def read(session: ClusterSession) -> LagReading:
            return self._poll(session, remaining_s)

        search_cycles(self._polls)
        self._polls += 1
        gathered = gather(polled, read, screen)
        if gathered.interrupt is not None:
            raise gathered.interrupt
        for outcome in gathered.outcomes:
            self._add(outcome)
            session = outcome.reader.session
            notes = [] if session is None else [each._replace(cluster=outcome.reader.name) for each in session.notes]
            results.add_notes(note for note in notes if note not in self._noted)
            self._noted.update(notes)
        return self.is_fulfilled()

    def is_fulfilled(self) -> bool:
        """Return whether the condition holds for all groups of the clusters that could be read."""
        return all(outcome.is_fulfilled for outcome in self.last.values())

    def _add(self, outcome: Outcome[LagReading]) -> None:
        reader = outcome.reader
        if outcome.value is not None:
            self.last[reader] = judge_reading(outcome.value, self.condition, self._named)
        elif outcome.error is not None:
            before = self.last.get(reader)
            if before is None or isinstance(outcome.error, AuthenticationFailedError):
                self.last.pop(reader, None)
                self.failed[reader] = failure_of(outcome.error)._replace(cluster=reader.name)
            else:
                # A cluster that restarts is not at the end of a wait.
                failures = (*before.reading.failures, failure_of(outcome.error))
                reading = before.reading._replace(failures=tuple(dict.fromkeys(failures)))
                self.last[reader] = before._replace(reading=reading, is_fulfilled=False)


def wait_for_clusters(
    connection: Connection,
    wait: ClustersWait,
    *,
    limit_s: float | None,
    columns: Sequence[Column],
    colour: str,
    output_format: str,
    make_writer: Callable[[Screen], Writer],
) -> None:
    """Wait until the condition holds in all clusters, and write the last reading of each.

    Raises CheckFailedError if it does not hold in time, else IncompleteResultError if anything failed.
    """
    screen = open_screen(colour, output_format)
    results = SeveralResults(screen, make_writer(screen))
    resolve = resolve_with_records if needs_time(wait.condition) else resolve_settings
    with without_garbage_collection(), open_clusters(connection, screen, resolve=resolve) as clusters:
        try:
            poll = partial(wait.poll, clusters, results, screen)
            poll_until_done(poll, limit_s=limit_s, clock=time.monotonic, pause=pause)
        except (KeyboardInterrupt, SystemExit):
            results.end([INTERRUPTED_FAILURE])
            raise
        results.add_notes(note_shared_ids(clusters))
        status = _write(results, wait, columns)
    _judge(wait)
    if status is not ResultStatus.COMPLETE:
        raise IncompleteResultError(status)


def _write(results: SeveralResults, wait: ClustersWait, columns: Sequence[Column]) -> ResultStatus:
    groups = [
        (reader.cluster(), group.total) for reader, outcome in wait.last.items() for group in outcome.reading.groups
    ]
    failures = [*wait.failed.values()]
    notes: list[Note] = []
    for reader, outcome in wait.last.items():
        failures += [failure._replace(cluster=reader.name) for failure in outcome.reading.failures]
        notes += [note._replace(cluster=reader.name) for note in outcome.reading.notes]
    is_unchecked = not groups and wait.is_fulfilled()
    if is_unchecked and not failures:
        notes.append(Note(NoteKind.CONDITION_UNCHECKED, None, "The condition of --until was not checked."))
    entries = [
        Entry(columns, (total,), partial(lag_document, LagKey.GROUP, total, ()), cluster=cluster)
        for cluster, total in sorted(groups, key=lambda each: (order_of(each[1]), each[0].name))
    ]
    results.write([ClusterResult(entries, notes, failures, bool(groups), tuple)])
    status = results.end(is_unchecked=is_unchecked)
    results.print_rest((), failures)
    return status


def _judge(wait: ClustersWait) -> None:
    """Raise CheckFailedError if the condition does not hold for all groups that could be read."""
    if wait.is_fulfilled():
        return
    late = [f"'{name}' of {reader.name}" for reader, outcome in wait.last.items() for name in outcome.unfulfilled]
    if not late:
        clusters = ", ".join(reader.name for reader, outcome in wait.last.items() if not outcome.is_fulfilled)
        msg = f"the condition of --until may not hold: not all groups of {clusters} were read"
        raise CheckFailedError(msg)
    msg = f"the condition of --until does not hold for {first_names(late, MAX_NAMES, more=' and {:,} more')}"
    raise CheckFailedError(msg)
