"""Two formats of one result, such as a table and a file of metrics."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.writers import Writer


class PairWriter:
    """A writer that writes each group in two formats."""

    def __init__(self, first: Writer, second: Writer) -> None:
        self._first = first
        self._second = second
        # Once the reader of the first one has read enough, as `head` does.
        self._broken: BrokenPipeError | None = None

    def add(self, entry: Entry) -> None:
        """Write one more group in both; in the second one only, if nobody reads the first one any more."""
        if self._broken is None:
            try:
                self._first.add(entry)
            except BrokenPipeError as error:
                self._broken = error
        self._second.add(entry)

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """End both. Raises the BrokenPipeError of the first one."""
        noted = list(notes)
        known = list(failures)
        try:
            if self._broken is not None:
                raise self._broken
            self._first.end(noted, known, status=status)
        finally:
            self._second.end(noted, known, status=status)
