"""Commits to publish, and what a reader sees of them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from kafka_groups.pipeline.store import NewFile, Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS, Table

FIRST = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)


def commits(offsets: Iterable[int], *, day: int = 0, cluster: str = "here") -> pa.Table:
    """Return a commit for each offset of partition 7 of the topic."""
    return rows_of(
        OFFSET_COMMITS,
        [
            {
                "cluster_id": cluster,
                "origin": "topic",
                "source_partition": 7,
                "source_offset": offset,
                "record_time": FIRST + dt.timedelta(days=day),
                "group": f"g{offset % 5}",
                "topic": "orders",
                "partition": 0,
                "committed_offset": offset,
                "commit_time": FIRST + dt.timedelta(days=day, seconds=offset),
                "is_tombstone": False,
            }
            for offset in offsets
        ],
    )


def rows_of(table: Table, rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=table.arrow())


def written(
    storage: Storage, *tables: pa.Table, table: Table = OFFSET_COMMITS, batch: str = "w-00000001"
) -> list[NewFile]:
    """Return files as workers leave them: those of a writer for each of the given tables."""
    files = []
    for rows in tables:
        with storage.writer(batch) as writer:
            for part in rows.to_batches():
                writer.write(table, part)
            files += writer.close()
    return files


def append(storage: Storage, batch: str, *tables: pa.Table, table: Table = OFFSET_COMMITS) -> None:
    """Add rows of a batch."""
    storage.append(written(storage, *tables, table=table, batch=batch))


def append_at_once(storage: Storage, batches: Mapping[str, Sequence[pa.Table]], table: Table = OFFSET_COMMITS) -> None:
    """Add rows of many batches with one commit, which takes a fraction of the time of one each."""
    files = (written(storage, *tables, table=table, batch=batch) for batch, tables in batches.items())
    storage.append([file for found in files for file in found])


def seen(storage: Storage, table: Table = OFFSET_COMMITS) -> Counter[int]:
    """Return how often a reader that knows only the format sees each offset."""
    is_there = DeltaTable.is_deltatable(str(Path(storage.location, table.name)))
    return Counter(delta_rows(storage, table)["source_offset"].to_pylist() if is_there else [])


def count_rows(storage: Storage, table: Table = OFFSET_COMMITS) -> int:
    """Return the number of rows of the table by its log, without those of unfinished samples."""
    return sum(file.rows for file in storage.files(table))


def delta_rows(storage: Storage, table: Table = OFFSET_COMMITS) -> pa.Table:
    """Return the rows of the newest version, read by deltalake."""
    return DeltaTable(str(Path(storage.location, table.name))).to_pyarrow_table()


def names(path: Path) -> list[str]:
    """Return the names in a directory, hidden ones included."""
    return sorted(entry.name for entry in path.iterdir())


def places(storage: Storage, table: Table = OFFSET_COMMITS) -> list[tuple[str, str]]:
    """Return the dates and batches that have files, each once."""
    return sorted({(file.date, file.batch) for file in storage.files(table)})
