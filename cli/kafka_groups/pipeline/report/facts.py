"""What facts show of clusters and groups: until when they were read, deleted groups, coordinators that are silent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from datetime import date
from typing import Final

from kafka_groups.pipeline.build.coverage import Reach
from kafka_groups.pipeline.facts.decode import partition_of
from kafka_groups.pipeline.report.period import DAY_MS, FRESH_MS, Key, Period, Tables
from kafka_groups.pipeline.store import Row, quote
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, OFFSETS_TOPIC, PARTITION_OFFSETS, Table

_ORIGINS: Final = {OFFSET_COMMITS: "topic", GROUP_EVENTS: "topic", PARTITION_OFFSETS: "sample"}
_NEWEST_DATES: Final = 2  # a cluster that is read has facts of yesterday or of today
_LEAST_SAMPLES: Final = 2  # a single sample without a group may be an accident
_EXAMINED_MS: Final = 3_600_000  # a broker that did not respond for longer did not respond in this time, too
# A sample is complete if each coordinator listed its groups: the partitions of the offsets topic have log end offsets.
# Without permission to describe that topic, all partitions need one.
_COMPLETE_SAMPLES: Final = f"""
    SELECT cluster_id, at_ms FROM {{rows}} WHERE origin = 'sample' GROUP BY cluster_id, at_ms
    HAVING coalesce(bool_and(log_end_offset IS NOT NULL) FILTER (WHERE topic = '{OFFSETS_TOPIC}'),
        bool_and(log_end_offset IS NOT NULL)) ORDER BY at_ms
"""
_COORDINATORS: Final = f"""
    SELECT cluster_id, partition, max(at_ms) -
        coalesce(max(at_ms) FILTER (WHERE log_end_offset IS NOT NULL), min(at_ms)) > {FRESH_MS} AS is_silent
    FROM {{rows}} WHERE origin = 'sample' AND topic = '{OFFSETS_TOPIC}' GROUP BY cluster_id, partition
"""


def find_last_facts(tables: Tables, clusters: Collection[str]) -> dict[str, Reach]:
    """Return the last times of these clusters and of those with facts on the newest dates, until the period ends.

    Older dates are read only for what the newest ones do not show.
    """
    found: dict[str, dict[tuple[str, str], int]] = {cluster: {} for cluster in clusters}
    dates = sorted({day for table in _ORIGINS for day in tables.storage.dates(table)})
    begin = date.fromisoformat(next(iter(dates[-_NEWEST_DATES:]), "1970-01-01"))
    begin_ms = (begin - date(1970, 1, 1)).days * DAY_MS

    def add(table: Table, period: Period, condition: str = "TRUE") -> None:
        columns = "cluster_id, origin, max(at_ms) AS last_ms"
        sql = f"SELECT {columns} FROM {{rows}} WHERE {condition} GROUP BY cluster_id, origin"
        for row in tables.select(table, sql, period):
            found.setdefault(row["cluster_id"], {})[table.name, row["origin"]] = row["last_ms"]

    for table in _ORIGINS:
        add(table, Period(begin_ms, tables.period.until_ms))
    for table, origin in _ORIGINS.items() if dates[:-_NEWEST_DATES] else ():
        missing = [quote(cluster) for cluster, known in sorted(found.items()) if (table.name, origin) not in known]
        if missing:
            # Most files are of one cluster and one origin, as their statistics show: the others are not read.
            wanted = f"origin = '{origin}' AND cluster_id IN ({', '.join(missing)})"
            add(table, Period(0, min(begin_ms - 1, tables.period.until_ms)), wanted)
    return {cluster: Reach(known) for cluster, known in found.items()}


def mark_deleted(tables: Tables, rows: Mapping[Key, Row], reach: Mapping[str, Reach]) -> None:
    """Add the time of deletion to groups that were deleted: that of the tombstone, if no later sign shows the group.

    If the cluster's records were not read until then, or show that all of the commits were removed (brokers before 4.0
    write no tombstone for groups that never had members), it is that of the first complete sample without the group, a
    bound: there have to be two such samples, the last of them more than ten minutes after any sign of the group.
    """
    missed: dict[Key, int] = {}
    for key, row in rows.items():
        alive_ms = max(row[name] or -1 for name in ("record_ms", "seen_ms", "committed_ms"))
        # A sample that lists no group has rows of log end offsets alone.
        sampled_ms = reach[key[0]].sampled_ms or 0
        if row["is_removal"] and row["record_ms"] == alive_ms:
            row["removed_ms"] = alive_ms
        elif row["seen_ms"] is not None and sampled_ms - alive_ms > FRESH_MS:
            missed[key] = alive_ms
    samples: dict[str, list[int]] = {}
    if missed:
        period = Period(min(missed.values()), tables.period.until_ms)
        for row in tables.select(PARTITION_OFFSETS, _COMPLETE_SAMPLES, period):
            samples.setdefault(row["cluster_id"], []).append(row["at_ms"])
    for key, alive_ms in missed.items():
        row, times, read_ms = rows[key], samples.get(key[0], []), reach[key[0]].read_ms
        # Log end offsets are requested last: the first time is that of the sample that listed the group.
        later = times[bisect_left(times, alive_ms) + 1 :]
        if len(later) < _LEAST_SAMPLES or later[-1] - alive_ms <= FRESH_MS:
            continue
        if row["is_removal"]:
            # The clock of the sampler is ahead of the broker's.
            row["removed_ms"] = row["record_ms"]
        elif read_ms is None or read_ms < later[0] or row["day_partitions"] == 0:
            row["removed_ms"], row["removed_is_bound"] = later[0], True


def mark_outdated(tables: Tables, groups: Collection[Row], reach: Mapping[str, Reach]) -> None:
    """Mark the groups whose coordinator did not respond to samples for ten minutes, where only samples show commits.

    The leader of a group's partition of `__consumer_offsets` is its coordinator, and a sample has no log end offset of
    that partition if the leader did not list its groups. A group that a sample of these ten minutes listed has a
    coordinator that responded. Without permission to describe the topic, its partition 0 stands for all of them.
    """
    ahead_ms = {cluster: (each.sampled_ms or 0) - (each.read_ms or 0) for cluster, each in reach.items()}
    judged = [row for row in groups if row["is_judged"] and ahead_ms[row["cluster_id"]] > FRESH_MS]
    if not judged:
        return
    newest = [reach[row["cluster_id"]].sampled_ms or 0 for row in judged]
    is_silent: dict[str, dict[int, bool]] = {}
    for row in tables.select(PARTITION_OFFSETS, _COORDINATORS, Period(min(newest) - _EXAMINED_MS, max(newest))):
        is_silent.setdefault(row["cluster_id"], {})[row["partition"]] = row["is_silent"]
    for row in judged:
        if partitions := is_silent.get(row["cluster_id"]):
            sampled_ms = reach[row["cluster_id"]].sampled_ms or 0
            was_listed = row["seen_ms"] is not None and sampled_ms - row["seen_ms"] <= FRESH_MS
            is_coordinator_silent = partitions.get(partition_of(row["group"], len(partitions)), False)
            row["is_outdated"] = is_coordinator_silent and not was_listed
