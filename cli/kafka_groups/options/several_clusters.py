"""The frame of a command that reads several clusters: run it on all at once, write what each has, set the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice

import click

from kafka_groups.errors import IncompleteResultError, SettingsError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure
from kafka_groups.options.cluster_outcomes import (
    ClusterOutcomes,
    gather,
    interrupted_failures,
    raise_unusable_settings,
    watch_progress,
)
from kafka_groups.options.cluster_results import ClusterResult, SeveralResults
from kafka_groups.options.cluster_session import (
    INTERRUPTED_FAILURE,
    ClusterSession,
    failure_of,
    without_garbage_collection,
)
from kafka_groups.options.cluster_threads import ClusterReader, ClusterThreads, Outcome, open_clusters
from kafka_groups.options.connection import Connection
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen, inspect_streams
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.writers import Writer

ErrorEntry = Callable[[Failure], Entry]


def run_on_clusters(
    connection: Connection,
    body: Callable[[ClusterSession], object],
    *,
    colour: str,
    output_format: str,
    make_writer: Callable[[Screen], Writer],
    error_entry: ErrorEntry | None = None,
) -> None:
    """Run the body of a command on several clusters at once, and write the results.

    In ndjson a cluster is written when it ends, in other formats in the order of the profiles when all have ended. A
    cluster that fails is a failure beside the results of the others, and the row that `error_entry` returns for it.
    Raises IncompleteResultError if anything failed, and SettingsError if the settings of no cluster can be used.
    """
    screen = open_screen(colour, output_format)
    results = SeveralResults(screen, make_writer(screen))
    with without_garbage_collection(), open_clusters(connection, screen) as clusters:
        if output_format == "ndjson":
            status = _write_as_they_end(clusters, body, results, screen, error_entry)
        else:
            gathered = gather(clusters, body, screen)
            ordered = [result_of(outcome, error_entry) for outcome in gathered.outcomes]
            if output_format == "csv":
                ordered = _require_one_table(ordered)
            status = _write_together(clusters, gathered, ordered, results)
    if status is not ResultStatus.COMPLETE:
        raise IncompleteResultError(status)


def open_screen(colour: str, output_format: str) -> Screen:
    """Return the streams of a result of several clusters. Raises UsageError for a format that cannot name them."""
    if output_format == "kafka":
        msg = "--format kafka contradicts several profiles: Kafka's tool has no column CLUSTER; use another format"
        raise click.UsageError(msg)
    return inspect_streams(colour)._replace(names_clusters=True)


def note_shared_ids(clusters: ClusterThreads) -> list[Note]:
    """Return a note on each cluster that several profiles name."""
    return [
        Note(NoteKind.SAME_CLUSTER, None, f"The profiles {_join(names)} are one cluster, {cluster_id}.")
        for cluster_id, names in clusters.shared_ids().items()
    ]


def _join(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def _write_as_they_end(
    clusters: ClusterThreads,
    body: Callable[[ClusterSession], object],
    results: SeveralResults,
    screen: Screen,
    error_entry: ErrorEntry | None,
) -> ResultStatus:
    ended: list[ClusterReader] = []
    unusable: list[Outcome[object]] = []
    try:
        for outcome in watch_progress(clusters, clusters.run(body), screen):
            if isinstance(outcome.error, SettingsError):
                unusable.append(outcome)
            else:
                _write_and_print(results, [result_of(outcome, error_entry)])
            ended.append(outcome.reader)
        raise_unusable_settings(unusable, len(clusters.readers))
        _write_and_print(results, [result_of(outcome, error_entry) for outcome in unusable])
    except (KeyboardInterrupt, SystemExit):
        failures = interrupted_failures(clusters.readers, ended)
        print_failures(screen, failures)
        results.end(failures)
        raise
    results.add_notes(note_shared_ids(clusters))
    return results.end()


def _write_together(
    clusters: ClusterThreads,
    gathered: ClusterOutcomes[object],
    ordered: Sequence[ClusterResult],
    results: SeveralResults,
) -> ResultStatus:
    failures = gathered.unended
    try:
        results.add_notes(note_shared_ids(clusters))
        results.write(ordered)
        after_rows = [note for result in ordered for note in result.notes_after_rows()]
        status = results.end(failures, after_rows)
    except (KeyboardInterrupt, SystemExit):
        results.end([*failures, INTERRUPTED_FAILURE])
        raise
    known = [failure for result in ordered for failure in result.failures_to_print()]
    results.print_rest(after_rows, [*known, *failures])
    if gathered.interrupt is not None:
        raise gathered.interrupt
    return status


def _write_and_print(results: SeveralResults, clusters: Sequence[ClusterResult]) -> None:
    results.write(clusters)
    for cluster in clusters:
        results.print_rest(cluster.notes_after_rows(), cluster.failures_to_print())


def result_of(outcome: Outcome[object], error_entry: ErrorEntry | None = None) -> ClusterResult:
    """Return what a cluster adds to the result; with an error of the whole cluster, `error_entry` returns its row."""
    session = outcome.reader.session
    cluster = outcome.reader.cluster()
    known: Sequence[Failure] = () if session is None else session.failures
    notes = [] if session is None else [note._replace(cluster=cluster.name) for note in session.notes]
    written = None if session is None else session.written_result
    if outcome.error is not None:
        failure = failure_of(outcome.error)
        failures = [each._replace(cluster=cluster.name) for each in (*known, failure)]
        entries = [] if error_entry is None else [error_entry(failure)._replace(cluster=cluster)]
        return ClusterResult(entries, notes, failures, anything_succeeded=False, notes_after_rows=tuple)
    if session is None or written is None:
        return ClusterResult((), notes, (), anything_succeeded=False, notes_after_rows=tuple)
    return ClusterResult(
        entries=(entry._replace(cluster=cluster) for entry in written.entries),
        notes=notes,
        failures=[each._replace(cluster=cluster.name) for each in written.failures],
        anything_succeeded=written.anything_succeeded,
        notes_after_rows=lambda: [note._replace(cluster=cluster.name) for note in written.notes_after_rows()],
        failures_in_rows={each._replace(cluster=cluster.name) for each in session.printed},
    )


def _require_one_table(results: Sequence[ClusterResult]) -> list[ClusterResult]:
    """Return the results again. Raises UsageError if groups of two clusters have other columns in CSV."""
    headers: tuple[str, ...] | None = None
    complete = []
    for result in results:
        rest = iter(result.entries)
        entries = list(islice(rest, 1))
        for columns in (entry.csv_columns for entry in entries if entry.csv_columns is not None):
            own = tuple(column.header for column in columns)
            if headers is not None and own != headers:
                msg = (
                    "CSV has one set of columns, and the groups of these clusters have different ones; select one kind "
                    "by --type, --match or names"
                )
                raise click.UsageError(msg)
            headers = own
        complete.append(result._replace(entries=chain(entries, rest)))
    return complete
