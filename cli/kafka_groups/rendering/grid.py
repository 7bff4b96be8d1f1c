"""Rows as padded text: a million rows in seconds, where a table with a layout engine takes hours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import escape_controls

MISSING: Final = "-"


class Grid:
    """A table under way: the header stands in front of the first rows, and columns only ever grow wider.

    Columns are padded to their widest cell so far, numbers to the right; the last one is not padded.
    `most` is the width that none is padded beyond: a longer cell pushes its own row only.
    `escaped` makes control characters visible, and `width_of` measures a cell: a terminal's idea of
    both differs from a file's.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        escaped: bool = False,
        width_of: Callable[[str], int] = len,
        most: int | None = None,
    ) -> None:
        self._columns = columns
        self._escaped = escaped
        self._width_of = width_of
        self._most = most
        self._titles = tuple(column.header for column in columns)
        self._numbers = tuple(column.is_number for column in columns)
        self._widths: tuple[int, ...] = (0,) * len(columns)
        self._is_fresh = True

    def text_of(self, rows: Sequence[Any]) -> str:
        """Lines for these rows, each with its end."""
        cells = [self._cells(values) for values in _by_column(self._columns, rows)]
        measured = [max(map(self._width_of, texts), default=0) for texts in cells]
        if self._is_fresh:
            measured = list(map(max, measured, map(self._width_of, self._titles)))
        if self._most is not None:
            measured = [min(width, self._most) for width in measured]
        self._widths = tuple(map(max, self._widths, measured))
        head = _line(self._titles, self._numbers, self._widths) if self._is_fresh else ""
        self._is_fresh = False
        return head + self._lines(cells, len(rows))

    def _cells(self, values: Sequence[Any]) -> list[str]:
        """A column's texts; a single one if it is the same in all rows, as a group's name in its own block."""
        if values and values.count(values[0]) == len(values):
            values = values[:1]
        return _texts(values, escaped=self._escaped)

    def _lines(self, cells: Sequence[list[str]], rows: int) -> str:
        # One format for all rows of a block, with what is the same everywhere written into it: a third of
        # the time of padding cell by cell.
        by_count = self._width_of is len
        formats = list(_formats(self._numbers, self._widths)) if by_count else ["%s"] * len(cells)
        varying: list[list[str]] = []
        for at, texts in enumerate(cells):
            shown = texts if by_count else self._with_blanks(at, texts)
            if len(texts) == 1:
                formats[at] = (formats[at] % shown[0]).replace("%", "%%")
            else:
                varying.append(shown)
        line = "  ".join(formats) + "\n"
        return "".join(map(line.__mod__, zip(*varying, strict=True))) if varying else line % () * rows

    def _with_blanks(self, at: int, texts: Sequence[str]) -> list[str]:
        """Texts padded by what a terminal takes for their width; a format counts characters."""
        if at == len(self._widths) - 1 and not self._numbers[at]:
            return list(texts)
        blanks = [" " * (self._widths[at] - self._width_of(text)) for text in texts]
        sides = zip(blanks, texts, strict=True)
        return [blank + text if self._numbers[at] else text + blank for blank, text in sides]


@lru_cache(maxsize=64)
def _formats(numbers: tuple[bool, ...], widths: tuple[int, ...]) -> tuple[str, ...]:
    """How a cell of each column is padded. Blocks of a large cluster mostly have the same widths."""
    padded = [f"%{'' if is_number else '-'}{width}s" for is_number, width in zip(numbers, widths, strict=True)]
    return (*padded[:-1], padded[-1] if numbers[-1] else "%s")


@lru_cache(maxsize=64)
def _line(texts: tuple[str, ...], numbers: tuple[bool, ...], widths: tuple[int, ...]) -> str:
    return "  ".join(_formats(numbers, widths)) % texts + "\n"


def _by_column(columns: Sequence[Column], rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """The values of each column. Rows that are tuples are turned over in one go."""
    fields = getattr(rows[0], "_fields", None) if rows else None
    if fields is None:
        return [list(map(column.of, rows)) for column in columns]
    turned = dict(zip(fields, zip(*rows, strict=True), strict=True))
    return [turned[column.attribute] for column in columns]


def cells_of(column: Column, rows: Sequence[Any], *, escaped: bool = False) -> list[str]:
    """The column's text for each row; a missing value is a dash."""
    return _texts(map(column.of, rows), escaped=escaped)


def _texts(values: Iterable[Any], *, escaped: bool) -> list[str]:
    texts = [MISSING if value is None or value == "" else str(value) for value in values]
    return list(map(escape_controls, texts)) if escaped else texts


def kafka_lines(columns: Sequence[Column], rows: Sequence[Any], *, spare: int = 0, escaped: bool = False) -> list[str]:
    """Lines as Kafka's tool prints them: its widths, everything to the left; `spare` blanks more behind the first."""
    padded = []
    for at, column in enumerate(columns):
        texts = [column.header, *cells_of(column, rows, escaped=escaped)]
        width = max(column.least, max(map(len, texts[1:]), default=0) if column.is_measured else 0)
        padded.append([text.ljust(width + (0 if at else spare)) for text in texts])
    return [" ".join(line) for line in zip(*padded, strict=True)]
