"""What the tables of facts lack, and what cannot be told for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.building.changes import State
from kafka_groups.pipeline.left_out import days_of_clusters, left_out
from kafka_groups.pipeline.reached import behind, lacking, reached
from kafka_groups.pipeline.sentences import capital
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Each with the facts of which any would do.
_SENTENCES: Final = (
    (
        "no commits were read from __consumer_offsets: commit rates are unknown, verdicts are derived from samples.",
        (OFFSET_COMMITS, "topic"),
    ),
    (
        # A group with commits and without a record of its own has had no rebalance.
        "no group records were read from __consumer_offsets: rebalances are unknown.",
        (GROUP_EVENTS, "topic"),
        (OFFSET_COMMITS, "topic"),
    ),
    (
        "no log end offsets were sampled or backfilled: lag, time lag, rates and verdicts are unknown.",
        (PARTITION_OFFSETS, "sample"),
        (PARTITION_OFFSETS, "backfill"),
    ),
    ("no group states were sampled: states of KIP-848 groups are unknown.", (GROUP_EVENTS, "sample")),
)


def missing(spark: SparkSession, storage: Storage, now: State, lookback_days: int) -> tuple[str, ...]:
    """In sentences, of each cluster that lacks what others have: from footers, newest facts, and few older ones."""
    reach = reached(spark, storage, days_of_clusters(spark, storage))
    told: list[str] = []
    for sentence, *facts in _SENTENCES:
        if any(origin in now.origins(table) for table, origin in facts):
            told += lacking(reach, sentence, *facts)
        else:
            told.append(capital(sentence))
    return (*told, *behind(reach), *left_out(spark, storage, lookback_days))
