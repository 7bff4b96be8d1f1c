"""`kafka-groups lag` of several clusters: all are read at the same time, once or by the polls of a watch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from kafka_groups.commands.lag_check import UNCHECKED_NOTES, LagResult, is_unchecked, judge_at_end
from kafka_groups.commands.lag_measurement import ClusterPolls, measure, now_ms, read_once, run_with_polls
from kafka_groups.commands.lag_output import LagOutput
from kafka_groups.commands.lag_request import LagRequest, note_isolation
from kafka_groups.commands.lag_rows import (
    ClusterGroup,
    ClusterLag,
    ClustersReading,
    entries_of,
    failing_cluster_groups,
    merge_readings,
)
from kafka_groups.commands.lag_trouble import find_trouble
from kafka_groups.commands.lag_watch_clusters import watch_clusters
from kafka_groups.commands.record_settings import resolve_with_records
from kafka_groups.errors import ExportError, IncompleteResultError, SettingsError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.lag.lag_row import LagRow
from kafka_groups.groups.lag.measurement import LagMeasurement
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.options.cluster_outcomes import ClusterOutcomes, gather_outcomes, watch_progress
from kafka_groups.options.cluster_results import ClusterResult, SeveralResults
from kafka_groups.options.cluster_session import ClusterSession, without_garbage_collection
from kafka_groups.options.cluster_threads import ClusterThreads, Outcome, open_clusters
from kafka_groups.options.connection import Connection
from kafka_groups.options.several_clusters import note_shared_ids, open_screen
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.views.lag import lag_document
from kafka_groups.rendering.writers import Writer
from kafka_groups.settings import resolve_settings


def show_lag_of_clusters(connection: Connection, request: LagRequest, *, colour: str) -> None:
    """Write the lag of several clusters, which are read at the same time, once or by the polls of a watch.

    Raises CheckFailedError if the condition holds for a row, whatever else failed; else the error of what failed.
    """
    output = request.output
    screen = open_screen(colour, output.output_format)
    writer = output.make_writer(screen)
    resolve = resolve_with_records if output.with_time else resolve_settings
    with without_garbage_collection(), open_clusters(connection, screen, resolve=resolve) as clusters:
        watch = request.watch
        run: Callable[[ClusterPolls], LagResult] = (
            partial(_read_clusters, clusters, request, screen, writer)
            if watch is None
            else partial(watch_clusters, clusters, request, watch, screen, writer)
        )
        result = run_with_polls(request, run, partial(_print_messages, screen))
    judge_at_end(result, partial(_print_messages, screen))


def _read_clusters(
    clusters: ClusterThreads, request: LagRequest, screen: Screen, writer: Writer, polls: ClusterPolls
) -> LagResult:
    """Read each cluster once, and write the rows of all: in ndjson a cluster's when it ends.

    With --top, and in other formats, the worst rows of all come first. A signal is raised when what ended is written.
    """
    results = SeveralResults(screen, writer)
    results.add_notes(note_isolation(request))
    is_immediate = request.output.output_format == "ndjson" and request.top is None
    ended = _read(clusters, request, screen, polls)
    if is_immediate:
        ended = _write_each(ended, request, results)
    gathered = gather_outcomes(clusters, ended)
    reading = merge_readings(gathered.outcomes, request.output.key)
    failed = _write_merged(results, request, gathered, reading, screen, clusters, is_written=is_immediate)
    if gathered.interrupt is not None:
        raise gathered.interrupt
    return LagResult(failing_cluster_groups(request.condition, reading.rows), failed)


def _read(
    clusters: ClusterThreads, request: LagRequest, screen: Screen, polls: ClusterPolls
) -> Iterator[Outcome[LagReading]]:
    """Yield the reading of each cluster when it ends. The main thread adds polls, so that a signal finds them whole."""
    if not request.has_polls:
        yield from watch_progress(clusters, clusters.run(partial(read_once, request=request)), screen)
        return

    def measure_cluster(session: ClusterSession) -> LagMeasurement:
        return measure(session, request, session.deadline)

    for outcome in watch_progress(clusters, clusters.run(measure_cluster), screen):
        yield polls.add_outcome(outcome, now_ms(), rank=clusters.readers.index(outcome.reader))


def _write_each(
    outcomes: Iterable[Outcome[LagReading]], request: LagRequest, results: SeveralResults
) -> Iterator[Outcome[LagReading]]:
    """Yield the outcomes, and write each of them. Unusable settings may be those of all clusters, so they wait."""
    for outcome in outcomes:
        if not isinstance(outcome.error, SettingsError):
            reading = merge_readings([outcome], request.output.key)
            results.write([_result(reading, _entries(request.output, reading.groups, reading.rows))])
            results.print_rest((), reading.failures)
        yield outcome


def _write_merged(
    results: SeveralResults,
    request: LagRequest,
    gathered: ClusterOutcomes[LagReading],
    reading: ClustersReading,
    screen: Screen,
    clusters: ClusterThreads,
    *,
    is_written: bool,
) -> ExportError | IncompleteResultError | None:
    """Write what is not written yet, end the document, and return the error of what failed."""
    unchecked = is_unchecked(request.condition, reading.groups)
    is_noted = unchecked and not reading.failures and not gathered.unended
    if is_written:
        unusable = [outcome for outcome in gathered.outcomes if isinstance(outcome.error, SettingsError)]
        rest = merge_readings(unusable, request.output.key)
    else:
        rest = reading
    entries = _entries(request.output, rest.groups, rest.rows[: request.top])
    notes = [*note_shared_ids(clusters), *rest.notes, *(UNCHECKED_NOTES if is_noted else ())]
    results.write([_result(rest._replace(notes=notes), entries)])
    totals = [ClusterLag(each.cluster, each.summary.total) for each in reading.groups]
    trouble = find_trouble(request, screen, totals)
    failed: ExportError | IncompleteResultError | None = None
    try:
        status = results.end(gathered.unended, trouble, is_unchecked=unchecked)
        failed = None if status is ResultStatus.COMPLETE else IncompleteResultError(status)
    except ExportError as error:
        failed = error
    results.print_rest(trouble, [*rest.failures, *gathered.unended])
    return failed


def _result(reading: ClustersReading, entries: Iterable[Entry]) -> ClusterResult:
    return ClusterResult(entries, reading.notes, reading.failures, reading.anything_read, tuple)


def _entries(output: LagOutput, groups: Sequence[ClusterGroup], shown: Sequence[ClusterLag]) -> Iterator[Entry]:
    """Yield an entry for each group in JSON, else one for rows of one cluster that follow each other."""
    # One tuple for all entries, because writers compare its identity.
    columns = output.columns
    if output.output_format != "json":
        yield from entries_of(shown, columns)
        return
    parts: dict[tuple[str, str], list[LagRow]] = {}
    for cluster, row in shown:
        parts.setdefault((cluster.name, row.group), []).append(row)
    for cluster, summary in groups:
        if rows := parts.get((cluster.name, summary.total.group)):
            document = partial(lag_document, output.key, summary.total, rows)
            yield Entry(columns, rows, document, cluster=cluster)


def _print_messages(screen: Screen, texts: Iterable[str]) -> None:
    for text in texts:
        print_note(screen, text)
