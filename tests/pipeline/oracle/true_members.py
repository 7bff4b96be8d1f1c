"""Rebalances and members of a build against what happened. They must be exact where every record was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.pipeline.oracle.oracle_evidence import Row
from tests.pipeline.oracle.simulated_facts import SimulatedCluster
from tests.pipeline.oracle.simulated_groups import Group, TrueRebalance
from tests.pipeline.oracle.simulated_logs import DAY_MS, FIRST, moment

# What a row says of a rebalance: protocol, generation, members before and after, who joined and who left.
Change = tuple[str, int, int | None, int | None, tuple[str, ...], tuple[str, ...]]


def compare_rebalances(cluster: SimulatedCluster, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rebalances that the build lacks or invents, and durations that are wrong."""
    for group in cluster.groups:
        own = [row for row in rows if row["group"] == group.name]
        true_changes = Counter(true_change(rebalance) for rebalance in group.rebalances)
        changes = Counter(built_change(row) for row in own)
        for change in true_changes - changes:
            yield f"rebalances {group.name}: the build lacks {change}"
        for change in changes - true_changes:
            yield f"rebalances {group.name}: {change} never happened"
        if not cluster.has_skew and true_changes == changes:
            yield from compare_durations(group, own)


def true_change(rebalance: TrueRebalance) -> Change:
    """Return the change of members as it was."""
    before, after = rebalance.before, rebalance.after
    joined, left = tuple(sorted(after - before)), tuple(sorted(before - after))
    return rebalance.protocol, rebalance.generation, len(before), len(after), joined, left


def built_change(row: Row) -> Change:
    """Return the change of members as the build has it."""
    joined, left = tuple(sorted(row["joined"] or ())), tuple(sorted(row["left"] or ()))
    return row["group_protocol"], row["generation"], row["members_before"], row["members_after"], joined, left


def compare_durations(group: Group, rows: Sequence[Row]) -> Iterator[str]:
    """Yield durations that differ; those of classic groups are bounds. Both are in the order of time."""
    ordered = sorted(rows, key=lambda row: row["ended_at"] if row["group_protocol"] == "classic" else row["started_at"])
    for rebalance, row in zip(group.rebalances, ordered, strict=True):
        name = f"rebalances {group.name} {rebalance.protocol} {rebalance.generation}"
        if rebalance.protocol == "classic":
            assert rebalance.ended_ms is not None
            if row["started_at"] > moment(rebalance.started_ms) or row["ended_at"] != moment(rebalance.ended_ms):
                yield f"{name}: {row['started_at']} to {row['ended_at']} does not contain it"
            continue
        quality, duration_ms = true_duration(rebalance)
        if (quality, duration_ms) != (row["duration_quality"], row["duration_ms"]):
            yield f"{name}: took {row['duration_ms']} ms ({row['duration_quality']}), not {duration_ms} ms ({quality})"


def true_duration(rebalance: TrueRebalance) -> tuple[str, int | None]:
    """Return quality and ms of a KIP-848 rebalance; one that goes on after the next day is open."""
    followed_until_ms = (rebalance.started_ms // DAY_MS + 2) * DAY_MS
    if rebalance.ended_ms is None or rebalance.ended_ms >= followed_until_ms:
        return "open", None
    return "overtaken" if rebalance.is_overtaken else "exact", round(rebalance.ended_ms - rebalance.started_ms)


def compare_members(cluster: SimulatedCluster, rows: Sequence[Row]) -> Iterator[str]:
    """Yield rows of group_status whose members or state are not those of any time that the clocks allow."""
    groups = {group.name: group for group in cluster.groups}
    for row in rows:
        ms = (row["evaluated_at"] - FIRST).total_seconds() * 1_000
        group = groups[row["group"]]
        since = [group.members_at(ms), group.members_at(ms - cluster.skew_ms)]
        since += [members for at, members in group.membership if ms - cluster.skew_ms <= at <= ms]
        allowed = {len(members) for members in since if members is not None}
        name = f"group_status {group.name} at {row['evaluated_at']:%d %H:%M:%S}"
        if row["member_count"] is None and group.kind == "admin":
            continue  # Only a sample shows that such a group has no members.
        if row["member_count"] not in allowed:
            yield f"{name}: members is {row['member_count']}, and was {allowed}"
            continue
        # A group that prepares its first generation has no members yet.
        has_members = {"Empty": False, "Stable": True}.get(row["state"])
        if not cluster.has_skew and has_members is not None and has_members != (row["member_count"] > 0):
            yield f"{name}: the state is {row['state']} with {row['member_count']} members"
