"""Texts for people: each row of a result is some lines, which are no columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen, escape_controls


class Line(NamedTuple):
    """A line of a text. `style` is one of rich, such as `bold red`, for output with colours; empty for none."""

    text: str
    style: str = ""


class TextWriter:
    """A writer of the lines of each row, with a blank line between two rows. A terminal gets no control characters."""

    def __init__(self, screen: Screen, lines_of: Callable[[Any, Screen], Iterable[Line]]) -> None:
        self._screen = screen
        self._lines_of = lines_of
        self._is_fresh = True

    def add(self, entry: Entry) -> None:
        """Write the rows of a group, after the name of its cluster if the result has several."""
        for row in entry.rows:
            lines = [*self._lines_of(row, self._screen)]
            if self._screen.names_clusters and entry.cluster is not None:
                lines.insert(0, Line(f"Cluster {entry.cluster.name}:"))
            if not self._is_fresh:
                self._screen.out.write("\n")
            self._is_fresh = False
            self._screen.out.writelines(self._show(line) + "\n" for line in lines)

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write nothing: notes and failures are printed on stderr."""

    def _show(self, line: Line) -> str:
        text = escape_controls(line.text) if self._screen.out_is_terminal else line.text
        if not (self._screen.colour and line.style):
            return text
        from rich.style import Style

        return Style.parse(line.style).render(text)
