"""What deserves a look, of each cluster's newest day, and of the days before it what nothing brings back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from kafka_groups.history import Finding
from kafka_groups.pipeline.reporting.asking import DAY_MS, Key, Period, Tables, Wanted
from kafka_groups.pipeline.reporting.columns import date_of, newest_days
from kafka_groups.pipeline.reporting.days import KINDS, group_findings, topic_findings
from kafka_groups.pipeline.tables import GROUP_DAILY, TOPIC_DAILY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_EPOCH = date(1970, 1, 1)


def findings(
    tables: Tables, wanted: Wanted, removed: Collection[Key], evaluated_ms: Mapping[str, int]
) -> tuple[Finding, ...]:
    """From the newest day of each cluster in the period: what is only on an older one is over, or is gone.

    Records that were lost are told of all days of the period, and when some will be from the day before while the new
    one is too short to tell. Of a group that was removed there are none, and of topics only if no group is selected.
    `evaluated_ms` says until when the lag of each cluster is known.
    """
    midnight = tables.period.from_midnight()
    newest = newest_days(*(tables.read(table, "day", period=midnight) for table in (GROUP_DAILY, TOPIC_DAILY)))
    found = [
        finding
        for key, days in _groups(tables, newest).items()
        if wanted.has(key[1]) and key not in removed
        for finding in _of_group(days, evaluated_ms.get(key[0], 0))
    ]
    if wanted.is_all():
        topics = tables.read(TOPIC_DAILY, "day", period=midnight).join(newest, ["cluster_id", "date"])
        rows = topics.drop("day").orderBy("cluster_id", "topic").collect()
        found += [finding for row in rows for finding in topic_findings(row.asDict())]
    return tuple(finding for kind in KINDS for finding in found if finding.kind == kind)


def _groups(tables: Tables, newest: DataFrame) -> dict[Key, list[dict[str, Any]]]:
    """Days of groups that may deserve a look, the newest first; times as dates, for rows have this machine's zone."""
    from pyspark.sql import functions as F

    since_ms, until_ms = tables.period.from_midnight().since_ms, tables.period.until_ms
    # One day more: a period that begins today may need what yesterday foretold.
    period = Period(min(since_ms, until_ms // DAY_MS * DAY_MS - DAY_MS), until_ms)
    began = F.date_from_unix_date(F.lit(since_ms // DAY_MS))
    days = tables.read(GROUP_DAILY, "day", period=period).join(
        newest.withColumnRenamed("date", "newest"), ["cluster_id"]
    )
    is_newest = F.col("date") == F.col("newest")
    has_lost = (F.col("retention_margin") < 0) & (F.col("date") >= began)
    foretells = F.col("retention_left_ms").isNotNull() & (F.date_add("date", 1) == F.col("newest"))
    told = (
        days.where(is_newest | has_lost | foretells)
        .withColumn("last_commit_date", date_of("last_commit_time"))
        .withColumn("is_newest", is_newest)
        .withColumn("retention_margin", F.when(F.col("date") >= began, F.col("retention_margin")))
        .drop("day", "last_commit_time", "topics", "newest")
        .orderBy("cluster_id", "group", F.desc("date"))
    )
    found: dict[Key, list[dict[str, Any]]] = {}
    for row in told.collect():
        found.setdefault((row["cluster_id"], row["group"]), []).append(row.asDict())
    return found


def _of_group(days: list[dict[str, Any]], evaluated_ms: int) -> list[Finding]:
    today = days[0] if days[0]["is_newest"] else None
    if today is None:
        return group_findings(None, days)
    midnight_ms = (today["date"] - _EPOCH).days * DAY_MS
    return group_findings(today, days[1:], passed_ms=max(0, evaluated_ms - midnight_ms))
