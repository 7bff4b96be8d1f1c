"""CSV as in RFC 4180, with one header."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.cells import csv_cell

if TYPE_CHECKING:
    from _csv import Writer


class CsvWriter:
    """RFC 4180 with one header, unless everything failed; a missing value is empty.

    The columns are `columns`, or those that the first group has for CSV.
    """

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self._writer = _open_csv(screen)
        self._columns = columns
        self._cells: Sequence[Callable[[Any], Any]] = ()
        self._show = csv_cell(screen)
        self._is_fresh = True

    def add(self, entry: Entry) -> None:
        """Write the rows with the columns of the header, not those of the entry."""
        if self._is_fresh:
            self._columns = entry.csv_columns or self._columns
            self._cells = [column.of for column in self._columns]
        self._write_header()
        self._writer.writerows(zip(*(map(self._show, map(cell, entry.rows)) for cell in self._cells), strict=True))

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write the header of a result without groups."""
        if status != "failed":
            self._write_header()

    def _write_header(self) -> None:
        if self._is_fresh:
            self._writer.writerow([column.header for column in self._columns])
            self._is_fresh = False


def _open_csv(screen: Screen) -> Writer:
    """Return a writer of CSV to stdout that quotes every cell with a line break, also one with a carriage return."""
    # The csv module quotes the characters of its own line end and, before Python 3.13, no other line breaks.
    return csv.writer(_Lines(screen.out), lineterminator="\r\n")


class _Lines:
    """A stream for lines that end with a carriage return and a newline; it writes the newline only."""

    def __init__(self, stream: TextIO) -> None:
        self._write = stream.write

    def write(self, line: str) -> int:
        """Write one line."""
        return self._write(line.removesuffix("\r\n") + "\n")
