"""Facts for tests, written into a real storage as ingest, sample and backfill would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.tables import TABLES, Table
from tests.pipeline.store.commits import append

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
Row = dict[str, Any]


def at(seconds: float, *, since: datetime = NOON) -> datetime:
    return since + timedelta(seconds=seconds)


def commit(seconds: float, offset: int | None, *, source: int | None = None, **others: Any) -> Row:
    """Return a commit record, or a sample without `source`; without an offset, a deletion."""
    row = {
        "cluster_id": "c",
        "origin": "sample" if source is None else "topic",
        "source_partition": None if source is None else 0,
        "source_offset": source,
        "record_time": at(seconds),
        "commit_time": at(seconds),
        "group": "g",
        "topic": "t",
        "partition": 0,
        "committed_offset": offset,
        "is_tombstone": offset is None,
    }
    return row | others


def ends(seconds: float, end: int | None, *, start: int | None = 0, **others: Any) -> Row:
    """Return a sampled log end; None where it is not known."""
    row = {"cluster_id": "c", "origin": "sample", "topic": "t", "partition": 0}
    return row | {"observed_at": at(seconds), "log_start_offset": start, "log_end_offset": end} | others


def event(seconds: float, event_type: str, kind: str, *, source: int, **others: Any) -> Row:
    """Return a record of a group."""
    row = {"cluster_id": "c", "origin": "topic", "source_partition": 0, "source_offset": source, "group": "g"}
    row |= {"record_time": at(seconds), "record_name": kind, "event_type": event_type, "is_tombstone": False}
    return row | others


def put(storage: Storage, table: Table, batch: str, rows: Iterable[Row]) -> None:
    """Append the rows as one batch."""
    names = [column.name for column in table.columns]
    listed = [{name: row.get(name) for name in names} for row in rows]
    append(storage, batch, pa.Table.from_pylist(listed, schema=table.arrow()), table=table)


def put_all(storage: Storage, batch: str, facts: Mapping[str, Sequence[Row]]) -> None:
    """Append the rows of each table, by its name, as a batch with the same name."""
    for name, rows in facts.items():
        if rows:
            put(storage, TABLES[name], batch, rows)


def new_storage(into: Path | str) -> Storage:
    """Return an empty storage, whose directory exists."""
    storage = open_storage(str(into), create=True)
    storage.make()
    return storage
