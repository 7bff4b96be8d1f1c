from __future__ import annotations

import datetime as dt
import os
import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.compacting import compact
from kafka_groups.pipeline.storage import Storage, files_changed, joining, open_storage
from kafka_groups.pipeline.storage.formats import TABLE_FORMATS
from kafka_groups.pipeline.tables import GROUP_DAILY, LAG_HISTORY, OFFSET_COMMITS, TABLES, spell_type
from tests.pipeline.storage.commits import FIRST, commits, delta_rows, names, places, rows_of, staged
from tests.pipeline.storage.disks import small_disk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
DAYS = [dt.date(2026, 11, day) for day in (1, 2, 3)]


@pytest.fixture(params=TABLE_FORMATS)
def spaced(tmp_path: Path, request: pytest.FixtureRequest) -> Storage:
    return open_storage(str(tmp_path / "mes données #1 50%"), create=True, table_format=request.param)


def lags(spark: SparkSession, *rows: tuple[int, int]) -> DataFrame:
    """Rows of lag_history: (day, lag)."""
    table = rows_of(
        LAG_HISTORY,
        [
            {"cluster_id": "here", "group": "g", "observed_at": FIRST + dt.timedelta(days=day, seconds=lag), "lag": lag}
            for day, lag in rows
        ],
    )
    return spark.createDataFrame(table.to_pylist(), LAG_HISTORY.ddl().split(", `date` DATE")[0])


def held(storage: Storage, spark: SparkSession) -> list[tuple[str, int]]:
    rows = storage.read(spark, LAG_HISTORY).select("date", "lag").collect()
    return sorted((str(row["date"]), row["lag"]) for row in rows)


def test_every_table_reads_as_documented_when_nothing_is_there(spaced: Storage, spark: SparkSession) -> None:
    for table in TABLES.values():
        frame = spaced.read(spark, table)
        assert frame.columns == [*(column.name for column in table.columns), "date", "batch"]
        assert frame.count() == 0


def test_published_rows_read_as_documented(spaced: Storage, spark: SparkSession) -> None:
    spaced.publish("00000007", staged(spaced, commits([1]), commits([2], day=1, cluster="there")))
    frame = spaced.read(spark, OFFSET_COMMITS).orderBy("source_offset")
    assert frame.schema == spark.createDataFrame([], OFFSET_COMMITS.ddl()).schema
    first, second = frame.collect()
    assert (first["cluster_id"], first["date"], first["batch"]) == ("here", dt.date(2026, 11, 1), "00000007")
    assert (second["cluster_id"], second["date"]) == ("there", dt.date(2026, 11, 2))
    assert frame.where("date = DATE'2026-11-02'").count() == 1
    assert Path(spaced.place.join(OFFSET_COMMITS.name)).is_dir()


def test_a_directory_that_is_no_date_is_an_error_of_the_read(storage: Storage, spark: SparkSession) -> None:
    storage.publish("w-00000001", staged(storage, commits([1])))
    Path(storage.into, "offset_commits/date=2026-11-01").rename(Path(storage.into, "offset_commits/date=monday"))
    storage.publish("w-00000001", staged(storage, commits([1])))
    with pytest.raises(Exception, match="monday"):
        storage.read(spark, OFFSET_COMMITS).count()


def test_dates_hold_exactly_the_new_rows(spaced: Storage, spark: SparkSession) -> None:
    spaced.replace_dates(LAG_HISTORY, DAYS, lags(spark, (0, 1), (0, 2), (1, 3), (2, 4)))
    assert held(spaced, spark) == [("2026-11-01", 1), ("2026-11-01", 2), ("2026-11-02", 3), ("2026-11-03", 4)]
    spaced.replace_dates(LAG_HISTORY, DAYS[:2], lags(spark, (0, 9)))
    assert held(spaced, spark) == [("2026-11-01", 9), ("2026-11-03", 4)]
    assert places(spaced, LAG_HISTORY) == [("2026-11-01", "build"), ("2026-11-03", "build")]
    spaced.replace_dates(LAG_HISTORY, DAYS, lags(spark))
    assert held(spaced, spark) == []
    assert names(Path(spaced.into, ".staging")) == []


def test_dates_are_of_utc_in_any_session(storage: Storage, spark: SparkSession) -> None:
    late = rows_of(GROUP_DAILY, [{"cluster_id": "c", "group": "g", "day": dt.datetime(2026, 11, 1, tzinfo=dt.UTC)}])
    frame = spark.createDataFrame(late.to_pylist(), GROUP_DAILY.ddl().split(", `date` DATE")[0])
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        storage.replace_dates(GROUP_DAILY, DAYS[:1], frame)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert places(storage, GROUP_DAILY) == [("2026-11-01", "build")]


def test_rows_of_other_dates_and_facts_are_not_replaced(spaced: Storage, spark: SparkSession) -> None:
    storage = spaced
    storage.replace_dates(LAG_HISTORY, DAYS[:1], lags(spark, (0, 1)))
    with pytest.raises(ValueError, match="rows of lag_history are of 2026-11-02"):
        storage.replace_dates(LAG_HISTORY, DAYS[:1], lags(spark, (0, 2), (1, 3)))
    with pytest.raises(ValueError, match="holds facts"):
        storage.replace_dates(OFFSET_COMMITS, DAYS[:1], lags(spark))
    assert held(storage, spark) == [("2026-11-01", 1)]


def test_dates_can_be_made_from_what_they_hold(spaced: Storage, spark: SparkSession) -> None:
    storage = spaced
    storage.replace_dates(LAG_HISTORY, DAYS[:1], lags(spark, (0, 1), (0, 2)))
    storage.replace_dates(LAG_HISTORY, DAYS[:1], storage.read(spark, LAG_HISTORY).where("lag > 1"))
    assert held(storage, spark) == [("2026-11-01", 2)]


def test_spark_takes_the_checkpoint(spaced: Storage, spark: SparkSession) -> None:
    checkpoint = spaced.checkpoint("_-3OEVBNTcwNTJENDM2Qg")
    seen: list[int] = []

    def take(_: DataFrame, number: int) -> None:
        seen.append(number)

    stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    query = stream.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint.location)
    running = query.trigger(availableNow=True).start()
    running.awaitTermination(60)
    assert seen
    assert Path(checkpoint.location.removeprefix("file://"), "commits").is_dir()
    assert spaced.checkpoint("_-3OEVBNTcwNTJENDM2Qg") == checkpoint


def test_spark_counts_the_same_while_files_are_joined(
    spaced: Storage, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = spaced
    for number in range(24):
        storage.publish(f"w-{number:08}", staged(storage, commits([2 * number, 2 * number + 1], day=number % 2)))
    over = threading.Event()

    def work() -> None:
        try:
            for most in (4, 8, 16, 48):
                monkeypatch.setattr(joining, "_ROWS_AT_ONCE", most)
                compact(storage, now=dt.datetime.now(dt.UTC))
                over.wait(0.5)
        finally:
            over.set()

    counts: set[int] = set()
    with ThreadPoolExecutor(max_workers=1) as pool:
        joined = pool.submit(work)
        while not over.is_set() or not counts:
            try:
                counts.add(storage.read(spark, OFFSET_COMMITS).selectExpr("sum(committed_offset)").collect()[0][0])
            except Exception as error:
                if not files_changed(error):
                    raise
        joined.result()
    assert counts == {sum(range(48))}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("table_format", TABLE_FORMATS)
def test_a_disk_that_is_full_is_told_and_the_table_stays_as_it_is(
    tmp_path: Path, spark: SparkSession, table_format: str
) -> None:
    with small_disk(tmp_path / "disk", megabytes=2) as disk:
        storage = open_storage(str(disk / "tables"), create=True, table_format=table_format)
        storage.replace_dates(LAG_HISTORY, DAYS[:1], lags(spark, (0, 1)))
        (disk / "others").write_bytes(bytes(shutil.disk_usage(disk).free - 16_384))
        many = spark.range(100_000).selectExpr("sha2(CAST(id AS STRING), 256) AS `group`")
        with pytest.raises(StorageError, match=f"cannot write in {storage.into}: no space is left"):
            storage.replace_dates(LAG_HISTORY, DAYS[:1], lags(spark, (0, 2)).drop("group").crossJoin(many))
        assert held(storage, spark) == [("2026-11-01", 1)]


def test_delta_tables_go_the_whole_way_and_hold_what_parquet_ones_hold(
    delta: Storage, storage: Storage, spark: SparkSession
) -> None:
    found = []
    for held in (delta, storage):
        for number in range(8):
            rows = commits(range(number * 4, number * 4 + 4), day=number % 2)
            for _ in range(2):
                held.publish(f"w-{number:08}", staged(held, rows))
        facts = held.read(spark, OFFSET_COMMITS)
        assert facts.count() == 32
        derived = facts.selectExpr("cluster_id", "group", "commit_time AS observed_at", "committed_offset AS lag")
        lacking = [column.name for column in LAG_HISTORY.columns if column.name not in derived.columns]
        typed = {column.name: spell_type(column.type) for column in LAG_HISTORY.columns}
        whole = derived.selectExpr("*", *(f"CAST(NULL AS {typed[name]}) AS `{name}`" for name in lacking))
        held.replace_dates(LAG_HISTORY, DAYS, whole)
        assert compact(held, now=FIRST).files_before > 0
        again = held.read(spark, OFFSET_COMMITS).orderBy("source_offset").collect()
        lags_held = held.read(spark, LAG_HISTORY).orderBy("observed_at").collect()
        found.append((again, lags_held, held.rows(LAG_HISTORY)))
    assert found[0] == found[1]
    assert found[0][2] == 32
    assert Counter(delta_rows(delta, LAG_HISTORY)["lag"].to_pylist()) == Counter(range(32))
    assert DeltaTable(str(Path(delta.into, LAG_HISTORY.name))).version() == 1


def test_a_frame_made_before_files_were_joined_reads_on(delta: Storage, spark: SparkSession) -> None:
    for number in range(6):
        delta.publish(f"w-{number:08}", staged(delta, commits([number])))
    before = delta.read(spark, OFFSET_COMMITS)
    assert compact(delta, now=FIRST).files_before == 5
    assert sorted(row["source_offset"] for row in before.collect()) == list(range(6))
