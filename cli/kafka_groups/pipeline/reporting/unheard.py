"""Partitions and coordinators that were not heard of: what lag and verdict of their groups are without."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from kafka_groups.pipeline.reached import Reach
from kafka_groups.pipeline.records import partition_of
from kafka_groups.pipeline.reporting.asking import FRESH_MS, Period, Tables
from kafka_groups.pipeline.reporting.standing import Roster, Standing
from kafka_groups.pipeline.sentences import few, of_cluster
from kafka_groups.pipeline.tables import OFFSETS_TOPIC, PARTITION_OFFSETS

# Who did not answer for longer is found away in less, too.
_LOOKED_AT_MS: Final = 3_600_000


class _Away(NamedTuple):
    partitions: int  # of `__consumer_offsets`
    away: frozenset[int]


def with_coordinators(tables: Tables, known: Roster, standing: Sequence[Standing]) -> list[Standing]:
    """The same groups; `is_unheard` are those whose coordinator did not answer samples for ten minutes.

    Only on clusters of which samples alone tell: their commits may have moved on unseen.
    The leader of a group's partition of `__consumer_offsets` is its coordinator; a sample keeps no log end of those
    whose listing failed. Without the right to describe that topic nothing is known of it.
    """
    sampled = {cluster for cluster, reach in known.reach.items() if _is_told_by_samples(reach)}
    asked = {one.key[0] for one in standing if one.is_judged} & sampled
    if not asked:
        return list(standing)
    away = _coordinators_away(tables, known, asked)

    def is_unheard(one: Standing) -> bool:
        cluster, group = one.key
        each = away.get(cluster) if one.is_judged else None
        return each is not None and partition_of(group, each.partitions) in each.away

    return [replace(one, is_unheard=True) if is_unheard(one) else one for one in standing]


def unheard(known: Roster, standing: Sequence[Standing]) -> Iterator[str]:
    """Of each cluster, the groups that have such partitions, then those that have such a coordinator."""
    for cluster, groups in _by_cluster(one for one in standing if one.silent):
        listed = few([f"{one.key[1]} ({one.silent:,} of {one.committed:,})" for one in groups])
        noun = "1 group has" if len(groups) == 1 else f"{len(groups):,} groups have"
        told = (
            f"{noun} partitions without a known log end offset for ten minutes, which lag and verdict do not include: "
            f"{listed}."
        )
        yield of_cluster(told, cluster, known.reach)
    for cluster, groups in _by_cluster(one for one in standing if one.is_unheard):
        whose = "the coordinator of 1 group" if len(groups) == 1 else f"the coordinators of {len(groups):,} groups"
        told = (
            f"{whose} did not respond to samples for ten minutes, so lag and verdict are derived from older commits: "
            f"{few([one.key[1] for one in groups])}."
        )
        yield of_cluster(told, cluster, known.reach)


def _by_cluster(standing: Iterable[Standing]) -> list[tuple[str, list[Standing]]]:
    found: dict[str, list[Standing]] = {}
    for one in standing:
        found.setdefault(one.key[0], []).append(one)
    return sorted(found.items())


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
