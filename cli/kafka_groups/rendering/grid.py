"""Rows as padded text: a million rows in seconds, where a table with a layout engine takes hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_groups.rendering.columns import Column

MISSING: Final = "-"


class Grid:
    """A table under way: the header stands in front of the first rows, and columns only ever grow wider.

    Columns are padded to their widest cell so far, numbers to the right; the last one is not padded.
    `width_of` measures a cell, for a terminal's idea of it differs from the number of characters.
    """

    def __init__(self, columns: Sequence[Column], *, width_of: Callable[[str], int] = len) -> None:
        self._columns = columns
        self._width_of = width_of
        self._widths = [0] * len(columns)
        self._header: list[str] | None = [column.header for column in columns]

    def text_of(self, rows: Sequence[Any]) -> str:
        """Lines for these rows, each with its end."""
        cells = [cells_of(column, rows) for column in self._columns]
        if self._header:
            cells = [[title, *texts] for title, texts in zip(self._header, cells, strict=True)]
            self._header = None
        measured = [max(map(self._width_of, texts), default=0) for texts in cells]
        self._widths = list(map(max, self._widths, measured))
        padded = [self._pad(at, texts) for at, texts in enumerate(cells)]
        return "".join([line + "\n" for line in map("  ".join, zip(*padded, strict=True))])

    def _pad(self, at: int, texts: list[str]) -> list[str]:
        width = self._widths[at]
        if self._columns[at].is_number:
            return [text.rjust(width) for text in texts]
        if at == len(self._columns) - 1:
            return texts
        if self._width_of is len:
            return [text.ljust(width) for text in texts]
        return [text + " " * (width - self._width_of(text)) for text in texts]


def cells_of(column: Column, rows: Sequence[Any]) -> list[str]:
    """The column's text for each row; a missing value is a dash."""
    return [MISSING if value is None or value == "" else str(value) for value in map(column.of, rows)]


def kafka_lines(columns: Sequence[Column], rows: Sequence[Any], *, spare: int = 0) -> list[str]:
    """Lines as Kafka's tool prints them: its widths, everything to the left; `spare` blanks more behind the first."""
    padded = []
    for at, column in enumerate(columns):
        texts = [column.header, *cells_of(column, rows)]
        width = max(column.least, max(map(len, texts[1:]), default=0) if column.is_measured else 0)
        padded.append([text.ljust(width + (0 if at else spare)) for text in texts])
    return [" ".join(line) for line in zip(*padded, strict=True)]
