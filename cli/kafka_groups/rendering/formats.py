"""One answer in the format that was asked for. Whatever the format, groups are written as they come."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.documents import Document, failure_document
from kafka_groups.rendering.grid import Grid, kafka_lines
from kafka_groups.rendering.screen import Screen, escape_controls

FORMATS: Final = ("table", "json", "ndjson", "csv")
# rich takes about a millisecond a row; more than a few screenfuls is read in a pager anyway.
_MOST_DRAWN_ROWS: Final = 200
# On a terminal, one long name must not fold the lines of all the others.
_MOST_PADDED: Final = 60
_CHUNK: Final = 5_000
_BLOCKS: Final = 200


class Entry(NamedTuple):
    """One group to be written: its rows, and how to make its JSON forms when they are wanted.

    `columns` may differ from group to group where a column stands only if it has something to show.
    `is_header_kept` says that a block without rows still has its header, as Kafka's members view does.
    """

    columns: Sequence[Column]
    rows: Sequence[Any]
    document: Callable[[], Document]
    records: Callable[[], Iterable[Mapping[str, Any]]]
    is_header_kept: bool = False


class Writer(Protocol):
    """A format under way."""

    def add(self, entry: Entry) -> None:
        """Write one more group."""

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """Write what comes after the last group."""


class BlockWriter:
    """Tables for people: a block a group, a blank line in front of each (as Kafka's tool has it)."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._is_for_eyes = screen.out_is_terminal or screen.colour
        self._rows = 0
        self._grid: Grid | None = None
        self._columns: Sequence[Column] = ()
        self._texts: list[str] = []

    def add(self, entry: Entry) -> None:
        """A blank line, the header, the rows; nothing for most groups without rows."""
        if not (entry.rows or entry.is_header_kept):
            return
        self._rows += len(entry.rows)
        if self._is_for_eyes:
            self._screen.out.write("\n")
            write_table(self._screen, entry.columns, entry.rows, so_far=self._rows)
        else:
            self._add_text(entry)

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """What is left; failures are told on stderr."""
        self._screen.out.write("".join(self._texts))
        self._texts = []

    def _add_text(self, entry: Entry) -> None:
        # Sixty thousand small blocks: one grid serves those of the same columns, and many are written at once.
        if self._grid is None or self._columns is not entry.columns:
            self._grid, self._columns = _grid(self._screen, entry.columns), entry.columns
        self._grid.restart()
        self._texts += ("\n", self._grid.text_of(entry.rows))
        if len(self._texts) >= _BLOCKS:
            self._screen.out.write("".join(self._texts))
            self._texts = []


class TableWriter:
    """One table for all groups: drawn if it ends within a screenful, else streamed in chunks."""

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self._screen = screen
        self._columns = columns
        self._grid: Grid | None = None
        self._rows: list[Any] = []

    def add(self, entry: Entry) -> None:
        """The group's rows, sooner or later."""
        self._rows += entry.rows
        if len(self._rows) >= _CHUNK:
            self._flush()

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """What is left. Where nothing could be answered there is no table, and no header either."""
        if status == "failed" and not self._rows:
            return
        if self._grid is None:
            write_table(self._screen, self._columns, self._rows)
        else:
            self._flush()

    def _flush(self) -> None:
        self._grid = self._grid or _grid(self._screen, self._columns)
        self._screen.out.write(self._grid.text_of(self._rows))
        self._rows = []


class BareWriter:
    """One value a line and nothing else, for `xargs`; `end_of_value` is a newline or NUL."""

    def __init__(self, screen: Screen, column: Column, *, end_of_value: str = "\n") -> None:
        self._screen = screen
        self._column = column
        self._end = end_of_value

    def add(self, entry: Entry) -> None:
        """The values of this group's rows."""
        values = map(str, map(self._column.of, entry.rows))
        shown = map(escape_controls, values) if self._screen.out_is_terminal else values
        self._screen.out.write("".join([value + self._end for value in shown]))

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """Nothing: failures are told on stderr."""


class KafkaWriter:
    """The columns and padding of Kafka's own tool, for scripts that cut them."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def add(self, entry: Entry) -> None:
        """A block as Kafka's tool prints it."""
        if entry.rows or entry.is_header_kept:
            lines = kafka_lines(entry.columns, entry.rows, escaped=self._screen.out_is_terminal)
            self._screen.out.write("\n" + "\n".join(lines) + "\n")

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """Nothing: failures are told on stderr."""


class KafkaListWriter:
    """The list as Kafka's tool prints it: one table, ten blanks more behind the group than it needs."""

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self._screen = screen
        self._columns = columns
        self._rows: list[Any] = []

    def add(self, entry: Entry) -> None:
        """Keep the rows: the widest id sets the width."""
        self._rows += entry.rows

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """The whole table, unless nothing could be answered."""
        if self._rows or status != "failed":
            lines = kafka_lines(self._columns, self._rows, spare=10, escaped=self._screen.out_is_terminal)
            self._screen.out.write("\n".join(lines) + "\n")


class CsvWriter:
    """RFC 4180 with one header, unless nothing could be answered; a missing value is empty."""

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self._writer = csv.writer(screen.out, lineterminator="\n")
        self._columns = columns
        self._show = _show_on_terminal if screen.out_is_terminal else _show_as_is
        self._is_fresh = True

    def add(self, entry: Entry) -> None:
        """The rows, in the columns of the header whatever the group's own are."""
        self._begin()
        self._writer.writerows(
            zip(*(map(self._show, map(column.of, entry.rows)) for column in self._columns), strict=True)
        )

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """The header of an answer without groups."""
        if status != "failed":
            self._begin()

    def _begin(self) -> None:
        if self._is_fresh:
            self._writer.writerow([column.header for column in self._columns])
            self._is_fresh = False


class NdjsonWriter:
    """A JSON object a row, its group on every one."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def add(self, entry: Entry) -> None:
        """The rows of a group."""
        self._screen.out.writelines(_dumps(self._screen, record) + "\n" for record in entry.records())

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """Nothing: failures are told on stderr."""


class JsonWriter:
    """One document. It is written group by group, so its status, known last, stands last."""

    def __init__(self, screen: Screen, schema: str) -> None:
        self._screen = screen
        self._head = f'{{"schema": {json.dumps(schema)},\n"groups": ['
        self._before = self._head

    def add(self, entry: Entry) -> None:
        """One element of `groups`."""
        self._screen.out.write(f"{self._before}\n{_dumps(self._screen, entry.document())}")
        self._before = ","

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """The errors and the status."""
        errors = ",\n".join(_dumps(self._screen, failure_document(failure)) for failure in failures)
        head = self._head if self._before == self._head else ""
        self._screen.out.write(f'{head}],\n"errors": [{errors}],\n"status": {json.dumps(status)}}}\n')


def write_table(screen: Screen, columns: Sequence[Column], rows: Sequence[Any], *, so_far: int = 0) -> None:
    """A table: drawn by rich if it is for eyes, a screenful, and fits the window; else padded text at full width.

    `--color always` is for eyes too, in a pipe at whatever width it takes.
    `so_far` is how many rows the answer has up to this table's end, where it has many tables.
    """
    if (screen.out_is_terminal or screen.colour) and max(so_far, len(rows)) <= _MOST_DRAWN_ROWS:
        from kafka_groups.rendering.terminal import draw_table

        if draw_table(screen, columns, rows):
            return
    screen.out.write(_grid(screen, columns).text_of(rows))


def _grid(screen: Screen, columns: Sequence[Column]) -> Grid:
    if not screen.out_is_terminal:
        return Grid(columns)
    from rich.cells import cell_len

    return Grid(columns, escaped=True, width_of=cell_len, most=_MOST_PADDED)


def _show_as_is(value: Any) -> Any:
    return value


def _show_on_terminal(value: Any) -> Any:
    return escape_controls(value) if isinstance(value, str) else value


def _dumps(screen: Screen, value: Mapping[str, Any]) -> str:
    # Where the stream cannot show a character, JSON's own escape is the only one that JSON readers know.
    is_unicode = (screen.out.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not is_unicode)
    return escape_controls(text, lambda char: json.dumps(char)[1:-1]) if screen.out_is_terminal else text
