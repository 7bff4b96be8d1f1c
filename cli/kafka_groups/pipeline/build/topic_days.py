"""Days of topics: the rows of `topic_daily`, as sums over the parts that tasks saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.fact_summary import NOTHING_READ, FactSummary
from kafka_groups.pipeline.build.group_frames import TopicDays
from kafka_groups.pipeline.build.kernels.segments import DAY_US, is_segment_start, reduce_segments, sum_segments
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints, to_codes, to_flags, to_ints
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.pipeline.tables.derived import TopicDaily

_KEY: Final = ("cluster_id", "topic", "day")


def merge_topic_days(parts: Any) -> Any:
    """Return a record batch of TopicDays with one row for each cluster, topic and day, from a table of parts.

    Numbers of partitions, groups and records are added up; `last_seen_us` is the last time of a part, and
    `is_subscribed` is true if it is true in any part. A number that is null in all parts stays null.
    """
    key_codes = [to_codes(parts[name]) for name in _KEY]
    order = np.lexsort(key_codes[::-1])
    rows = parts.take(pa.array(order)).combine_chunks()
    is_start = is_segment_start(*(code[order] for code in key_codes))
    first_rows = pa.array(np.flatnonzero(is_start))
    columns = {name: rows[name].combine_chunks().take(first_rows) for name in _KEY}
    columns |= {
        name: _sum_known(to_ints(rows[name]), is_start)
        for name in ("active_groups", "groups_with_commits", "partitions", "produced")
    }
    columns["last_seen_us"] = reduce_segments(np.maximum, to_ints(rows["last_seen_us"]), is_start)
    columns["is_subscribed"] = reduce_segments(np.logical_or, to_flags(rows["is_subscribed"]), is_start)
    return make_batch(TopicDays, columns)


def _sum_known(values: Ints, is_start: Flags) -> Ints:
    """Return the sum of the values of each segment, ignoring NULL; NULL if all values are NULL."""
    is_known = reduce_segments(np.logical_or, values != NULL, is_start)
    return np.where(is_known, sum_segments(np.where(values == NULL, 0, values), is_start), NULL)


def make_topic_daily(topic_days: Any, summary: FactSummary, days: Sequence[int], lookback_days: int) -> Any:
    """Return a table of the rows of `topic_daily` on some days (days since 1970) from parts of TopicDays.

    There is a row for each topic that was observed on the day, or has a commit at the end of the day. A topic is unread
    only if it exists: the day's last sample saw it, or, without samples, records were read on that day.
    """
    rows = merge_topic_days(topic_days)
    day = to_ints(rows["day"])
    groups_with_commits = to_ints(rows["groups_with_commits"])
    partitions = to_ints(rows["partitions"])
    cluster_and_day = zip(rows["cluster_id"].to_pylist(), day.tolist(), strict=True)
    cluster_days = [summary.clusters.get(key, NOTHING_READ) for key in cluster_and_day]
    last_record_us = np.array([cluster_day.last_record_us for cluster_day in cluster_days], np.int64)
    last_sample_us = np.array([cluster_day.last_sample_us for cluster_day in cluster_days], np.int64)
    topic_exists = np.where(
        last_sample_us != NULL, to_ints(rows["last_seen_us"]) == last_sample_us, last_record_us != NULL
    )
    has_no_commit = groups_with_commits <= 0
    # Samples have `__consumer_offsets` only because its leaders are the coordinators (UNLISTED_LOG_END).
    is_internal = np.asarray(pc.equal(rows["topic"], OFFSETS_TOPIC)) & has_no_commit
    is_topic_of_day = ((partitions != NULL) | ~has_no_commit) & np.isin(day, days) & ~is_internal
    columns = {
        "cluster_id": rows["cluster_id"],
        "topic": rows["topic"],
        "day": day * DAY_US,
        "partitions": np.maximum(partitions, 0),
        "records_produced": rows["produced"],
        "active_groups": np.maximum(to_ints(rows["active_groups"]), 0),
        "groups_with_commits": np.maximum(groups_with_commits, 0),
        "is_unread": has_no_commit & ~to_flags(rows["is_subscribed"]) & topic_exists,
        "lookback_days": lookback_days,
    }
    return pa.Table.from_batches([make_batch(TopicDaily, columns).filter(pa.array(is_topic_of_day))])
