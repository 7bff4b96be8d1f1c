"""`kafka-groups lag` of several clusters: one reading of each, and the rows of all, the worst first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from kafka_groups.commands.condition_options import MAX_NAMES
from kafka_groups.commands.lag_check import UNCHECKED_NOTES
from kafka_groups.commands.lag_output import LagOutput
from kafka_groups.commands.lag_trouble import note_trouble, shows_trouble, trouble_of
from kafka_groups.commands.record_settings import resolve_with_records
from kafka_groups.conditions import Condition
from kafka_groups.errors import CheckFailedError, ExportError, IncompleteResultError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.lag.summary import GroupSummary, LagKey, LagRow, order_of
from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.name_lists import first_names
from kafka_groups.options.cluster_outcomes import gather
from kafka_groups.options.cluster_session import ClusterSession, failure_of, without_garbage_collection
from kafka_groups.options.cluster_threads import Outcome, open_clusters
from kafka_groups.options.connection import Connection, connection_words
from kafka_groups.options.several_clusters import ClusterResult, SeveralResults, note_shared_ids, open_screen
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.views.lag import lag_document
from kafka_groups.settings import resolve_settings


class ClusterGroup(NamedTuple):
    """A group of a cluster."""

    cluster: Cluster
    summary: GroupSummary


class ClusterLag(NamedTuple):
    """A row of a cluster: the lag of a group, or of a part of it."""

    cluster: Cluster
    row: LagRow


class ClustersReading(NamedTuple):
    """The lag of several clusters; groups and rows that are furthest behind come first."""

    groups: Sequence[ClusterGroup]
    rows: Sequence[ClusterLag]
    failures: Sequence[Failure]
    notes: Sequence[Note]
    anything_read: bool


def merge_readings(outcomes: Sequence[Outcome[LagReading]], key: LagKey) -> ClustersReading:
    """Return the readings of several clusters as one; a cluster that failed is one failure."""
    groups: list[ClusterGroup] = []
    failures: list[Failure] = []
    notes: list[Note] = []
    readings = [outcome.value for outcome in outcomes if outcome.value is not None]
    for outcome in outcomes:
        cluster = outcome.reader.cluster()
        reading = outcome.value
        if reading is None:
            failures += [] if outcome.error is None else [failure_of(outcome.error)._replace(cluster=cluster.name)]
            continue
        groups += [ClusterGroup(cluster, group) for group in reading.groups]
        failures += [failure._replace(cluster=cluster.name) for failure in reading.failures]
        notes += [note._replace(cluster=cluster.name) for note in reading.notes]
    rows = [
        ClusterLag(each.cluster, row)
        for each in groups
        for row in ((each.summary.total,) if key is LagKey.GROUP else each.summary.rows)
    ]
    return ClustersReading(
        groups=sorted(groups, key=lambda each: (order_of(each.summary.total), each.cluster.name)),
        rows=sorted(rows, key=lambda each: (order_of(each.row), each.cluster.name)),
        failures=failures,
        notes=notes,
        anything_read=any(reading.anything_read for reading in readings),
    )


def show_lag_of_clusters(
    connection: Connection,
    read: Callable[[ClusterSession], LagReading],
    output: LagOutput,
    *,
    condition: Condition | None,
    top: int | None,
    colour: str,
    notes: Sequence[Note],
) -> None:
    """Write the lag of several clusters, which are read at the same time.

    Raises CheckFailedError if the condition holds for a row, whatever else failed; else the error of what failed.
    """
    screen = open_screen(colour, output.output_format)
    results = SeveralResults(screen, output.make_writer(screen))
    resolve = resolve_with_records if output.with_time else resolve_settings
    with without_garbage_collection(), open_clusters(connection, screen, resolve=resolve) as clusters:
        gathered = gather(clusters, read, screen)
        reading = merge_readings(gathered.outcomes, output.key)
        failures = (*reading.failures, *gathered.unended)
        is_unchecked = condition is not None and not reading.groups
        unchecked = UNCHECKED_NOTES if is_unchecked and not failures else ()
        entries = _entries(output, reading.groups, reading.rows[:top])
        result = ClusterResult(
            entries=entries,
            notes=[*notes, *note_shared_ids(clusters), *reading.notes, *unchecked],
            failures=failures,
            anything_succeeded=reading.anything_read,
            notes_after_rows=tuple,
        )
        results.write([result])
        trouble = _note_trouble(connection, reading.groups) if shows_trouble(screen, output.output_format) else ()
        failed: ExportError | IncompleteResultError | None = None
        try:
            status = results.end(notes=trouble, is_unchecked=is_unchecked)
            failed = None if status is ResultStatus.COMPLETE else IncompleteResultError(status)
        except ExportError as error:
            failed = error
        results.print_rest(trouble, failures)
    if gathered.interrupt is not None:
        raise gathered.interrupt
    _judge(condition, reading.rows)
    if failed is not None:
        raise failed


def _note_trouble(connection: Connection, groups: Sequence[ClusterGroup]) -> list[Note]:
    """Return one note for all groups with trouble, with the command line for the first one; none without trouble."""
    troubled = [group for group in groups if trouble_of(group.summary.total) is not None]
    if not troubled:
        return []
    name = troubled[0].cluster.name
    note = note_trouble(troubled[0].summary.total, len(troubled) - 1, connection_words(connection, name))
    return [note._replace(cluster=name)]


def _entries(output: LagOutput, groups: Sequence[ClusterGroup], shown: Sequence[ClusterLag]) -> Iterator[Entry]:
    """Yield an entry for each group in JSON, else one for rows of one cluster that follow each other."""
    # One tuple for all entries, because writers compare its identity.
    columns = output.columns
    if output.output_format != "json":
        for cluster, run in groupby(shown, key=lambda each: each.cluster):
            yield Entry(columns, [each.row for each in run], dict, cluster=cluster)
        return
    parts: dict[tuple[str, str], list[LagRow]] = {}
    for cluster, row in shown:
        parts.setdefault((cluster.name, row.group), []).append(row)
    for cluster, summary in groups:
        if rows := parts.get((cluster.name, summary.total.group)):
            document = partial(lag_document, output.key, summary.total, rows)
            yield Entry(columns, rows, document, cluster=cluster)


def _judge(condition: Condition | None, rows: Sequence[ClusterLag]) -> None:
    """Raise CheckFailedError if the condition holds for a row."""
    failing = [] if condition is None else [each for each in rows if condition.holds(each.row.condition_values())]
    if failing:
        msg = f"the condition of --fail-if holds for {describe_groups_of_clusters(failing)}"
        raise CheckFailedError(msg)


def describe_groups_of_clusters(rows: Sequence[ClusterLag]) -> str:
    """Return the first groups with their clusters, and how many more there are."""
    names = dict.fromkeys(f"'{each.row.group}' of {each.cluster.name}" for each in rows)
    return first_names(names, MAX_NAMES, more=" and {:,} more")
