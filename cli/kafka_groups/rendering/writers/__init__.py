"""Writers of results, one module for each format. Groups are written as they come, in whatever format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column, Entry, View
from kafka_groups.rendering.screen import Screen

FORMATS: Final = ("table", "json", "ndjson", "csv")


class Writer(Protocol):
    """A format that is being written."""

    def add(self, entry: Entry) -> None:
        """Write one more group."""

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write what follows the last group."""


def open_writer(
    screen: Screen,
    output_format: str,
    *,
    command: str,
    view: View,
    columns: Sequence[Column],
    csv_columns: Sequence[Column] | None = None,
    items: str = "groups",
) -> Writer:
    """Return the writer of one of FORMATS: a table has these columns, CSV all of the view, or `csv_columns`.

    `items` is the key of the results in a JSON document. Rows of several clusters have the column CLUSTER first.
    Modules of formats are imported when they are needed.
    """
    if output_format == "json":
        from kafka_groups.rendering.writers.json import JsonWriter

        return JsonWriter(screen, f"kafka-groups/{command}/1", items=items)
    if output_format == "ndjson":
        from kafka_groups.rendering.writers.json import NdjsonWriter

        return NdjsonWriter(screen, view)
    shown = columns if output_format == "table" else view.table() if csv_columns is None else csv_columns
    if not screen.names_clusters:
        return _open_rows(screen, output_format, shown)
    from kafka_groups.rendering.writers.clusters import ClusterColumns, ClusterWriter

    cluster_columns = ClusterColumns()
    return ClusterWriter(_open_rows(screen, output_format, cluster_columns.of(shown)), cluster_columns)


def _open_rows(screen: Screen, output_format: str, columns: Sequence[Column]) -> Writer:
    if output_format == "csv":
        from kafka_groups.rendering.writers.csv import CsvWriter

        return CsvWriter(screen, columns)
    from kafka_groups.rendering.writers.table import TableWriter

    return TableWriter(screen, columns)
