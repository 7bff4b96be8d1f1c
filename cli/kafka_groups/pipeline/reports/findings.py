"""Findings of the newest day of each cluster, and lost records of all days."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

from kafka_groups.history import Finding
from kafka_groups.pipeline.reports.daily_findings import KINDS, group_findings, topic_findings
from kafka_groups.pipeline.reports.selection import DAY_MS, Key, Period, Selection, Tables, key_of
from kafka_groups.pipeline.schemas import GROUP_DAILY, TOPIC_DAILY
from kafka_groups.pipeline.storage.queries import Row

_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = timedelta(days=1)
_OF_GROUPS: Final = (
    *("cluster_id", '"group"', "date", "orphaned_partitions", "is_idle", "skew", "last_lag"),
    *("retention_margin", "last_retention_margin", "retention_left_ms"),
)
_OF_TOPICS: Final = ("cluster_id", "topic", "date", "is_unread", "messages_produced", "lookback_days")


def find_findings(
    tables: Tables, selection: Selection, deleted: Collection[Key], evaluated_ms: Mapping[str, int]
) -> tuple[Finding, ...]:
    """Return findings of the newest day of each cluster in the period; older days are over.

    Records that were lost are found on all days of the period, and those that will be lost on the day before, too,
    while the new day is too short for rates. Deleted groups have no findings, and topics only if no group is selected.
    `evaluated_ms` is the time of the last lag of each cluster.
    """
    midnight = tables.period.from_midnight()
    newest = _newest_dates(tables, midnight)
    found = [
        finding
        for key, days in _read_groups(tables, newest, midnight).items()
        if selection.has(key[1]) and key not in deleted
        for finding in _findings_of_group(days, newest[key[0]], evaluated_ms.get(key[0], 0))
    ]
    if selection.is_all():
        sql = f"SELECT {', '.join(_OF_TOPICS)} FROM {{rows}} WHERE is_unread ORDER BY cluster_id, topic"
        rows = [row for row in tables.select(TOPIC_DAILY, sql, midnight) if row["date"] == newest[row["cluster_id"]]]
        found += [finding for row in rows for finding in topic_findings(row)]
    return tuple(finding for kind in KINDS for finding in found if finding.kind == kind)


def _newest_dates(tables: Tables, period: Period) -> dict[str, date]:
    """Return the newest date of each cluster in any table of days."""
    found: dict[str, date] = {}
    for table in (GROUP_DAILY, TOPIC_DAILY):
        for row in tables.select(table, "SELECT cluster_id, max(date) AS date FROM {rows} GROUP BY cluster_id", period):
            found[row["cluster_id"]] = max(row["date"], found.get(row["cluster_id"], row["date"]))
    return found


def _read_groups(tables: Tables, newest: Mapping[str, date], midnight: Period) -> dict[Key, list[Row]]:
    """Return the days of groups that may have findings, the newest first."""
    # One day more: a period that begins today may need the forecast of yesterday.
    period = Period(min(midnight.since_ms, midnight.until_ms // DAY_MS * DAY_MS - DAY_MS), midnight.until_ms)
    began = _EPOCH + timedelta(days=midnight.since_ms // DAY_MS)
    sql = f"""
        SELECT {", ".join(_OF_GROUPS)}, CAST(last_commit_time AS DATE) AS last_commit_date
        FROM {{rows}} ORDER BY cluster_id, "group", date DESC
    """
    found: dict[Key, list[Row]] = {}
    for row in tables.select(GROUP_DAILY, sql, period):
        last = newest.get(row["cluster_id"])
        is_of_period, margin = row["date"] >= began, row["retention_margin"]
        has_lost = is_of_period and margin is not None and margin < 0
        forecasts = row["retention_left_ms"] is not None and row["date"] + _DAY == last
        if last is not None and (row["date"] == last or has_lost or forecasts):
            row["retention_margin"] = margin if is_of_period else None
            found.setdefault(key_of(row), []).append(row)
    return found


def _findings_of_group(days: list[Row], newest: date, evaluated_ms: int) -> list[Finding]:
    if days[0]["date"] != newest:
        return group_findings(None, days)
    midnight = datetime.combine(newest, datetime.min.time(), UTC)
    passed_ms = max(0, evaluated_ms - int(midnight.timestamp()) * 1_000)
    return group_findings(days[0], days[1:], passed_ms=passed_ms)
