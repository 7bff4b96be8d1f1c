"""The coverage of a report: until when the facts of each cluster were read and sampled within its period."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.coverage import Coverage, Source
from kafka_groups.pipeline.report.period import DAY_MS, Period, PeriodTables
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from kafka_groups.pipeline.tables.sql import Sql, render_sql

# A report needs the last time of the facts of these origins, by table.
_ORIGINS: Final = {OFFSET_COMMITS: "topic", GROUP_EVENTS: "topic", PARTITION_OFFSETS: "sample"}
# A cluster that is read continuously has facts of today or yesterday.
_NEWEST_DATES: Final = 2
_EPOCH: Final = date(1970, 1, 1)
_LAST_TIMES: Final = """
    SELECT cluster_id, origin, max(at_ms) AS last_ms FROM period_rows WHERE {condition} GROUP BY cluster_id, origin
"""
_ALL: Final = Sql("TRUE")


class _LastTime(NamedTuple):
    cluster_id: str
    origin: str
    last_ms: int


def read_coverages(tables: PeriodTables, clusters: Collection[str]) -> dict[str, Coverage]:
    """Return the last times of facts by cluster id, for these clusters and for all with facts on the newest dates.

    Older dates are read only for clusters whose last times the newest dates do not show.
    """
    last_ms_by_cluster: dict[str, dict[Source, int]] = {cluster: {} for cluster in clusters}
    dates = sorted({day for table in _ORIGINS for day in tables.storage.dates(table)})
    older_dates = dates[:-_NEWEST_DATES]
    newest_begin_ms = _midnight_ms(dates[-_NEWEST_DATES:])
    newest_period = Period(newest_begin_ms, tables.period.until_ms)
    for table in _ORIGINS:
        _add_last_times(last_ms_by_cluster, tables, table, newest_period)
    if older_dates:
        older_period = Period(0, min(newest_begin_ms - 1, tables.period.until_ms))
        for table, origin in _ORIGINS.items():
            clusters_to_search = [
                cluster
                for cluster, last_ms_by_source in sorted(last_ms_by_cluster.items())
                if (table.name, origin) not in last_ms_by_source
            ]
            if clusters_to_search:
                # The statistics of most files show one cluster and one origin, so that few files are read.
                condition = render_sql(
                    "origin = {origin} AND cluster_id IN ({ids})", origin=origin, ids=clusters_to_search
                )
                _add_last_times(last_ms_by_cluster, tables, table, older_period, condition)
    return {cluster: Coverage(last_ms_by_source) for cluster, last_ms_by_source in last_ms_by_cluster.items()}


def _add_last_times(
    last_ms_by_cluster: dict[str, dict[Source, int]],
    tables: PeriodTables,
    table: Table,
    period: Period,
    condition: Sql = _ALL,
) -> None:
    """Add the table's last times in the period to `last_ms_by_cluster`, including clusters that are not in it yet."""
    for last_time in tables.select(_LastTime, table, _LAST_TIMES, period, condition=condition):
        last_ms_by_cluster.setdefault(last_time.cluster_id, {})[table.name, last_time.origin] = last_time.last_ms


def _midnight_ms(dates: Sequence[str]) -> int:
    """Return the beginning of the first of these dates in milliseconds since 1970; 0 without dates."""
    return (date.fromisoformat(dates[0]) - _EPOCH).days * DAY_MS if dates else 0
