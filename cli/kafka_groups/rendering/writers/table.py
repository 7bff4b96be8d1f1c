"""Tables: drawn by rich if they are read on a terminal and fit it, else padded text, which takes a million rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Final

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.cells import cell_texts

# rich takes about a millisecond a row, and people read more than a few screenfuls in a pager.
_MAX_DRAWN_ROWS: Final = 200
# On a terminal, one long name must not fold the lines of all the others.
_MAX_WIDTH: Final = 60
_CHUNK_ROWS: Final = 5_000
_CHUNK_BLOCKS: Final = 200


class BlockWriter:
    """A table for each group, each with a blank line before it, as Kafka's tool prints them."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._is_drawn = screen.out_is_terminal or screen.colour
        self._rows = 0
        self._grid: Grid | None = None
        self._columns: Sequence[Column] = ()
        self._texts: list[str] = []

    def add(self, entry: Entry) -> None:
        """Write a blank line, the header and the rows; nothing for most groups without rows."""
        if not (entry.rows or entry.is_header_kept):
            return
        self._rows += len(entry.rows)
        if self._is_drawn:
            self._screen.out.write("\n")
            write_table(self._screen, entry.columns, entry.rows, so_far=self._rows)
        else:
            self._add_text(entry)

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write the remaining blocks; failures are printed on stderr."""
        self._screen.out.write("".join(self._texts))
        self._texts = []

    def _add_text(self, entry: Entry) -> None:
        # Sixty thousand small blocks: one grid serves those of the same columns, and many are written at once.
        if self._grid is None or self._columns is not entry.columns:
            self._grid = _grid(self._screen, entry.columns)
            self._columns = entry.columns
        self._grid.restart()
        self._texts += ("\n", self._grid.text_of(entry.rows))
        if len(self._texts) >= _CHUNK_BLOCKS:
            self._screen.out.write("".join(self._texts))
            self._texts = []


class TableWriter:
    """One table for all groups: drawn if it is a screenful, else written in chunks.

    Groups whose entries have another view, with other columns, are another table after a blank line.
    """

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self._screen = screen
        self._columns = columns
        self._grid: Grid | None = None
        self._rows: list[Any] = []

    def add(self, entry: Entry) -> None:
        """Write the group's rows, at once or with those of later groups."""
        if entry.view is not None and entry.columns is not self._columns:
            self._begin_table(entry.columns)
        self._rows += entry.rows
        if len(self._rows) >= _CHUNK_ROWS:
            self._flush()

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write the remaining rows. If everything failed, there is no table and no header either."""
        if status == "failed" and not self._rows:
            return
        self._write_rest()

    def _begin_table(self, columns: Sequence[Column]) -> None:
        if self._rows or self._grid is not None:
            self._write_rest()
            self._screen.out.write("\n")
        self._columns = columns
        self._grid = None
        self._rows = []

    def _write_rest(self) -> None:
        if self._grid is None:
            write_table(self._screen, self._columns, self._rows)
        else:
            self._flush()

    def _flush(self) -> None:
        self._grid = self._grid or _grid(self._screen, self._columns)
        self._screen.out.write(self._grid.text_of(self._rows))
        self._rows = []


def write_table(screen: Screen, columns: Sequence[Column], rows: Sequence[Any], *, so_far: int = 0) -> None:
    """Write a table: drawn by rich if people read it and it fits the window, else as padded text at full width.

    With `--color always` rich draws it in a pipe, too, at the width that it needs.
    `so_far` is the number of rows up to the end of this table, if the result has many tables.
    """
    if (screen.out_is_terminal or screen.colour) and max(so_far, len(rows)) <= _MAX_DRAWN_ROWS:
        from kafka_groups.rendering.writers.terminal import draw_table

        if draw_table(screen, columns, rows):
            return
    screen.out.write(_grid(screen, columns).text_of(rows))


def _grid(screen: Screen, columns: Sequence[Column]) -> Grid:
    if not screen.out_is_terminal:
        return Grid(columns)
    from rich.cells import cell_len

    return Grid(columns, escaped=True, width_of=cell_len, max_width=_MAX_WIDTH)


# A column of numbers may also contain None, and texts such as a number with a sign.
_NUMBERS: Final = frozenset({int, float})


class Grid:
    """A table as padded text, written in parts: the header is before the first rows, and columns only grow.

    Columns are padded to their widest cell yet, numbers on the left; the last column is not padded.
    `max_width` limits the padding: a longer cell moves only the rest of its own row.
    `escaped` makes control characters visible, and `width_of` measures a cell; terminals and files differ in both.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        escaped: bool = False,
        width_of: Callable[[str], int] = len,
        max_width: int | None = None,
    ) -> None:
        self._columns = columns
        self._escaped = escaped
        self._width_of = width_of
        self._max_width = max_width
        self._titles = tuple(column.header for column in columns)
        self._numbers = tuple(column.is_number for column in columns)
        self._least = tuple(len(title) for title in self._titles)
        self._widths: tuple[int, ...] = (0,) * len(columns)
        self._is_fresh = True
        self._fields: tuple[str, ...] | None = None
        # The places of the columns in a row that is a tuple; None if a column is not one of its fields.
        self._places: list[int] | None = None
        # Blocks of a large cluster mostly have the same widths.
        self._layouts: dict[tuple[int, ...], tuple[tuple[str, ...], str]] = {}

    def restart(self) -> None:
        """Begin a new table with the same columns."""
        self._widths = (0,) * len(self._columns)
        self._is_fresh = True

    def text_of(self, rows: Sequence[Any]) -> str:
        """Return the lines of these rows, with the header before the first ones."""
        cells: list[Sequence[Any]] = []
        measured: list[int] = []
        for is_number, values in zip(self._numbers, self._by_column(rows), strict=True):
            texts, width = self._cells(values, is_number=is_number)
            cells.append(texts)
            measured.append(width)
        if self._is_fresh:
            measured = list(map(max, measured, self._least))
        if self._max_width is not None:
            measured = [min(width, self._max_width) for width in measured]
        self._widths = tuple(map(max, self._widths, measured))
        formats, head = self._layout()
        text = self._lines(cells, formats, len(rows))
        is_first, self._is_fresh = self._is_fresh, False
        return head + text if is_first else text

    def _by_column(self, rows: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Return the values of each column. Rows that are tuples are transposed in one step."""
        fields = getattr(rows[0], "_fields", None) if rows else None
        if fields is not self._fields or fields is None:
            self._fields = fields
            places = {name: place for place, name in enumerate(fields or ())}
            attributes = [column.attribute for column in self._columns]
            self._places = [places[name] for name in attributes] if places.keys() >= set(attributes) else None
        if self._places is None:
            return [list(map(column.of, rows)) for column in self._columns]
        transposed = list(zip(*rows, strict=True))
        return [
            transposed[place] if column.show is None else list(map(column.show, transposed[place]))
            for place, column in zip(self._places, self._columns, strict=True)
        ]

    def _layout(self) -> tuple[tuple[str, ...], str]:
        """Return the format of a cell of each column at these widths, and the line of headers."""
        known = self._layouts.get(self._widths)
        if known is None:
            sides = zip(self._numbers, self._widths, strict=True)
            padded = [f"%{'' if is_number else '-'}{width}s" for is_number, width in sides]
            formats = (*padded[:-1], padded[-1] if self._numbers[-1] else "%s")
            known = self._layouts[self._widths] = (formats, "  ".join(formats) % self._titles + "\n")
        return known

    def _cells(self, values: Sequence[Any], *, is_number: bool) -> tuple[Sequence[Any], int]:
        """Return a column's cells and the width of the widest; one cell if all rows have the same, as a group's id.

        Numbers stay numbers, because the format writes them.
        """
        if values and values.count(values[0]) == len(values):
            (text,) = cell_texts(values[:1], escaped=self._escaped)
            return (text,), self._width_of(text)
        if is_number and self._width_of is len and values and _NUMBERS.issuperset(map(type, values)):
            return values, max(len(str(max(values))), len(str(min(values))))
        texts = cell_texts(values, escaped=self._escaped)
        return texts, max(map(self._width_of, texts), default=0)

    def _lines(self, cells: Sequence[Sequence[Any]], formats: Sequence[str], rows: int) -> str:
        # One format for all rows of a block, which already contains what is the same in all of them, takes three
        # fifths of the time of padding cell by cell.
        by_count = self._width_of is len
        pieces: list[str] = []
        varying: list[Sequence[Any]] = []
        for at, texts in enumerate(cells):
            shown, piece = (texts, formats[at]) if by_count else (self._pad(at, texts), "%s")
            if len(texts) == 1:
                pieces.append((piece % shown[0]).replace("%", "%%"))
            else:
                pieces.append(piece)
                varying.append(shown)
        line = "  ".join(pieces) + "\n"
        return line * rows % tuple(chain.from_iterable(zip(*varying, strict=True)))

    def _pad(self, at: int, texts: Sequence[str]) -> list[str]:
        """Return texts padded by their width on a terminal; a format counts characters."""
        if at == len(self._widths) - 1 and not self._numbers[at]:
            return list(texts)
        blanks = [" " * (self._widths[at] - self._width_of(text)) for text in texts]
        sides = zip(blanks, texts, strict=True)
        return [blank + text if self._numbers[at] else text + blank for blank, text in sides]
