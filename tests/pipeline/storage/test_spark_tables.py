from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.maintenance import compact
from kafka_groups.pipeline.schemas import LAG_HISTORY, OFFSET_COMMITS, TABLES
from kafka_groups.pipeline.storage import Storage, compaction, open_storage
from tests.pipeline.storage.commits import FIRST, append, commits, places, rows_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
DAYS = [dt.date(2026, 11, day) for day in (1, 2, 3)]


@pytest.fixture
def spaced(tmp_path: Path) -> Storage:
    return open_storage(str(tmp_path / "mes données #1 50%"), create=True)


def replace(storage: Storage, dates: Sequence[dt.date], *rows: tuple[int, int]) -> None:
    """Put rows of lag_history, (day, lag), in place of what the dates hold."""
    found = [
        {"cluster_id": "here", "group": "g", "observed_at": FIRST + dt.timedelta(days=day, seconds=lag), "lag": lag}
        for day, lag in rows
    ]
    files = written(storage, rows_of(LAG_HISTORY, found), table=LAG_HISTORY)
    storage.replace(LAG_HISTORY, {day.isoformat() for day in dates}, files)


def held(storage: Storage, spark: SparkSession) -> list[tuple[str, int]]:
    rows = storage.read(spark, LAG_HISTORY).select("date", "lag").collect()
    return sorted((str(row["date"]), row["lag"]) for row in rows)


def test_every_table_reads_as_documented_when_nothing_is_there(spaced: Storage, spark: SparkSession) -> None:
    for table in TABLES.values():
        frame = spaced.read(spark, table)
        assert frame.columns == [*(column.name for column in table.columns), "date"]
        assert frame.count() == 0


def test_published_rows_read_as_documented(spaced: Storage, spark: SparkSession) -> None:
    append(spaced, "00000007", commits([1]), commits([2], day=1, cluster="there"))
    frame = spaced.read(spark, OFFSET_COMMITS).orderBy("source_offset")
    assert frame.schema == spark.createDataFrame([], OFFSET_COMMITS.ddl()).schema
    first, second = frame.collect()
    assert (first["cluster_id"], first["date"]) == ("here", dt.date(2026, 11, 1))
    assert (second["cluster_id"], second["date"]) == ("there", dt.date(2026, 11, 2))
    assert frame.where("date = DATE'2026-11-02'").count() == 1
    assert Path(spaced.place.join(OFFSET_COMMITS.name)).is_dir()


def test_dates_hold_exactly_the_new_rows(spaced: Storage, spark: SparkSession) -> None:
    replace(spaced, DAYS, (0, 1), (0, 2), (1, 3), (2, 4))
    assert held(spaced, spark) == [("2026-11-01", 1), ("2026-11-01", 2), ("2026-11-02", 3), ("2026-11-03", 4)]
    replace(spaced, DAYS[:2], (0, 9))
    assert held(spaced, spark) == [("2026-11-01", 9), ("2026-11-03", 4)]
    assert places(spaced, LAG_HISTORY) == [("2026-11-01", "w-00000001"), ("2026-11-03", "w-00000001")]
    replace(spaced, DAYS)
    assert held(spaced, spark) == []


def test_a_file_of_another_date_stays_where_it_is(spaced: Storage, spark: SparkSession) -> None:
    replace(spaced, DAYS[:1], (0, 2), (1, 3))
    assert held(spaced, spark) == [("2026-11-01", 2)]


def test_spark_counts_the_same_while_files_are_joined(
    spaced: Storage, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = spaced
    for number in range(24):
        append(storage, f"w-{number:08}", commits([2 * number, 2 * number + 1], day=number % 2))
    over = threading.Event()

    def work() -> None:
        try:
            for most in (4, 8, 16, 48):
                monkeypatch.setattr(compaction, "ROWS_AT_ONCE", most)
                compact(storage, now=dt.datetime.now(dt.UTC))
                over.wait(0.5)
        finally:
            over.set()

    counts: set[int] = set()
    with ThreadPoolExecutor(max_workers=1) as pool:
        joined = pool.submit(work)
        while not over.is_set() or not counts:
            counts.add(storage.read(spark, OFFSET_COMMITS).selectExpr("sum(committed_offset)").collect()[0][0])
        joined.result()
    assert counts == {sum(range(48))}


def test_a_frame_made_before_files_were_joined_reads_on(storage: Storage, spark: SparkSession) -> None:
    for number in range(6):
        append(storage, f"w-{number:08}", commits([number]))
    before = storage.read(spark, OFFSET_COMMITS)
    assert compact(storage, now=FIRST).files_before == 6
    assert sorted(row["source_offset"] for row in before.collect()) == list(range(6))
