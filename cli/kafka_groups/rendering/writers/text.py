"""Texts for people: each row of a result is some lines, which are no columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen, escape_controls


class TextWriter:
    """A writer of the lines of each row, with a blank line between two rows. A terminal gets no control characters."""

    def __init__(self, screen: Screen, lines_of: Callable[[Any, Screen], Iterable[str]]) -> None:
        self._screen = screen
        self._lines_of = lines_of
        self._is_fresh = True

    def add(self, entry: Entry) -> None:
        """Write the rows of a group, after the name of its cluster if the result has several."""
        for row in entry.rows:
            lines = [*self._lines_of(row, self._screen)]
            if self._screen.names_clusters and entry.cluster is not None:
                lines.insert(0, f"Cluster {entry.cluster.name}:")
            if not self._is_fresh:
                self._screen.out.write("\n")
            self._is_fresh = False
            if self._screen.out_is_terminal:
                lines = [escape_controls(line) for line in lines]
            self._screen.out.writelines(line + "\n" for line in lines)

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write nothing: notes and failures are printed on stderr."""
