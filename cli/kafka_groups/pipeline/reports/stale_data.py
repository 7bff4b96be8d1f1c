"""Partitions and coordinators that did not respond to the last samples: the lag of their groups is partial or old."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from kafka_groups.pipeline.coverage import Reach, few, of_cluster
from kafka_groups.pipeline.decode import partition_of
from kafka_groups.pipeline.reports.group_summary import GroupSummary, Summaries
from kafka_groups.pipeline.reports.selection import FRESH_MS, Period, Tables
from kafka_groups.pipeline.schemas import OFFSETS_TOPIC, PARTITION_OFFSETS
from kafka_groups.pipeline.storage.queries import quote

# A broker that did not respond for longer did not respond in this time, too.
_EXAMINED_MS: Final = 3_600_000


class _Silent(NamedTuple):
    partitions: int  # of `__consumer_offsets`
    silent: frozenset[int]


def mark_outdated(tables: Tables, known: Summaries, groups: Sequence[GroupSummary]) -> list[GroupSummary]:
    """Return the same groups; `is_outdated` are those whose coordinator did not respond to samples for ten minutes.

    This is only known of clusters whose records are not read: commits of their groups are known from samples alone. The
    leader of a group's partition of `__consumer_offsets` is its coordinator, and a sample has no log end offset of that
    partition if the coordinator could not list its groups. Without permission to describe that topic nothing is known.
    """
    sampled = {cluster for cluster, reach in known.reach.items() if _is_only_sampled(reach)}
    wanted = {one.key[0] for one in groups if one.is_judged} & sampled
    if not wanted:
        return list(groups)
    silent = _silent_coordinators(tables, known, wanted)

    def is_outdated(one: GroupSummary) -> bool:
        cluster, group = one.key
        each = silent.get(cluster) if one.is_judged else None
        return each is not None and partition_of(group, each.partitions) in each.silent

    return [replace(one, is_outdated=True) if is_outdated(one) else one for one in groups]


def describe_stale_data(known: Summaries, groups: Sequence[GroupSummary]) -> Iterator[str]:
    """Yield sentences by cluster: groups with such partitions, then groups with such a coordinator."""
    for cluster, found in _by_cluster(one for one in groups if one.unknown_partitions):
        listed = few([f"{one.group} ({one.unknown_partitions:,} of {one.committed:,})" for one in found])
        noun = "1 group has" if len(found) == 1 else f"{len(found):,} groups have"
        sentence = (
            f"{noun} partitions without a known log end offset for ten minutes, which lag and verdict do not include: "
            f"{listed}."
        )
        yield of_cluster(sentence, cluster, known.reach)
    for cluster, found in _by_cluster(one for one in groups if one.is_outdated):
        whose = "the coordinator of 1 group" if len(found) == 1 else f"the coordinators of {len(found):,} groups"
        sentence = (
            f"{whose} did not respond to samples for ten minutes, so lag and verdict are derived from older commits: "
            f"{few([one.group for one in found])}."
        )
        yield of_cluster(sentence, cluster, known.reach)


def _by_cluster(groups: Iterable[GroupSummary]) -> list[tuple[str, list[GroupSummary]]]:
    found: dict[str, list[GroupSummary]] = {}
    for one in groups:
        found.setdefault(one.key[0], []).append(one)
    return sorted(found.items())


def _is_only_sampled(reach: Reach) -> bool:
    if reach.sampled_ms is None:
        return False
    return reach.read_ms is None or reach.sampled_ms - reach.read_ms > FRESH_MS


def _silent_coordinators(tables: Tables, known: Summaries, clusters: Collection[str]) -> Mapping[str, _Silent]:
    newest = [known.reach[cluster].sampled_ms or 0 for cluster in clusters]
    sql = f"""
        SELECT cluster_id, partition, max(at_ms) AS requested_ms,
            coalesce(max(at_ms) FILTER (WHERE log_end_offset IS NOT NULL), min(at_ms)) AS returned_ms
        FROM {{rows}} WHERE origin = 'sample' AND topic = '{OFFSETS_TOPIC}'
            AND cluster_id IN ({", ".join(map(quote, sorted(clusters)))})
        GROUP BY cluster_id, partition
    """
    found: dict[str, dict[int, bool]] = {}
    for row in tables.select(PARTITION_OFFSETS, sql, Period(min(newest) - _EXAMINED_MS, max(newest))):
        is_silent = row["requested_ms"] - row["returned_ms"] > FRESH_MS
        found.setdefault(row["cluster_id"], {})[row["partition"]] = is_silent
    return {
        cluster: _Silent(len(partitions), frozenset(number for number, is_silent in partitions.items() if is_silent))
        for cluster, partitions in found.items()
    }
