"""What has to be known of whole clusters, groups and topics before partitions are looked at one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, OFFSETS_TOPIC, PARTITION_OFFSETS
from kafka_groups.pipeline.transform.columns import to_ints
from kafka_groups.pipeline.transform.kernels.segments import NULL
from kafka_groups.pipeline.transform.partition_day import ClusterDay
from kafka_groups.pipeline.transform.partition_stage import Context

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from kafka_groups.pipeline.storage import Storage

_COLUMNS: Final = ("what", "cluster_id", "name", "day", "at", "is_complete", "is_coordinator")


@dataclass(frozen=True, slots=True)
class ReadDay:
    """What was read of a cluster on a day: its last record of any kind, and its last sample; NULL if there was none."""

    record_us: int
    sample_us: int


@dataclass(frozen=True, slots=True)
class Summary:
    """`context` is for the stage of partitions; days by (cluster, day); quiet partitions by (cluster, topic, day)."""

    context: Context
    days: Mapping[tuple[str, int], ReadDay]
    quiet: Mapping[tuple[str, str, int], int]


def summarise(spark: SparkSession, storage: Storage, dates: Sequence[date]) -> Summary:
    """Return the summary of the facts of those dates."""
    from functools import reduce

    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    def facts(table: Any) -> DataFrame:
        return storage.read(spark, table).where(F.col("date").isin(list(dates)))

    parts = [_commits(facts(OFFSET_COMMITS)), *_observations(facts(PARTITION_OFFSETS)), _events(facts(GROUP_EVENTS))]
    return _summary_of(reduce(DataFrame.unionByName, parts).toArrow())


def _row(what: str | Column, at: Column, name: Column, **others: Column) -> list[Column]:
    from pyspark.sql import functions as F

    word = F.lit(what) if isinstance(what, str) else what
    nothing = F.lit(None).cast("boolean")
    flags = [others.get(flag, nothing).alias(flag) for flag in _COLUMNS[5:]]
    return [
        word.alias("what"),
        F.col("cluster_id"),
        name.alias("name"),
        F.unix_date("date").alias("day"),
        at.alias("at"),
        *flags,
    ]


def _commits(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    word = F.when(F.col("origin") == "topic", "commit").otherwise("answered")
    last = rows.groupBy("cluster_id", "date", "group", "origin").agg(F.max(F.unix_micros("commit_time")).alias("at_us"))
    return last.select(*_row(word, F.col("at_us"), F.col("group")))


def _observations(rows: DataFrame) -> list[DataFrame]:
    from pyspark.sql import functions as F

    known = F.col("log_end_offset").isNotNull()
    is_coordinator = (F.col("topic") == OFFSETS_TOPIC).alias("is_coordinator")
    runs = rows.groupBy("cluster_id", "date", "origin", "observed_at", is_coordinator).agg(
        F.min(known).alias("is_complete")
    )
    of_runs = runs.select(
        *_row(
            F.when(F.col("origin") == "sample", "run").otherwise("backfill"),
            F.unix_micros("observed_at"),
            F.lit(None).cast("string"),
            is_complete=F.col("is_complete"),
            is_coordinator=F.col("is_coordinator"),
        )
    )
    end, at = F.col("log_end_offset"), F.when(known, F.col("observed_at"))
    is_quiet = (F.min(end) == F.max(end)) & (F.min(at) < F.max(at))
    partitions = rows.groupBy("cluster_id", "date", "topic", "partition").agg(is_quiet.alias("is_quiet"))
    quiet = partitions.where("is_quiet").groupBy("cluster_id", "date", "topic").agg(F.count("*").alias("count"))
    return [of_runs, quiet.select(*_row("quiet", F.col("count"), F.col("topic")))]


def _events(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    is_seen = (F.col("origin") == "sample") & (F.col("meaning") == "state_seen")
    word = F.when(is_seen, "listed").when(F.col("origin") == "topic", "event").otherwise("backfill")
    last = rows.groupBy("cluster_id", "date", "group", word.alias("what")).agg(
        F.max(F.unix_micros("record_time")).alias("at_us")
    )
    return last.select(*_row(F.col("what"), F.col("at_us"), F.col("group")))


def _summary_of(table: Any) -> Summary:
    words, clusters, names = (table[name].to_pylist() for name in _COLUMNS[:3])
    numbers = (to_ints(table[name].combine_chunks()).tolist() for name in ("day", "at"))
    flags = (table[name].to_pylist() for name in _COLUMNS[5:])
    last: dict[str, dict[Any, int]] = defaultdict(dict)
    runs: dict[tuple[str, int], dict[int, dict[bool, bool]]] = defaultdict(lambda: defaultdict(dict))
    quiet: dict[tuple[str, str, int], int] = {}
    for word, cluster, name, day, at, is_complete, is_coordinator in zip(
        words, clusters, names, *numbers, *flags, strict=True
    ):
        if word == "quiet":
            quiet[cluster, name, day] = at
            continue
        of_cluster = last[word]
        of_cluster[cluster, day] = max(at, of_cluster.get((cluster, day), NULL))
        if word in {"listed", "answered"}:
            last[f"group-{word}"][cluster, name, day] = at
        if word == "run":
            runs[cluster, day][at][is_coordinator] = is_complete
    keys = {key for word in ("commit", "answered", "run", "backfill", "event", "listed") for key in last[word]}
    complete = {
        key: [at for at, told in found.items() if told.get(True, told.get(False))] for key, found in runs.items()
    }
    context = Context(
        {
            key: ClusterDay(
                last["commit"].get(key, NULL),
                last["run"].get(key, NULL),
                np.array(sorted(complete.get(key, [])), np.int64),
            )
            for key in keys
        },
        {
            key: (last["group-listed"].get(key, NULL), last["group-answered"].get(key, NULL))
            for key in {*last["group-listed"], *last["group-answered"]}
        },
    )
    days = {
        key: ReadDay(max(last[word].get(key, NULL) for word in ("commit", "event")), last["run"].get(key, NULL))
        for key in keys
    }
    return Summary(context, days, quiet)
