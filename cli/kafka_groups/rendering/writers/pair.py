"""Two formats of one result, such as a table and a file of metrics."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.model import Failure
from kafka_groups.rendering.writers import Entry, Writer


class PairWriter:
    """A writer that writes each group in two formats."""

    def __init__(self, first: Writer, second: Writer) -> None:
        self._writers = (first, second)

    def add(self, entry: Entry) -> None:
        """Write one more group in both."""
        for writer in self._writers:
            writer.add(entry)

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """End both."""
        known = list(failures)
        first, second = self._writers
        try:
            first.end(known, status=status)
        finally:
            # The reader of the first one may have read enough, as `head` does.
            second.end(known, status=status)
