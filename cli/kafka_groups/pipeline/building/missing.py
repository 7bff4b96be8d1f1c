"""What the tables of facts lack, and what cannot be told for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.building.changes import State
from kafka_groups.pipeline.left_out import days_of_clusters, left_out
from kafka_groups.pipeline.reached import behind, capital, lacking, reached
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SENTENCES: Final = (
    (
        OFFSET_COMMITS,
        ("topic",),
        "no commits were read from __consumer_offsets: commit rates are unknown, verdicts rest on samples.",
    ),
    (GROUP_EVENTS, ("topic",), "no group records were read from __consumer_offsets: rebalances are unknown."),
    (
        PARTITION_OFFSETS,
        ("sample", "backfill"),
        "no log ends were sampled or backfilled: lag, time lag, rates and verdicts are unknown.",
    ),
    (GROUP_EVENTS, ("sample",), "no group states were sampled: states of KIP-848 groups are unknown."),
)


def missing(spark: SparkSession, storage: Storage, now: State, lookback_days: int) -> tuple[str, ...]:
    """In sentences, of each cluster that lacks what others have: from footers, newest facts, and few older ones."""
    reach = reached(spark, storage, days_of_clusters(spark, storage))
    told: list[str] = []
    for table, origins, sentence in _SENTENCES:
        if now.origins(table).isdisjoint(origins):
            told.append(capital(sentence))
        else:
            told += lacking(reach, sentence, table, *origins)
    return (*told, *behind(reach), *left_out(spark, storage, lookback_days))
