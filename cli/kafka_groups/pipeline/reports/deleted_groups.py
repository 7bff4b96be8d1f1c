"""Deleted groups: by one rule, whether records or samples show the deletion."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.pipeline.coverage import Reach
from kafka_groups.pipeline.reports.selection import FRESH_MS, Key, Period, Tables
from kafka_groups.pipeline.schemas import OFFSETS_TOPIC, PARTITION_OFFSETS
from kafka_groups.pipeline.storage.queries import Row, quote

# A single sample without the group may be an accident.
_SAMPLES: Final = 2
# A sample is complete if each coordinator listed its groups: the partitions of the offsets topic have log end offsets.
# Without permission to describe that topic, all partitions need one.
_IS_COMPLETE: Final = f"""
    coalesce(bool_and(log_end_offset IS NOT NULL) FILTER (WHERE topic = '{OFFSETS_TOPIC}'),
        bool_and(log_end_offset IS NOT NULL))
"""


class Deletion(NamedTuple):
    """The time of a deletion in milliseconds since 1970; with `is_bound` it is at that time or earlier."""

    at_ms: int
    is_bound: bool


def find_deleted(tables: Tables, known: Mapping[Key, Row], reach: Mapping[str, Reach]) -> dict[Key, Deletion]:
    """Return the groups that were deleted: no later commit, record or sample shows them.

    The time is that of the group's tombstone. If the cluster's records were not read until then, or show that all of
    the commits were removed (brokers before 4.0 write no tombstone for groups that never had members), it is that of
    the first complete sample without the group: at least two such samples, the last of them more than ten minutes after
    any sign of the group. Of `known` these values are used: `record` (the last one of the group as a whole), `seen_ms`,
    `committed_ms` and `partitions` (with a commit).
    """
    found: dict[Key, Deletion] = {}
    missed: dict[Key, int] = {}
    # A sample that lists no group has rows of log end offsets alone.
    newest = {cluster: each.sampled_ms or 0 for cluster, each in reach.items()}
    for key, row in known.items():
        record, seen_ms = row.get("record"), _or_never(row.get("seen_ms"))
        recorded_ms = -1 if record is None else record["at_ms"]
        alive_ms = max(seen_ms, _or_never(row.get("committed_ms")), recorded_ms)
        if _is_tombstone(record) and recorded_ms == alive_ms:
            found[key] = Deletion(recorded_ms, is_bound=False)
        elif seen_ms >= 0 and newest.get(key[0], 0) - alive_ms > FRESH_MS:
            missed[key] = alive_ms
    return found | _find_missed(tables, known, reach, missed) if missed else found


def _or_never(at_ms: int | None) -> int:
    return -1 if at_ms is None else at_ms


def _find_missed(
    tables: Tables, known: Mapping[Key, Row], reach: Mapping[str, Reach], missed: Mapping[Key, int]
) -> dict[Key, Deletion]:
    samples = _sample_times(tables, {cluster for cluster, _ in missed}, min(missed.values()))
    found = {}
    for key, alive_ms in missed.items():
        times = samples.get(key[0], ())
        # Log end offsets are requested last: the first time is that of the sample that listed the group.
        first = bisect_left(times, alive_ms) + 1
        if len(times) - first < _SAMPLES or times[-1] - alive_ms <= FRESH_MS:
            continue
        record, read_ms = known[key].get("record"), reach[key[0]].read_ms
        if record is not None and _is_tombstone(record):
            # The clock of the sampler is ahead of the broker's.
            found[key] = Deletion(record["at_ms"], is_bound=False)
        elif read_ms is None or read_ms < times[first] or known[key].get("partitions") == 0:
            found[key] = Deletion(times[first], is_bound=True)
    return found


def _is_tombstone(record: Any) -> bool:
    return record is not None and record["event_type"] == "group_removed"


def _sample_times(tables: Tables, clusters: Collection[str], since_ms: int) -> dict[str, Sequence[int]]:
    """Return by cluster the times of complete samples, ascending."""
    sql = f"""
        SELECT cluster_id, at_ms FROM {{rows}}
        WHERE origin = 'sample' AND cluster_id IN ({", ".join(map(quote, sorted(clusters)))})
        GROUP BY cluster_id, at_ms HAVING {_IS_COMPLETE} ORDER BY at_ms
    """
    found: dict[str, list[int]] = {}
    for row in tables.select(PARTITION_OFFSETS, sql, Period(since_ms, tables.period.until_ms)):
        found.setdefault(row["cluster_id"], []).append(row["at_ms"])
    return dict(found)
