"""Sizes of the tables in a directory, from their logs: no file is read."""

from __future__ import annotations

from typing import NamedTuple

from kafka_groups.pipeline.store.storage import Storage
from kafka_groups.pipeline.tables import TABLES


class TableSize(NamedTuple):
    """The size of a table: its rows, its files, their bytes, and its first and last date (YYYY-MM-DD).

    Rows of unfinished samples are not counted. A table without rows has no dates: both are None.
    """

    rows: int
    files: int
    bytes: int
    first_date: str | None
    last_date: str | None


def measure_tables(storage: Storage) -> dict[str, TableSize]:
    """Return the size of each documented table by its name, in the order of the documentation. Raises StorageError."""
    sizes = {}
    for table in TABLES.values():
        files = storage.files(table)
        dates = [file.date for file in files]
        sizes[table.name] = TableSize(
            rows=sum(file.rows for file in files),
            files=len(files),
            bytes=sum(file.bytes for file in files),
            first_date=min(dates, default=None),
            last_date=max(dates, default=None),
        )
    return sizes
