"""Builds of facts in this process, without Spark, and the rows that they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kafka_groups.pipeline.build.local_engine import LocalEngine
from kafka_groups.pipeline.build.run import BuildResult, build
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import TABLES
from tests.pipeline.fact_rows import NOON, Row, new_storage, put_all


def built(directory: Path, facts: Mapping[str, Sequence[Row]], **options: Any) -> Storage:
    """Return a new storage with the facts and with the tables of a build of them."""
    storage = new_storage(directory)
    put_all(storage, "b", facts)
    build_here(storage, **options)
    return storage


def build_here(storage: Storage, **options: Any) -> BuildResult:
    """Build the tables in this process."""
    return build(storage, LocalEngine(), **options)


def read(storage: Storage, name: str) -> list[Row]:
    """Return the rows of a table, ordered by identity: the documented columns, and `date`; times are in UTC."""
    table = TABLES[name]
    schema = table.arrow()
    found = [
        row | {"date": date.fromisoformat(file.date)}
        for file in storage.files(TABLES[name])
        for row in pq.ParquetFile(file.path, filesystem=storage.directory.fs).read().cast(schema).to_pylist()
    ]
    return sorted(found, key=lambda row: tuple((row[key] is not None, row[key]) for key in table.identity))


def read_statuses(storage: Storage) -> list[Row]:
    """Return the verdicts of partitions, from lag_history, and of groups, whose topic and partition are None."""
    partitions = [row | {"evaluated_at": row["observed_at"]} for row in read(storage, "lag_history")]
    groups = [row | {"topic": None, "partition": None} for row in read(storage, "group_status")]
    key = ("cluster_id", "group", "topic", "partition", "evaluated_at")
    return sorted(groups + partitions, key=lambda row: [(row[name] is not None, row[name]) for name in key])


def seconds_after_noon(time: Any) -> float | None:
    """Return the number of seconds from NOON to a time."""
    return None if time is None else (time - NOON).total_seconds()


def of(cluster: str, rows: Iterable[Row]) -> list[Row]:
    """Return the rows with that cluster's id. Each cluster has a history of its own."""
    return [row | {"cluster_id": cluster} for row in rows]
