"""The times of the last facts of each cluster, from the newest dates and as few older dates as possible."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kafka_groups.pipeline.coverage import TIMES, Reach
from kafka_groups.pipeline.reports.selection import Tables
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from kafka_groups.pipeline.storage.queries import quote

_ORIGINS: Final = {
    OFFSET_COMMITS: ("topic", "sample"),
    GROUP_EVENTS: ("topic", "sample"),
    PARTITION_OFFSETS: ("sample", "backfill"),
}
# A cluster that is read has facts of yesterday or of today.
_NEWEST: Final = 2
_Found = dict[str, dict[tuple[str, str], int]]


def find_last_facts(tables: Tables, clusters: Collection[str]) -> dict[str, Reach]:
    """Return the last times of these clusters and of those with facts on the newest dates, until the period ends."""
    found: _Found = {cluster: {} for cluster in clusters}
    dates = sorted({day for table in TIMES for day in tables.storage.dates(table)})
    if not dates:
        return {cluster: Reach() for cluster in found}
    begin = dates[-_NEWEST:][0]
    for table in TIMES:
        _add(tables, found, table, f"date >= DATE '{begin}'")
    for table, origins in _ORIGINS.items() if begin != dates[0] else ():
        missing = [
            f"(cluster_id = {quote(cluster)} AND origin = '{origin}')"
            for cluster, known in sorted(found.items())
            for origin in origins
            if (table.name, origin) not in known
        ]
        if missing:
            # Most files are of one cluster and one origin, as their statistics show: the others are not read.
            _add(tables, found, table, f"date < DATE '{begin}' AND ({' OR '.join(missing)})")
    return {cluster: Reach(known) for cluster, known in found.items()}


def _add(tables: Tables, found: _Found, table: Table, condition: str) -> None:
    at_ms = f"CAST({TIMES[table]} AS BIGINT) / 1000"
    sql = f"""
        SELECT cluster_id, origin, max({at_ms}) AS last_ms FROM {{rows}}
        WHERE {condition} AND {at_ms} <= {tables.period.until_ms} GROUP BY cluster_id, origin
    """
    for row in tables.queries.select(table, sql):
        found.setdefault(row["cluster_id"], {})[table.name, row["origin"]] = row["last_ms"]
