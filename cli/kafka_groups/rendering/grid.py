"""Rows as padded text: a million rows in seconds, where a table with a layout engine takes hours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Final

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import escape_controls

MISSING: Final = "-"
# A column of numbers may have none for a row, or one with a sign in front, which is text.
_NUMBERS: Final = frozenset({int, float})


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
        self._least = tuple(len(title) for title in self._titles)
        self._widths: tuple[int, ...] = (0,) * len(columns)
        self._is_fresh = True
        self._fields: tuple[str, ...] | None = None
        self._places: list[int] = []
        # Blocks of a large cluster mostly have the same widths.
        self._layouts: dict[tuple[int, ...], tuple[tuple[str, ...], str]] = {}

    def restart(self) -> None:
        """Begin anew, as a table of its own."""
        self._widths = (0,) * len(self._columns)
        self._is_fresh = True

    def text_of(self, rows: Sequence[Any]) -> str:
        """Lines for these rows, each with its end."""
        cells: list[Sequence[Any]] = []
        measured: list[int] = []
        for is_number, values in zip(self._numbers, self._by_column(rows), strict=True):
            texts, width = self._cells(values, is_number=is_number)
            cells.append(texts)
            measured.append(width)
        if self._is_fresh:
            measured = list(map(max, measured, self._least))
        if self._most is not None:
            measured = [min(width, self._most) for width in measured]
        self._widths = tuple(map(max, self._widths, measured))
        formats, head = self._layout()
        text = self._lines(cells, formats, len(rows))
        is_first, self._is_fresh = self._is_fresh, False
        return head + text if is_first else text

    def _by_column(self, rows: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """The values of each column. Rows that are tuples are turned over in one go."""
        fields = getattr(rows[0], "_fields", None) if rows else None
        if fields is None:
            return [list(map(column.of, rows)) for column in self._columns]
        if fields is not self._fields:
            self._fields = fields
            self._places = [fields.index(column.attribute) for column in self._columns]
        turned = list(zip(*rows, strict=True))
        return [turned[place] for place in self._places]

    def _layout(self) -> tuple[tuple[str, ...], str]:
        """How a cell of each column is padded at these widths, and the line of titles."""
        known = self._layouts.get(self._widths)
        if known is None:
            sides = zip(self._numbers, self._widths, strict=True)
            padded = [f"%{'' if is_number else '-'}{width}s" for is_number, width in sides]
            formats = (*padded[:-1], padded[-1] if self._numbers[-1] else "%s")
            known = self._layouts[self._widths] = (formats, "  ".join(formats) % self._titles + "\n")
        return known

    def _cells(self, values: Sequence[Any], *, is_number: bool) -> tuple[Sequence[Any], int]:
        """A column's cells and the width of the widest; a single cell if all rows have the same, as a group's name.

        Numbers stay numbers where a format will write them.
        """
        if values and values.count(values[0]) == len(values):
            (text,) = _texts(values[:1], escaped=self._escaped)
            return (text,), self._width_of(text)
        if is_number and self._width_of is len and values and _NUMBERS.issuperset(map(type, values)):
            return values, max(len(str(max(values))), len(str(min(values))))
        texts = _texts(values, escaped=self._escaped)
        return texts, max(map(self._width_of, texts), default=0)

    def _lines(self, cells: Sequence[Sequence[Any]], formats: Sequence[str], rows: int) -> str:
        # One format for all rows of a block, with what is the same everywhere written into it: three fifths
        # of the time of padding cell by cell.
        by_count = self._width_of is len
        pieces: list[str] = []
        varying: list[Sequence[Any]] = []
        for at, texts in enumerate(cells):
            shown, piece = (texts, formats[at]) if by_count else (self._with_blanks(at, texts), "%s")
            if len(texts) == 1:
                pieces.append((piece % shown[0]).replace("%", "%%"))
            else:
                pieces.append(piece)
                varying.append(shown)
        line = "  ".join(pieces) + "\n"
        return line * rows % tuple(chain.from_iterable(zip(*varying, strict=True)))

    def _with_blanks(self, at: int, texts: Sequence[str]) -> list[str]:
        """Texts padded by what a terminal takes for their width; a format counts characters."""
        if at == len(self._widths) - 1 and not self._numbers[at]:
            return list(texts)
        blanks = [" " * (self._widths[at] - self._width_of(text)) for text in texts]
        sides = zip(blanks, texts, strict=True)
        return [blank + text if self._numbers[at] else text + blank for blank, text in sides]


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
