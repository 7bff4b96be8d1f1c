"""The summary of all facts: what the stages need to know about an entire cluster or group.

A stage sees only the rows of some partitions or groups. Whether a sample was complete, for example, depends on all rows
of the cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.frames.arrays import NULL, Ints
from kafka_groups.pipeline.frames.columns import (
    BOOLEAN,
    DAYS,
    INT32,
    INT64,
    MICROSECONDS,
    OFFSET,
    STRING,
    column,
)
from kafka_groups.pipeline.frames.frame import Frame, frame
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS

# Parts are kept until they have this many rows, and are then added up.
_WAITING_ROWS: Final = 1_000_000
_KEY: Final = ("table", "origin", "cluster_id", "group", "topic", "partition", "day", "sample_us")
_AGGREGATIONS: Final = (
    ("first_us", "min"),
    ("last_us", "max"),
    ("min_end", "min"),
    ("max_end", "max"),
    ("is_complete", "min"),
)


@frame
class FactSummaryRows(Frame):
    """One row per table, origin, cluster and day, and for parts of their facts.

    Rows of four kinds summarize
    - all facts: their last time;
    - the facts of a group that samples saw (with `group`): their last time;
    - the log ends of one sample (with `sample_us`): whether all are known. Those of __consumer_offsets have a row of
      their own (with `topic`);
    - the log ends of a partition (with `partition`): their times and their range.
    """

    table: Any = column(STRING, "name of the table")
    origin: Any = column(STRING, "topic, sample or backfill; null in rows of partitions")
    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    day: Any = column(INT32, "the day", unit=DAYS)
    sample_us: Any = column(INT64, "time of the sample", unit=MICROSECONDS)
    first_us: Any = column(INT64, "time of the first fact", unit=MICROSECONDS)
    last_us: Any = column(INT64, "time of the last fact", unit=MICROSECONDS)
    min_end: Any = column(INT64, "lowest log end offset", unit=OFFSET)
    max_end: Any = column(INT64, "highest log end offset", unit=OFFSET)
    is_complete: Any = column(BOOLEAN, "true if all log ends are known")


class FactSummaryParts:
    """A collection of parts of a summary, which adds them up now and then, so that they take little memory."""

    def __init__(self) -> None:
        self._waiting_parts: list[Any] = []

    def add(self, part: Any) -> None:
        """Add a record batch of FactSummaryRows, whose keys may occur several times."""
        self._waiting_parts.append(_aggregate(pa.Table.from_batches([part])))
        if sum(len(rows) for rows in self._waiting_parts) > _WAITING_ROWS:
            self._waiting_parts = [_aggregate(pa.concat_tables(self._waiting_parts))]

    def to_batches(self) -> list[Any]:
        """Return the parts added up, as record batches of FactSummaryRows with one row for each key."""
        return _aggregate(pa.concat_tables(self._waiting_parts)).to_batches() if self._waiting_parts else []


def _aggregate(rows: Any) -> Any:
    """Return a table of FactSummaryRows with one row for each key."""
    totals = rows.group_by(list(_KEY)).aggregate(list(_AGGREGATIONS))
    column_names = {f"{name}_{function}": name for name, function in _AGGREGATIONS}
    new_names = [column_names.get(name, name) for name in totals.column_names]
    return totals.rename_columns(new_names).select(FactSummaryRows.names())


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDay:
    """The times at which a cluster was read on a day, in µs since 1970; NULL where nothing was read.

    - `last_commit_record_us` is the time of the last commit record, `last_record_us` of the last record of any kind.
    - `last_sample_us` is the time of the last sample of log ends.
    - `complete_samples_us` are the times of the complete samples (UNLISTED_LOG_END), ascending.
    """

    last_commit_record_us: int
    last_record_us: int
    last_sample_us: int
    complete_samples_us: Ints


NOTHING_READ: Final = ClusterDay(
    last_commit_record_us=NULL,
    last_record_us=NULL,
    last_sample_us=NULL,
    complete_samples_us=np.zeros(0, np.int64),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGroup:
    """The times at which samples saw a group on a day, in µs since 1970; NULL where none did.

    `listed_us` is the time of the last sample that listed the group, `commit_us` of the last one that saw one of its
    commits.
    """

    listed_us: int
    commit_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSummary:
    """When clusters and groups were read, by day (days since 1970).

    - `clusters` has the times by cluster and day, `groups` by cluster, group and day.
    - `idle_partitions` has the number of partitions whose log did not grow, by cluster, topic and day.
    - `last_us` has the time of the last fact, by table, origin, cluster and day.
    """

    clusters: Mapping[tuple[str, int], ClusterDay]
    groups: Mapping[tuple[str, str, int], SampledGroup]
    idle_partitions: Mapping[tuple[str, str, int], int]
    last_us: Mapping[tuple[str, str, str, int], int]


def summarize(parts: Any, days: Collection[int]) -> FactSummary:
    """Return the summary of some days (days since 1970) from a table of FactSummaryRows, whose keys may repeat."""
    rows = _aggregate(parts.filter(pc.is_in(parts["day"], pa.array(days, pa.int32()))))
    is_partition = pc.is_valid(rows["partition"])
    last_us: dict[tuple[str, str, str, int], int] = {}
    times_by_group: dict[tuple[str, str, int], dict[str, int]] = defaultdict(dict)
    is_complete_by_sample: dict[tuple[str, int], dict[int, dict[bool, bool]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows.filter(pc.invert(is_partition)).to_pylist():
        cluster = row["cluster_id"]
        day = row["day"]
        key = (row["table"], row["origin"], cluster, day)
        last_us[key] = max(row["last_us"], last_us.get(key, NULL))
        if row["sample_us"] is not None:
            is_complete_by_sample[cluster, day][row["sample_us"]][row["topic"] is not None] = row["is_complete"]
        elif row["group"] is not None:
            times_by_group[cluster, row["group"], day][row["table"]] = row["last_us"]
    cluster_days = {(cluster, day) for _, _, cluster, day in last_us}
    return FactSummary(
        clusters={key: _summarize_cluster(*key, last_us, is_complete_by_sample[key]) for key in cluster_days},
        groups={
            key: SampledGroup(
                listed_us=times_us.get(GROUP_EVENTS.name, NULL),
                commit_us=times_us.get(OFFSET_COMMITS.name, NULL),
            )
            for key, times_us in times_by_group.items()
        },
        idle_partitions=_count_idle_partitions(rows.filter(is_partition)),
        last_us=last_us,
    )


def _summarize_cluster(
    cluster: str,
    day: int,
    last_us: Mapping[tuple[str, str, str, int], int],
    is_complete_by_sample: Mapping[int, Mapping[bool, bool]],
) -> ClusterDay:
    """Return the times at which a cluster was read on a day.

    `is_complete_by_sample` has, by time of the sample, whether all log ends of __consumer_offsets (True) and of other
    topics (False) are known. A sample is complete if it has no UNLISTED_LOG_END. If the user may not describe
    __consumer_offsets, the sample counts as complete if all log ends of other topics are known.
    """
    complete_samples = [
        at_us
        for at_us, is_complete_by_kind in is_complete_by_sample.items()
        if is_complete_by_kind.get(True, is_complete_by_kind.get(False))
    ]
    last_commit_record_us = last_us.get((OFFSET_COMMITS.name, "topic", cluster, day), NULL)
    last_event_us = last_us.get((GROUP_EVENTS.name, "topic", cluster, day), NULL)
    return ClusterDay(
        last_commit_record_us=last_commit_record_us,
        last_record_us=max(last_commit_record_us, last_event_us),
        last_sample_us=last_us.get((PARTITION_OFFSETS.name, "sample", cluster, day), NULL),
        complete_samples_us=np.array(sorted(complete_samples), np.int64),
    )


def _count_idle_partitions(rows: Any) -> dict[tuple[str, str, int], int]:
    """Return by cluster, topic and day how many partitions were observed more than once, always with one log end."""
    has_one_end = pc.equal(rows["min_end"], rows["max_end"])
    is_idle = pc.and_(has_one_end, pc.less(rows["first_us"], rows["last_us"]))
    partition_counts = rows.filter(is_idle).group_by(["cluster_id", "topic", "day"]).aggregate([([], "count_all")])
    return {(row["cluster_id"], row["topic"], row["day"]): row["count_all"] for row in partition_counts.to_pylist()}
