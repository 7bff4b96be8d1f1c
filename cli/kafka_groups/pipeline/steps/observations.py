"""What is known of logs: where each ended at each time, and which log a topic's partition had then."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import PARTITION_KEY, surely

OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset")
# Two samples that were under way at the same time may be answered in another order than they were asked.
_OVERLAP_MS: Final = 30_000
_TOLD: Final = ("origin", *OFFSETS, "point_offset", "point_time", "topic_id")


def observations(partition_offsets: DataFrame) -> DataFrame:
    """Each partition's log once for each time; a sample is believed before a backfill.

    `log` counts the times that samples saw the log end fall, or the topic's id change: from then on it is another log,
    made anew. An end that fell within half a minute of the sample before, but not as far as the next one, was told
    before that one's was, and is left out. A backfill goes by the times that producers gave their records, and by the
    topic that there is now: what it says against samples of the same log, whose ends only grow, is left out. `before`
    is the sample before.
    """
    once = partition_offsets.groupBy(*PARTITION_KEY, "observed_at").agg(F.max(F.struct(*_TOLD)).alias("told"))
    logs = _parted(once.select(*PARTITION_KEY, "observed_at", "told.*"))
    return _believed(logs).select(*PARTITION_KEY, "observed_at", *_TOLD[:-1], "before", "log")


def _parted(once: DataFrame) -> DataFrame:
    """Rows with `log` and `before`, without those that another sample overtook."""
    in_time = Window.partitionBy(*PARTITION_KEY).orderBy("observed_at")
    earlier = in_time.rowsBetween(Window.unboundedPreceding, -1)
    # Backwards: a frame that ends with the partition is looked through anew for each row.
    later = Window.partitionBy(*PARTITION_KEY).orderBy(F.desc("observed_at"))
    later = later.rowsBetween(Window.unboundedPreceding, -1)
    end, topic, at = (_of_sample(name) for name in ("log_end_offset", "topic_id", "observed_at"))
    seen = F.when(end.isNotNull(), F.struct("observed_at", "log_end_offset"))
    beside = once.select(
        "*",
        F.last(at, ignorenulls=True).over(earlier).alias("before"),
        F.last(seen, ignorenulls=True).over(earlier).alias("last_seen"),
        F.last(end, ignorenulls=True).over(later).alias("next_end"),
        surely(topic != F.last(topic, ignorenulls=True).over(earlier)).alias("is_another"),
    )
    last_end = F.col("last_seen.log_end_offset")
    is_close = F.unix_millis("observed_at") - F.unix_millis("last_seen.observed_at") <= _OVERLAP_MS
    fell = surely(end < last_end)
    is_anew = F.col("is_another") | (fell & (~is_close | surely(F.col("next_end") < last_end)))
    return (
        beside.select("*", is_anew.alias("is_anew"))
        .where(F.col("is_anew") | ~fell)
        .select(
            *PARTITION_KEY,
            "observed_at",
            *_TOLD,
            "before",
            F.sum(F.col("is_anew").cast("int")).over(in_time).alias("log"),
        )
    )


def _believed(logs: DataFrame) -> DataFrame:
    """All samples, and of a backfill what fits those of the same log."""
    in_log = Window.partitionBy(*PARTITION_KEY, "log")
    so_far = in_log.orderBy("observed_at").rowsBetween(Window.unboundedPreceding, 0)
    from_here = in_log.orderBy(F.desc("observed_at")).rowsBetween(Window.unboundedPreceding, 0)
    end = _of_sample("log_end_offset")
    known = logs.select(
        "*",
        F.max(end).over(so_far).alias("least"),
        F.min(end).over(from_here).alias("most"),
        F.max(_of_sample("topic_id")).over(in_log).alias("topic_of_log"),
    )
    is_false = (
        surely(F.col("log_end_offset") < F.col("least"))
        | surely(F.col("log_end_offset") > F.col("most"))
        | surely(F.col("topic_id") != F.col("topic_of_log"))
    )
    return known.where((F.col("origin") == "sample") | ~is_false)


def _of_sample(name: str) -> Column:
    return F.when(F.col("origin") == "sample", F.col(name))
