"""No output: the result is printed in another form."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry


class SilentWriter:
    """A writer of nothing, for a command that prints a plan in place of a table."""

    def add(self, entry: Entry) -> None:
        """Write nothing."""

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write nothing."""
