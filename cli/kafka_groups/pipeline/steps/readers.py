"""Which topics are read without a commit to show it: by share groups, and by members that have not committed yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import date_of

# Each tells its topics anew, or none any more: what was said last holds.
_TELLING: Final = (
    "member_metadata",
    "member_left",
    "share_partitions",
    "share_partitions_removed",
    "regex_resolved",
    "regex_removed",
    "topology",
    "topology_removed",
    "generation",
    "group_emptied",
    "group_removed",
)
_SAMPLED: Final = "state_seen"
_NO_TOPICS: Final = "ARRAY<STRING>"


def subscriptions(group_events: DataFrame, dates: Sequence[date]) -> DataFrame:
    """(day, cluster_id, topic): at the day's end a member subscribes to it, or a share group keeps state of it.

    Samples tell what members of classic and KIP-848 groups have been assigned, and count on their own day only; of
    share groups they tell no topic.
    """
    wanted = F.explode(F.array(*(F.lit(day) for day in sorted(dates)))).alias("day")
    own_day = date_of("record_time")
    is_seen = (F.col("day") >= own_day) & ((F.col("meaning") != _SAMPLED) | (F.col("day") == own_day))
    expression = F.when(
        F.col("meaning").startswith("regex"), F.get_json_object("details", "$.regular_expression")
    ).alias("expression")
    told = group_events.where(F.col("meaning").isin(*_TELLING, _SAMPLED)).select(
        "cluster_id",
        "group",
        "type",
        "member_id",
        expression,
        "meaning",
        "record_time",
        "source_offset",
        _topics().alias("named"),
        wanted,
    )
    newest = F.max_by("named", F.struct("record_time", "source_offset")).alias("named")
    return (
        told.where(is_seen)
        .groupBy("day", "cluster_id", "group", "type", "member_id", "expression")
        .agg(newest)
        .select("day", "cluster_id", F.explode("named").alias("topic"))
        .where(F.col("topic").isNotNull())
        .distinct()
    )


def _topics() -> Column:
    """Those of the event itself, and of the members that it lists: what they subscribe to, and what they have."""
    nothing = F.array().cast(_NO_TOPICS)
    members = F.coalesce(
        F.transform(
            "members",
            lambda member: F.concat(
                F.coalesce(member["topics"], nothing),
                F.coalesce(F.transform(member["assignment"], lambda part: part["topic"]), nothing),
            ),
        ),
        F.array(nothing),
    )
    return F.when(F.col("tombstone"), nothing).otherwise(F.concat(F.coalesce("topics", nothing), F.flatten(members)))
