from __future__ import annotations

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.store import Storage, parquet_sorting
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.tables import OFFSET_COMMITS, TABLES
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import FIRST, append, append_at_once, commits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def spaced(tmp_path: Path) -> Storage:
    return new_storage(tmp_path / "mes données #1 50%")


def test_an_empty_table_has_the_documented_columns(spaced: Storage, spark: SparkSession) -> None:
    frames = {table: spaced.read(spark, table) for table in TABLES.values()}
    for table, frame in frames.items():
        assert frame.columns == [*(column.name for column in table.columns), "date"]
    assert frames[OFFSET_COMMITS].count() == 0


def test_rows_have_the_documented_types(spaced: Storage, spark: SparkSession) -> None:
    append(spaced, "00000007", commits([1]), commits([2], day=1, cluster="there"))
    frame = spaced.read(spark, OFFSET_COMMITS).orderBy("source_offset")
    assert frame.schema == spark.createDataFrame([], OFFSET_COMMITS.ddl()).schema
    first, second = frame.collect()
    assert (first["cluster_id"], first["date"]) == ("here", dt.date(2026, 11, 1))
    assert (second["cluster_id"], second["date"]) == ("there", dt.date(2026, 11, 2))
    assert frame.where("date = DATE'2026-11-02'").count() == 1
    assert Path(spaced.directory.join(OFFSET_COMMITS.name)).is_dir()


def test_spark_counts_each_row_once_while_files_are_joined(
    spaced: Storage, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = spaced
    parts = [(2 * number, 2 * number + 1) for number in range(24)]
    append_at_once(storage, {f"w-{part[0]:08}": [commits(part, day=part[0] % 4 // 2)] for part in parts})
    over = threading.Event()

    def work() -> None:
        try:
            for most in (4, 8, 16, 48):
                monkeypatch.setattr(parquet_sorting, "ROWS_AT_ONCE", most)
                compact(storage, now=dt.datetime.now(dt.UTC))
                over.wait(0.2)
        finally:
            over.set()

    counts: set[int] = set()
    with ThreadPoolExecutor(max_workers=1) as pool:
        joined = pool.submit(work)
        while not over.is_set() or not counts:
            counts.add(storage.read(spark, OFFSET_COMMITS).selectExpr("sum(committed_offset)").collect()[0][0])
        joined.result()
    assert counts == {sum(range(48))}


def test_a_dataframe_can_be_read_after_its_files_were_joined(storage: Storage, spark: SparkSession) -> None:
    append_at_once(storage, {f"w-{number:08}": [commits([number])] for number in range(6)})
    before = storage.read(spark, OFFSET_COMMITS)
    assert compact(storage, now=FIRST).files_before == 6
    assert sorted(row["source_offset"] for row in before.collect()) == list(range(6))
