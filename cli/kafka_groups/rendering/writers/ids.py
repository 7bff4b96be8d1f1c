"""Bare ids, for `xargs` and other programs that read one value at a time."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.screen import Screen, escape_controls


class IdWriter:
    """One value a line; `end_of_value` is a newline or NUL."""

    def __init__(self, screen: Screen, column: Column, *, end_of_value: str = "\n") -> None:
        self._screen = screen
        self._column = column
        self._end = end_of_value

    def add(self, entry: Entry) -> None:
        """Write the values of this group's rows."""
        values = map(str, map(self._column.of, entry.rows))
        shown = map(escape_controls, values) if self._screen.out_is_terminal else values
        self._screen.out.write(self._end.join([*shown, ""]))

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write nothing: failures are printed on stderr."""
