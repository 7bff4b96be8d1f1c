"""The derived tables of a build take the place of those before it, unless another build has replaced them meanwhile."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage import NewFile, Storage
from kafka_groups.pipeline.storage.layout import BUILD


class Replacement:
    """One build: it remembers which build replaced each table last, and is refused if that changes.

    On a disk the lock of builds comes first; an object store has none.
    """

    def __init__(self, storage: Storage, tables: Sequence[Table]) -> None:
        self._storage = storage
        self._last = {table.name: storage.versions_of(table, [BUILD]).get(BUILD) for table in tables}
        self._number = secrets.randbits(62)

    def replace(self, table: Table, dates: Collection[str], files: Sequence[NewFile]) -> None:
        """Put the files of the table and these dates in place of what the dates hold. Raises StorageError."""
        expected = {BUILD: self._last[table.name]}
        if self._storage.replace(table, dates, files, {BUILD: self._number}, expected):
            self._last[table.name] = self._number
