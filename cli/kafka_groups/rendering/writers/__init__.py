"""Writers of results, one module for each format. Groups are written as they come, in whatever format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry, View
from kafka_groups.rendering.screen import Screen

FORMATS: Final = ("table", "json", "ndjson", "csv")


class Writer(Protocol):
    """A format that is being written."""

    def add(self, entry: Entry) -> None:
        """Write one more group."""

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """Write what follows the last group."""


def open_data_writer(screen: Screen, output_format: str, *, command: str, view: View) -> Writer | None:
    """Return the writer of a format for programs: json, ndjson or csv; None for another format.

    CSV has all columns of the view. Modules of formats are imported when they are needed.
    """
    if output_format == "json":
        from kafka_groups.rendering.writers.json import JsonWriter

        return JsonWriter(screen, f"kafka-groups/{command}/1")
    if output_format == "ndjson":
        from kafka_groups.rendering.writers.json import NdjsonWriter

        return NdjsonWriter(screen, view)
    if output_format == "csv":
        from kafka_groups.rendering.writers.csv import CsvWriter

        return CsvWriter(screen, view.table())
    return None
