"""Tables and CSV of several clusters: the column CLUSTER before those of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column, Entry, name_column

if TYPE_CHECKING:
    from kafka_groups.rendering.writers import Writer

CLUSTER: Final = name_column("CLUSTER", "cluster", kafka_width=15)


class ClusterRow(NamedTuple):
    """A row of a table, and the name of its cluster."""

    cluster: str
    row: Any


class ClusterColumns:
    """The columns of tables with CLUSTER before them. The same columns are made once: writers compare identities."""

    def __init__(self) -> None:
        # Columns are not hashable; those of the key are kept, so that no others get its id.
        self._made: dict[int, tuple[Sequence[Column], tuple[Column, ...]]] = {}

    def of(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return the columns of rows that are ClusterRows."""
        if id(columns) not in self._made:
            moved = (column._replace(attribute=f"row.{column.attribute}") for column in columns)
            self._made[id(columns)] = (columns, (CLUSTER, *moved))
        return self._made[id(columns)][1]


class ClusterWriter:
    """A writer of tables or CSV whose rows name their cluster."""

    def __init__(self, writer: Writer, columns: ClusterColumns) -> None:
        self._writer = writer
        self._columns = columns

    def add(self, entry: Entry) -> None:
        """Write one more group, with its cluster in each row."""
        name = "" if entry.cluster is None else entry.cluster.name
        rows = [ClusterRow(name, row) for row in entry.rows]
        csv_columns = None if entry.csv_columns is None else self._columns.of(entry.csv_columns)
        self._writer.add(entry._replace(columns=self._columns.of(entry.columns), rows=rows, csv_columns=csv_columns))

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write what follows the last group."""
        self._writer.end(notes, failures, status=status)
