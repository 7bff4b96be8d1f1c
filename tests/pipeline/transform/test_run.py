"""The two stages on Spark: the rows that the steps before them made, and the same whether days are built at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import TABLES
from kafka_groups.pipeline.transform.run import transform
from kafka_groups.verdicts import Rules
from tests.pipeline.steps.making import new_storage, put_all
from tests.pipeline.transform.histories import histories, joined

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
DERIVED: Final = ("lag_history", "rebalances", "group_status", "topic_daily", "group_daily")
# Verdicts have other rules. The index of time lag is thinned from day to day.
OTHERS: Final[Mapping[str, frozenset[str]]] = {
    "group_status": frozenset({"verdict", "rule", "window_start", "window_end", "complete"}),
    "lag_history": frozenset({"time_lag_ms", "time_lag_quality"}),
    "group_daily": frozenset({"worst_verdict", "max_time_lag_ms"}),
}
Rows = dict[tuple[Any, ...], dict[str, Any]]


def rows_of(storage: Storage, name: str) -> Rows:
    table = TABLES[name]
    found = [row for path in storage.files(table) for row in _read(path, table.arrow())]
    keyed = {tuple(row[key] for key in table.identity): row for row in found}
    assert len(keyed) == len(found)
    return keyed


def _read(path: str, schema: pa.Schema) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.ParquetFile(path).read().select(schema.names).cast(schema).to_pylist()
    return rows


def is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


def dates_of(storage: Storage) -> list[date]:
    facts = ("offset_commits", "partition_offsets", "group_events")
    return sorted({date.fromisoformat(day) for name in facts for day in storage.format.dates(name)})


def test_rows_are_those_of_the_steps_and_days_can_be_built_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    facts = joined(histories(30, 6))
    old, whole, single = (new_storage(tmp_path / name) for name in ("old", "whole", "single"))
    for storage in (old, whole, single):
        put_all(storage, "b", facts)
    build(spark, old)
    transform(spark, whole, dates_of(whole), rules=Rules(), lookback_days=7, tasks=2)
    for day in dates_of(single):
        transform(spark, single, [day], rules=Rules(), lookback_days=7, tasks=1)
    for name in DERIVED:
        before, now = rows_of(old, name), rows_of(whole, name)
        assert now == rows_of(single, name)
        assert now.keys() == before.keys()
        columns = {column.name for column in TABLES[name].columns} - OTHERS.get(name, frozenset())
        different = [
            (key, column, before[key][column], now[key][column])
            for key in now
            for column in columns
            if not is_equal(before[key][column], now[key][column])
        ]
        assert not different, different[:3]
    assert len(rows_of(whole, "lag_history")) > 500


def test_an_absurd_commit_does_not_end_the_build_of_all_groups(spark: SparkSession, tmp_path: Path) -> None:
    facts = joined(histories(1, 6))
    commit = next(row for row in facts["offset_commits"] if row["origin"] == "topic")
    absurd = [
        commit | {"committed_offset": offset, "source_offset": 10**6 + place, "partition": place % 2, "group": "absurd"}
        for place, offset in enumerate((0, 0, 2**63 - 1, 2**63 - 1) * 2)
    ]
    storage = new_storage(tmp_path)
    put_all(storage, "b", facts | {"offset_commits": facts["offset_commits"] + absurd})
    transform(spark, storage, dates_of(storage), rules=Rules(), lookback_days=7, tasks=1)
    rows = rows_of(storage, "group_daily")
    consumed = {row["messages_consumed"] for row in rows.values() if row["group"] == "absurd"}
    assert 2**63 - 1 in consumed
    assert len({row["cluster_id"] for row in rows.values()}) == 5  # one of them has no commit


def test_times_of_derived_tables_have_a_zone(spark: SparkSession, tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "b", joined(histories(1, 2)))
    transform(spark, storage, dates_of(storage), rules=Rules(), lookback_days=7, tasks=1)
    for name in DERIVED:
        for path in storage.files(TABLES[name]):
            assert pq.ParquetFile(path).schema_arrow.remove_metadata() == TABLES[name].arrow()
