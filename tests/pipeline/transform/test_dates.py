"""Which dates are made: a rebalance is dated to its earliest begin, and that date need not have facts of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.tables import REBALANCES, TABLES
from tests.pipeline.fact_rows import Row, at, commit, ends, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.storage import Storage

pytestmark = pytest.mark.spark
DAY = 86_400
JUST_AFTER_MIDNIGHT = DAY / 2 + 60
DERIVED = [table for table in TABLES.values() if table.derived]


def generation(seconds: float, number: int, *, source: int) -> Row:
    """Its one member may have waited for five minutes."""
    member = {"member_id": f"m{number}", "rebalance_timeout_ms": 300_000}
    told = {"epoch": number, "members": [member], "state_time": at(seconds - 1)}
    return event(seconds, "generation", "GroupMetadata", source=source, **told)


def begun(spark: SparkSession, storage: Storage) -> list[tuple[int, str]]:
    rows = storage.read(spark, REBALANCES).orderBy("generation").collect()
    return [(row["generation"], f"{row['started_at']:%d %H:%M:%S}") for row in rows]


def test_a_rebalance_that_may_have_begun_the_day_before_is_told_though_that_day_has_no_facts(
    spark: SparkSession, tmp_path: Path
) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "first", {"group_events": [generation(JUST_AFTER_MIDNIGHT, 1, source=1)]})

    built = build(spark, storage)

    assert [str(day) for day in built.dates] == ["2026-11-20", "2026-11-21"]
    assert begun(spark, storage) == [(1, "20 23:55:58")]
    assert build(spark, storage).dates == ()


def test_a_day_without_facts_between_two_is_made_alike_at_once_and_day_by_day(
    spark: SparkSession, tmp_path: Path
) -> None:
    early = {
        "group_events": [generation(0, 1, source=1)],
        "offset_commits": [commit(0, 5, source=2)],
        "partition_offsets": [ends(60, 9)],
    }
    late = {"group_events": [generation(DAY + JUST_AFTER_MIDNIGHT, 2, source=3)]}
    at_once, by_day = new_storage(tmp_path / "at once"), new_storage(tmp_path / "by day")
    for batch, facts in (("early", early), ("late", late)):
        put_all(at_once, batch, facts)
        put_all(by_day, batch, facts)
        build(spark, by_day)
    build(spark, at_once)

    assert begun(spark, at_once) == [(1, "20 11:54:58"), (2, "21 23:55:58")]
    assert rows_of(spark, by_day) == rows_of(spark, at_once)


def rows_of(spark: SparkSession, storage: Storage) -> dict[str, list[str]]:
    return {
        table.name: sorted(str(row) for row in storage.read(spark, table).drop("batch").collect()) for table in DERIVED
    }
