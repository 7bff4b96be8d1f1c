"""A group's row where its partitions were seen at different times, and how long it has until records are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.pipeline.fact_rows import NOON

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
START = int(NOON.timestamp())


def rows_of(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str, time: str) -> DataFrame:
    """Rows of one group and day; the first column is a partition, the second one seconds after noon."""
    from pyspark.sql import functions as F

    key = [F.lit(NOON.date()).alias("day"), *(F.lit(name).alias(name) for name in ("cluster_id", "group", "topic"))]
    made = spark.createDataFrame(rows, f"partition int, seconds bigint, {schema}")
    at = F.timestamp_seconds(F.col("seconds") + START).alias(time)
    return made.select(*key, "*", at).drop("seconds")


def test_each_partition_counts_as_it_was_last_seen(spark: SparkSession) -> None:
    """Partition 1 is seen two seconds after 0, the commit on 2 is removed at 30, and 3 misses all rounds but two."""
    from pyspark.sql import functions as F

    from kafka_groups.pipeline.steps.status import group_status

    seen = [(0, 0, 1), (1, 2, 10), (2, 0, 100), (3, 0, 1_000), (0, 60, 2), (1, 62, 20), (0, 600, 3), (0, 601, 4)]
    seen += [(3, 700, 2_000)]
    rows = rows_of(spark, seen, "lag bigint", "evaluated_at")
    judged = rows.select(
        "*",
        F.when(F.col("lag") == 20, "WARN").otherwise("OK").alias("verdict"),
        F.when(F.col("lag") == 20, "falling_behind").otherwise("no_lag").alias("rule"),
        F.lit(1.0).alias("complete"),
        F.col("evaluated_at").alias("window_start"),
        F.col("evaluated_at").alias("window_end"),
    )
    removals = rows_of(spark, [(2, 30, 0)], "nothing int", "at").drop("nothing")

    found = (
        group_status(judged, removals).select(F.unix_seconds("evaluated_at").alias("at"), "lag", "verdict").collect()
    )

    assert sorted((row["at"] - START, row["lag"], row["verdict"]) for row in found) == [
        (0, 1 + 100 + 1_000, "OK"),
        (2, 1 + 10 + 100 + 1_000, "OK"),
        (60, 2 + 10 + 1_000, "OK"),
        (62, 2 + 20 + 1_000, "WARN"),
        (600, 3 + 20 + 1_000, "WARN"),
        # Ten minutes on, nobody knows what became of partition 3.
        (601, 4 + 20, "WARN"),
        (700, 4 + 2_000, "OK"),
    ]


# By group: (hours, log start, committed, lag), twice. A hundred records an hour are read, 800 lie between at the end.
OBSERVED: dict[str, list[tuple[float, int, int, int]]] = {
    "deleted faster than it reads": [(0, 0, 1_000, 500), (1, 300, 1_100, 500)],
    "deleted more slowly": [(0, 0, 1_000, 500), (1, 50, 1_100, 500)],
    "not deleted": [(0, 0, 1_000, 500), (1, 0, 1_000, 500)],
    "has read all": [(0, 0, 1_000, 500), (1, 300, 1_100, 0)],
    "too short a time": [(0, 0, 1_000, 500), (0.5, 900, 1_000, 500)],
    "lost already": [(0, 0, 1_000, 500), (0.5, 1_200, 1_000, 500)],
    "set back": [(0, 0, 2_000, 500), (1, 300, 1_100, 500)],
}


def test_the_time_until_records_are_lost_is_told_ahead(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from kafka_groups.pipeline.steps.retention import worst_lags

    rows = [
        (0, int(hours * 3_600), name, start, committed, lag, committed - start, 7)
        for name, told in OBSERVED.items()
        for hours, start, committed, lag in told
    ]
    # A second partition without any trouble does not hide the first.
    rows += [(1, seconds, name, 0, 9_000, 1, 9_000, 3) for _, seconds, name, *_ in list(rows)]
    schema = (
        "name string, log_start_offset bigint, committed_offset bigint, lag bigint, retention_margin bigint, "
        "time_lag_ms bigint"
    )
    lags = rows_of(spark, rows, schema, "observed_at").drop("group").withColumn("group", F.col("name"))

    found = {row["group"]: row for row in worst_lags(lags).collect()}

    hour = 3_600_000
    assert {name: row["retention_left_ms"] for name, row in found.items()} == {
        "deleted faster than it reads": 4 * hour,
        "deleted more slowly": None,
        "not deleted": None,
        "has read all": None,
        "too short a time": None,
        "lost already": 0,
        # That is not how fast it reads.
        "set back": 800 * hour // 300,
    }
    assert {row["max_time_lag_ms"] for row in found.values()} == {7}
    assert (found["lost already"]["retention_margin"], found["set back"]["retention_margin"]) == (-200, 800)


def test_a_margin_of_the_morning_is_not_that_of_the_last_observation(spark: SparkSession) -> None:
    """Partition 0 catches up, the commit on partition 1 is removed while it lies below the log start."""
    from kafka_groups.pipeline.steps.retention import worst_lags

    seen = [(0, 0, 20, 10, 90), (0, 3_600, 20, 90, 10), (1, 0, 50, 10, 90), (1, 1_800, 50, 10, 90)]
    rows = [(*row, row[3] - row[2], 7) for row in seen]
    schema = "log_start_offset bigint, committed_offset bigint, lag bigint, retention_margin bigint, time_lag_ms bigint"

    (found,) = worst_lags(rows_of(spark, rows, schema, "observed_at")).collect()

    assert (found["retention_margin"], found["last_retention_margin"], found["retention_left_ms"]) == (-40, 70, None)
