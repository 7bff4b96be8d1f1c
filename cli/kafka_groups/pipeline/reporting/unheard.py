"""Groups whose coordinator did not answer the last samples: their commits may have moved on unseen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_groups.pipeline.reached import Reach, of_cluster
from kafka_groups.pipeline.records import partition_of
from kafka_groups.pipeline.reporting.asking import FRESH_MS, Period, Tables
from kafka_groups.pipeline.reporting.standing import Roster, Standing
from kafka_groups.pipeline.tables import OFFSETS_TOPIC, PARTITION_OFFSETS

_NAMED: Final = 5
# Who did not answer for longer is found away in less, too.
_LOOKED_AT_MS: Final = 3_600_000


class _Away(NamedTuple):
    partitions: int  # of `__consumer_offsets`
    away: frozenset[int]


def unheard(tables: Tables, known: Roster, standing: Iterable[Standing]) -> Iterator[str]:
    """Of each cluster of which only samples tell, the groups whose coordinator was not heard of for ten minutes.

    The leader of a group's partition of `__consumer_offsets` is its coordinator; a sample keeps no log end of those
    whose listing failed. Without the right to describe that topic nothing is known of it.
    """
    sampled = {cluster for cluster, reach in known.reach.items() if _is_told_by_samples(reach)}
    judged = [one for one in standing if one.is_judged and one.key[0] in sampled]
    if not judged:
        return
    away = _coordinators_away(tables, known, {one.key[0] for one in judged})
    for cluster, each in sorted(away.items()):
        groups = [group for of, group in (one.key for one in judged) if of == cluster]
        lost = [group for group in groups if partition_of(group, each.partitions) in each.away]
        if lost:
            yield of_cluster(_told(lost), cluster, known.reach)


def _is_told_by_samples(reach: Reach) -> bool:
    if reach.sampled_ms is None:
        return False
    return reach.read_ms is None or reach.sampled_ms - reach.read_ms > FRESH_MS


def _coordinators_away(tables: Tables, known: Roster, clusters: Collection[str]) -> Mapping[str, _Away]:
    from pyspark.sql import functions as F

    newest = [known.reach[cluster].sampled_ms or 0 for cluster in clusters]
    rows = tables.read(PARTITION_OFFSETS, "observed_at", period=Period(min(newest) - _LOOKED_AT_MS, max(newest)))
    at_ms = F.unix_millis("observed_at")
    heard_ms = F.coalesce(F.max(F.when(F.col("log_end_offset").isNotNull(), at_ms)), F.min(at_ms))
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for row in (
        rows.where((F.col("origin") == "sample") & (F.col("topic") == OFFSETS_TOPIC))
        .where(F.col("cluster_id").isin(*sorted(clusters)))
        .groupBy("cluster_id", "partition")
        .agg(heard_ms.alias("heard_ms"), F.max(at_ms).alias("asked_ms"))
        .collect()
    ):
        found.setdefault(row["cluster_id"], {})[row["partition"]] = (row["heard_ms"], row["asked_ms"])
    return {
        cluster: _Away(
            len(told), frozenset(number for number, (heard, asked) in told.items() if asked - heard > FRESH_MS)
        )
        for cluster, told in found.items()
    }


def _told(groups: list[str]) -> str:
    listed = ", ".join(groups[:_NAMED]) + (", …" if len(groups) > _NAMED else "")
    one = len(groups) == 1
    whose = "the coordinator of 1 group" if one else f"the coordinators of {len(groups):,} groups"
    return (
        f"{whose} did not answer samples for ten minutes, so that lag and verdict rest on the commits from before: "
        f"{listed}."
    )
