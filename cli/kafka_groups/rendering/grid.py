"""Rows as padded text: a million rows in seconds, where a table with a layout engine takes hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import escape_controls

MISSING: Final = "-"


class Grid:
    """A table under way: the header stands in front of the first rows, and columns only ever grow wider.

    Columns are padded to their widest cell so far, numbers to the right; the last one is not padded.
    `escaped` makes control characters visible, and `width_of` measures a cell: a terminal's idea of
    both differs from a file's.
    """

    def __init__(
        self, columns: Sequence[Column], *, escaped: bool = False, width_of: Callable[[str], int] = len
    ) -> None:
        self._columns = columns
        self._escaped = escaped
        self._width_of = width_of
        self._widths = [0] * len(columns)
        self._header: list[str] | None = [column.header for column in columns]

    def text_of(self, rows: Sequence[Any]) -> str:
        """Lines for these rows, each with its end."""
        cells = [cells_of(column, rows, escaped=self._escaped) for column in self._columns]
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


def cells_of(column: Column, rows: Sequence[Any], *, escaped: bool = False) -> list[str]:
    """The column's text for each row; a missing value is a dash."""
    texts = [MISSING if value is None or value == "" else str(value) for value in map(column.of, rows)]
    return list(map(escape_controls, texts)) if escaped else texts


def kafka_lines(columns: Sequence[Column], rows: Sequence[Any], *, spare: int = 0, escaped: bool = False) -> list[str]:
    """Lines as Kafka's tool prints them: its widths, everything to the left; `spare` blanks more behind the first."""
    padded = []
    for at, column in enumerate(columns):
        texts = [column.header, *cells_of(column, rows, escaped=escaped)]
        width = max(column.least, max(map(len, texts[1:]), default=0) if column.is_measured else 0)
        padded.append([text.ljust(width + (0 if at else spare)) for text in texts])
    return [" ".join(line) for line in zip(*padded, strict=True)]
