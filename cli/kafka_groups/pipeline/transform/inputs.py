"""The facts as the stages take them: selected, renamed and distributed by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS
from kafka_groups.pipeline.transform.group_input import EVENT, EVENT_TYPE, GROUP_INPUT, STATE
from kafka_groups.pipeline.transform.partition_batch import COMMIT, INPUT, KEY_STATE, LOG_STATE, OBSERVATION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from kafka_groups.pipeline.storage import Storage

_KEY: Final = ("cluster_id", "topic", "partition")


def partition_facts(spark: SparkSession, storage: Storage, dates: Sequence[date]) -> DataFrame:
    """Return the commits and observations of those dates, with columns of INPUT."""
    from pyspark.sql import functions as F

    is_removal = F.coalesce("tombstone", F.lit(False)) | ~F.coalesce(F.col("committed_offset") >= 0, F.lit(False))  # noqa: FBT003
    commits = storage.read(spark, OFFSET_COMMITS).where(F.col("date").isin(list(dates)))
    of_commits = commits.select(
        *_KEY,
        "group",
        F.lit(COMMIT).cast("tinyint").alias("kind"),
        F.unix_date("date").alias("day"),
        F.unix_micros("commit_time").alias("at_us"),
        "source_offset",
        (F.col("origin") == "topic").alias("is_record"),
        is_removal.alias("is_removal"),
        F.when(~is_removal, F.col("committed_offset")).alias("committed_offset"),
    )
    observed = storage.read(spark, PARTITION_OFFSETS).where(F.col("date").isin(list(dates)))
    of_logs = observed.select(
        *_KEY,
        F.lit(OBSERVATION).cast("tinyint").alias("kind"),
        F.unix_date("date").alias("day"),
        F.unix_micros("observed_at").alias("at_us"),
        (F.col("origin") == "sample").alias("is_record"),
        *("log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "topic_id"),
        F.unix_millis("point_time").alias("point_ms"),
    )
    return of_commits.unionByName(of_logs, allowMissingColumns=True)


def spark_type(kind: Any) -> str:
    """Return an Arrow type as Spark spells it in a schema."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind).simpleString()


def with_partition_state(rows: DataFrame, state: DataFrame, first_day: int, tasks: int) -> DataFrame:
    """Return rows of INPUT with the state before them."""
    from pyspark.sql import functions as F

    is_log = F.col("group").isNull()
    of_state = state.select(
        *_KEY,
        "group",
        F.when(is_log, LOG_STATE).otherwise(KEY_STATE).cast("tinyint").alias("kind"),
        F.lit(first_day - 1).alias("day"),
        F.lit(0).cast("bigint").alias("at_us"),
        "state",
    )
    order = (*_KEY, "group", "kind", "at_us", "source_offset")
    whole = rows.unionByName(of_state, allowMissingColumns=True)
    missing = [name for name in INPUT.names if name not in whole.columns]
    filled = whole.select("*", *(F.lit(None).cast(spark_type(INPUT.field(name).type)).alias(name) for name in missing))
    return filled.select(*INPUT.names).repartition(tasks, *_KEY).sortWithinPartitions(*order)


def group_input(
    spark: SparkSession, storage: Storage, dates: Sequence[date], rows: DataFrame, state: DataFrame, tasks: int
) -> DataFrame:
    """Return rows of GROUP_INPUT: those of the first stage, the events of `dates`, and the state before these."""
    from pyspark.sql import functions as F

    events = storage.read(spark, GROUP_EVENTS).where(F.col("date").isin(list(dates)))
    expression = F.when(
        F.col("meaning").startswith("regex"), F.get_json_object("details", "$.regular_expression")
    ).alias("expression")
    fields = [
        expression if field.name == "expression" else _members() if field.name == "members" else F.col(field.name)
        for field in EVENT_TYPE
    ]
    of_events = events.select(
        "cluster_id",
        F.col("group").alias("name"),
        F.lit(EVENT).cast("tinyint").alias("kind"),
        F.unix_date("date").alias("day"),
        F.unix_micros("record_time").alias("at_us"),
        F.struct(*fields).alias("event"),
    )
    of_state = state.select(
        "cluster_id",
        F.col("group").alias("name"),
        F.lit(STATE).cast("tinyint").alias("kind"),
        F.col("state").cast("binary").alias("payload"),
    )
    whole = rows.unionByName(of_events, allowMissingColumns=True).unionByName(of_state, allowMissingColumns=True)
    order = ("cluster_id", "name", "kind", "day", "topic", "partition", "at_us")
    return whole.select(*GROUP_INPUT.names).repartition(tasks, "cluster_id", "name").sortWithinPartitions(*order)


def _members() -> Column:
    from pyspark.sql import functions as F

    def names(parts: Column) -> Column:
        return F.transform(parts, lambda part: F.struct(part["topic"].alias("topic")))

    def member(one: Column) -> Column:
        kept = ("member_id", "group_instance_id", "rebalance_timeout_ms", "topics")
        return F.struct(*(one[name].alias(name) for name in kept), names(one["assignment"]).alias("assignment"))

    return F.to_json(F.transform("members", member)).alias("members")


def schema_of(fields: Any) -> str:
    """Return an Arrow schema as Spark spells it."""
    return ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in fields)
