"""Which groups are no more: by one rule, whether records or samples tell of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_groups.pipeline.reached import Reach
from kafka_groups.pipeline.reporting.asking import FRESH_MS, Key, Period, Tables
from kafka_groups.pipeline.reporting.columns import is_whole
from kafka_groups.pipeline.tables import PARTITION_OFFSETS

if TYPE_CHECKING:
    from pyspark.sql import Column

# One missed round is a hiccup.
_ROUNDS: Final = 2


class Gone(NamedTuple):
    """When a group was removed; with `is_bound` at some time before."""

    at_ms: int
    is_bound: bool


def state_seen() -> Column:
    """Rows of samples: one for each group that was listed, all of a round with one time."""
    from pyspark.sql import functions as F

    return (F.col("origin") == "sample") & (F.col("meaning") == "state_seen")


def gone(tables: Tables, told: Mapping[Key, Mapping[str, Any]], reach: Mapping[str, Reach]) -> dict[Key, Gone]:
    """Groups that nothing shows to live since they ended: no later commit, no record, and no sample that lists them.

    A group ended with its record; or, where its cluster's records were not read until then, or tell that all of its
    commits were removed (brokers before 4.0 write no more of groups that never had members), with the first of the
    rounds of samples that missed it: at least two, the last of them ten minutes after anything showed it to live. Only
    whole rounds count, or a coordinator may have been away. Of `told` count `record` (the last one of the group as a
    whole), `seen_ms`, `committed_ms` and `partitions` (with a commit).
    """
    found: dict[Key, Gone] = {}
    missed: dict[Key, int] = {}
    # A round that lists no group leaves log ends alone.
    newest = {cluster: each.sampled_ms or 0 for cluster, each in reach.items()}
    for key, known in told.items():
        record = known.get("record")
        seen_ms, committed_ms = known.get("seen_ms", -1), known.get("committed_ms", -1)
        recorded_ms = -1 if record is None else record["at_ms"]
        alive_ms = max(seen_ms, committed_ms, recorded_ms)
        if _is_removal(record) and recorded_ms == alive_ms:
            found[key] = Gone(recorded_ms, is_bound=False)
        elif seen_ms >= 0 and newest.get(key[0], 0) - alive_ms > FRESH_MS:
            missed[key] = alive_ms
    return found | _unseen(tables, told, reach, missed) if missed else found


def _unseen(
    tables: Tables, told: Mapping[Key, Mapping[str, Any]], reach: Mapping[str, Reach], missed: Mapping[Key, int]
) -> dict[Key, Gone]:
    rounds = _rounds(tables, {cluster for cluster, _ in missed}, min(missed.values()))
    found = {}
    for key, alive_ms in missed.items():
        times = rounds.get(key[0], ())
        # Log ends are asked for last: the first time is that of the sample that listed the group.
        first = bisect_left(times, alive_ms) + 1
        if len(times) - first < _ROUNDS or times[-1] - alive_ms <= FRESH_MS:
            continue
        record, read_ms = told[key].get("record"), reach[key[0]].read_ms
        if record is not None and _is_removal(record):
            # By the clock of who samples it was seen a moment later.
            found[key] = Gone(record["at_ms"], is_bound=False)
        elif read_ms is None or read_ms < times[first] or told[key].get("partitions") == 0:
            found[key] = Gone(times[first], is_bound=True)
    return found


def _is_removal(record: Any) -> bool:
    return record is not None and record["meaning"] == "group_removed"


def _rounds(tables: Tables, clusters: Collection[str], since_ms: int) -> dict[str, Sequence[int]]:
    """The times of whole samples, ascending, by cluster."""
    from pyspark.sql import functions as F

    period = Period(since_ms, tables.period.until_ms)
    rows = tables.read(PARTITION_OFFSETS, "observed_at", period=period).where(F.col("origin") == "sample")
    of_clusters = rows.where(F.col("cluster_id").isin(*sorted(clusters))).groupBy("cluster_id", "observed_at")
    whole = of_clusters.agg(is_whole().alias("is_whole")).where("is_whole")
    times = F.array_sort(F.collect_list(F.unix_millis("observed_at"))).alias("times")
    return {row["cluster_id"]: row["times"] for row in whole.groupBy("cluster_id").agg(times).collect()}
