"""Facts of tests as the stages take them: what Spark selects, sorts and counts, in a few lines of Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.kernels.segments import DAY_US, NULL
from kafka_groups.pipeline.build.partition_batch import COMMIT, INPUT, OBSERVATION
from kafka_groups.pipeline.build.partition_stage import ClusterDay, Context
from kafka_groups.pipeline.tables import OFFSETS_TOPIC

Row = Mapping[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(time: datetime) -> int:
    """A time as microseconds since 1970."""
    passed = time - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def rows_of(facts: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """The rows of a table of INPUT, sorted."""
    found = [*map(_commit, facts.get("offset_commits", ())), *map(_observation, facts.get("partition_offsets", ()))]
    return sorted(
        found,
        key=lambda row: (
            *(row[name] for name in ("cluster_id", "topic", "partition")),
            row["group"] is not None,
            row["group"] or "",
            row["kind"],
            row["at_us"],
            row["source_offset"] is not None,
            row["source_offset"] or 0,
        ),
    )


def table_of(rows: Iterable[Row]) -> pa.Table:
    """The rows as a table."""
    return pa.Table.from_pylist([{name: row.get(name) for name in INPUT.names} for row in rows], schema=INPUT)


def _commit(row: Row) -> dict[str, Any]:
    at = micros(row["commit_time"])
    offset = row["committed_offset"]
    is_removal = bool(row["tombstone"]) or offset is None or offset < 0
    return {
        **{name: row[name] for name in ("cluster_id", "topic", "partition", "group", "source_offset")},
        "kind": COMMIT,
        "day": at // DAY_US,
        "at_us": at,
        "is_record": row["origin"] == "topic",
        "is_removal": is_removal,
        "committed_offset": None if is_removal else offset,
    }


def _observation(row: Row) -> dict[str, Any]:
    at, point = micros(row["observed_at"]), row.get("point_time")
    return {
        **{name: row[name] for name in ("cluster_id", "topic", "partition")},
        **{
            name: row.get(name)
            for name in ("log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "topic_id")
        },
        "group": None,
        "source_offset": None,
        "kind": OBSERVATION,
        "day": at // DAY_US,
        "at_us": at,
        "is_record": row["origin"] == "sample",
        "point_ms": None if point is None else micros(point) // 1_000,
    }


def context_of(facts: Mapping[str, Sequence[Row]]) -> Context:
    """What was read of clusters and groups on each day."""
    commits, samples, runs = defaultdict(list), defaultdict(list), defaultdict(list)
    listed, answered = defaultdict(list), defaultdict(list)
    days = set()
    for row in facts.get("offset_commits", ()):
        at = micros(row["commit_time"])
        day = (row["cluster_id"], at // DAY_US)
        days.add(day)
        if row["origin"] == "topic":
            commits[day].append(at)
        else:
            answered[row["cluster_id"], row["group"], day[1]].append(at)
    for row in facts.get("partition_offsets", ()):
        at = micros(row["observed_at"])
        day = (row["cluster_id"], at // DAY_US)
        days.add(day)
        if row["origin"] == "sample":
            samples[day].append(at)
            runs[row["cluster_id"], at].append(row)
    for row in facts.get("group_events", ()):
        at = micros(row["record_time"])
        days.add((row["cluster_id"], at // DAY_US))
        if row["origin"] == "sample" and row["event_type"] == "state_seen":
            listed[row["cluster_id"], row["group"], at // DAY_US].append(at)
    whole = defaultdict(list)
    for (cluster, at), rows in runs.items():
        own = [row for row in rows if row["topic"] == OFFSETS_TOPIC] or rows
        if all(row["log_end_offset"] is not None for row in own):
            whole[cluster, at // DAY_US].append(at)
    clusters = {
        day: ClusterDay(
            max(commits[day], default=NULL),
            max(commits[day], default=NULL),
            max(samples[day], default=NULL),
            np.array(sorted(whole[day]), np.int64),
        )
        for day in days
    }
    groups = {key: (max(listed[key], default=NULL), max(answered[key], default=NULL)) for key in {*listed, *answered}}
    return Context(clusters, groups)
