"""The states of a data directory, which a build hands to the next one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from kafka_groups.pipeline.schemas import GROUP_STATE, PARTITION_STATE, STATES, Table
from kafka_groups.pipeline.storage import NewFile, Storage
from kafka_groups.pipeline.transform.replacement import Replacement

__all__ = ["GROUP_STATE", "PARTITION_STATE", "STATES", "StateTables"]


class StateTables:
    """The states of a data directory."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def dates(self, table: Table) -> list[str]:
        """Return the dates that have a state, ascending."""
        return self._storage.dates(table)

    def newest_before(self, day: date, *, lost: Collection[str] = ()) -> date | None:
        """Return the newest date before `day` that has a state in any of the tables, except those of `lost`."""
        dates = {each for table in STATES for each in self.dates(table)} - {*lost}
        return max((found for each in dates if (found := date.fromisoformat(each)) < day), default=None)

    def files(self, table: Table, day: date | None) -> list[str]:
        """Return the addresses of the files with the state at the end of a date; none for None."""
        found = [] if day is None else self._storage.files(table, [day.isoformat()])
        return [self._storage.place.address(file.path) for file in found]

    def clear(self) -> None:
        """Remove all states."""
        for table in STATES:
            self._storage.remove(table, self.dates(table))

    def replace(
        self, replacement: Replacement, dates: Sequence[date], files: Sequence[NewFile], *, oldest: date
    ) -> None:
        """Replace the states of those dates, and remove those before the newest one that is not after `oldest`.

        A date without rows in a table has its state there, too: nothing.
        """
        limit = oldest.isoformat()
        there = {day.isoformat() for day in dates}.union(*map(self.dates, STATES))
        first = max((day for day in there if day <= limit), default=limit)
        for table in STATES:
            # Older states go in the same commit.
            older = {day for day in self.dates(table) if day < first}
            replacement.replace(table, {day.isoformat() for day in dates} | older, files)
