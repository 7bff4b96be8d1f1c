"""Findings: groups, topics and clusters that need attention, each with a sentence."""

from __future__ import annotations

from datetime import date
from itertools import groupby
from typing import Final, NamedTuple

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.build.sentences import name_cluster
from kafka_groups.pipeline.report.group_findings import GroupDayRow, describe_group
from kafka_groups.pipeline.report.history import Finding
from kafka_groups.pipeline.report.known_groups import KnownGroups
from kafka_groups.pipeline.report.period import GroupKey, PeriodTables, date_of
from kafka_groups.pipeline.report.resets import KNOWN_RESET, find_resets
from kafka_groups.pipeline.tables import GROUP_DAILY, TOPIC_DAILY
from kafka_groups.rendering.durations import format_duration

KINDS: Final = (
    "retention_risk",
    "clock_difference",
    "orphaned_commit",
    "idle_group",
    "unread_topic",
    "skew",
    KNOWN_RESET,
)
# NTP keeps clocks within a second of each other, so that a difference of several seconds shows one that is wrong.
_MIN_CLOCK_JUMP_MS: Final = 5_000
# The margins of days before the period are not reported, except for the forecast of the last day before it.
_DAYS_WITH_FINDINGS: Final = """
    SELECT cluster_id, "group", day, orphaned_partitions, is_idle, skew, last_lag, min_retention_margin,
        last_retention_margin, retention_left_ms, last_commit_date, has_commits
    FROM (
        SELECT cluster_id, "group", date AS day, orphaned_partitions, is_idle, skew, last_lag, last_retention_margin,
            retention_left_ms, CAST(last_commit_time AS DATE) AS last_commit_date,
            partitions IS NOT NULL AS has_commits,
            CASE WHEN date >= {first_date} THEN min_retention_margin END AS min_retention_margin
        FROM period_rows
    )
    WHERE day IN ({newest_dates}) OR min_retention_margin < 0 OR retention_left_ms IS NOT NULL
    ORDER BY cluster_id, "group", day DESC
"""
# The largest jump of a cluster comes first.
_CLOCK_JUMPS: Final = """
    SELECT cluster_id, "group", at_ms AS day_ms, date AS day, clock_jump_ms FROM period_rows
    WHERE clock_jump_ms >= {min_ms} AND date IN ({newest_dates})
    ORDER BY cluster_id, clock_jump_ms DESC, "group"
"""
# No group needs to read the topics of Kafka itself.
_UNREAD_TOPICS: Final = """
    SELECT cluster_id, topic, at_ms AS day_ms, date AS day, records_produced, lookback_days FROM period_rows
    WHERE is_unread AND NOT starts_with(topic, '__') ORDER BY cluster_id, topic
"""


class UnreadTopic(NamedTuple):
    """A topic that no group read on a day; `lookback_days` is the number of earlier days whose commits were read.

    `day_ms` is the day in milliseconds since 1970, `records_produced` the number of its records; None if unknown.
    """

    cluster_id: str
    topic: str
    day_ms: int
    day: date
    records_produced: int | None
    lookback_days: int | None


class ClockJump(NamedTuple):
    """The furthest that a commit record's time lies behind an earlier record's in a group on a day, in milliseconds.

    `day_ms` is the day in milliseconds since 1970.
    """

    cluster_id: str
    group: str
    day_ms: int
    day: date
    clock_jump_ms: int


def find_findings(tables: PeriodTables, selectors: Selectors, groups: KnownGroups) -> tuple[Finding, ...]:
    """Return the findings on the newest day of each cluster in the period, by kind.

    Lost records and known resets are reported for all days of the period. While the newest day is too short for rates,
    the forecast of the day before holds. Deleted groups have no findings. Clocks are compared by the commits of the
    selected groups. Topics are reported only if all groups are selected.
    """
    findings = _find_group_findings(tables, selectors, groups)
    findings += _find_clock_differences(tables, selectors, groups)
    findings += find_resets(tables, selectors, groups)
    if selectors.selects_all():
        findings += _find_unread_topics(tables, groups)
    return tuple(sorted(findings, key=lambda finding: KINDS.index(finding.kind)))


def _find_group_findings(tables: PeriodTables, selectors: Selectors, groups: KnownGroups) -> list[Finding]:
    rows = tables.select(
        GroupDayRow,
        GROUP_DAILY,
        _DAYS_WITH_FINDINGS,
        tables.period.from_midnight(days_before=1),
        first_date=date_of(tables.period.since_ms),
        newest_dates=_newest_dates(groups),
    )
    findings = []
    for (cluster, group_id), group_days in groupby(rows, lambda row: GroupKey(row.cluster_id, row.group)):
        # A group that is not known has only a row on the day before the period.
        group = groups.by_key.get(GroupKey(cluster, group_id))
        day_ms = groups.newest_day_ms.get(cluster)
        if group is None or group.deletion is not None or day_ms is None or not selectors.selects(group_id):
            continue
        time_of_day_ms = max(0, groups.evaluated_ms.get(cluster, 0) - day_ms)
        for kind, sentence in describe_group(list(group_days), date_of(day_ms), time_of_day_ms):
            findings.append(Finding(kind=kind, cluster_id=cluster, group=group_id, topic=None, message=sentence))
    return findings


def _newest_dates(groups: KnownGroups) -> list[date]:
    """Return the newest days of all clusters without repetitions, in ascending order."""
    return sorted(set(map(date_of, groups.newest_day_ms.values())))


def _find_clock_differences(tables: PeriodTables, selectors: Selectors, groups: KnownGroups) -> list[Finding]:
    """Return one finding for each cluster whose clocks differ, from the group with the largest jump."""
    jumps = tables.select(
        ClockJump,
        GROUP_DAILY,
        _CLOCK_JUMPS,
        tables.period.from_midnight(),
        min_ms=_MIN_CLOCK_JUMP_MS,
        newest_dates=_newest_dates(groups),
    )
    finding_by_cluster: dict[str, Finding] = {}
    for jump in jumps:
        group = groups.by_key.get(GroupKey(jump.cluster_id, jump.group))
        is_reported = group is not None and group.deletion is None and selectors.selects(jump.group)
        if (
            is_reported
            and jump.day_ms == groups.newest_day_ms[jump.cluster_id]
            and jump.cluster_id not in finding_by_cluster
        ):
            finding_by_cluster[jump.cluster_id] = Finding(
                kind="clock_difference",
                cluster_id=jump.cluster_id,
                group=None,
                topic=None,
                message=name_cluster(describe_clocks(jump), jump.cluster_id, groups.coverages),
            )
    return list(finding_by_cluster.values())


def _find_unread_topics(tables: PeriodTables, groups: KnownGroups) -> list[Finding]:
    topics = tables.select(UnreadTopic, TOPIC_DAILY, _UNREAD_TOPICS, tables.period.from_midnight())
    return [
        Finding(
            kind="unread_topic",
            cluster_id=topic.cluster_id,
            group=None,
            topic=topic.topic,
            message=describe_topic(topic),
        )
        for topic in topics
        if topic.day_ms == groups.newest_day_ms[topic.cluster_id]
    ]


def describe_topic(topic: UnreadTopic) -> str:
    """Return the sentence on a topic that no group reads."""
    lookback_days = topic.lookback_days or 0
    if lookback_days == 0:
        period_text = "of that day"
    elif lookback_days == 1:
        period_text = "of that day and the one before"
    else:
        period_text = f"of the {lookback_days} days until then"
    readers_text = (
        f"no group has a commit on it at the end of {topic.day} ({period_text}), and no known member reads it"
    )
    written_text = ""
    if topic.records_produced is not None:
        records_text = "record was" if topic.records_produced == 1 else "records were"
        observations_text = "between the first and the last observation of that day"
        written_text = f"; {topic.records_produced:,} {records_text} written {observations_text}"
    return f"Topic {topic.topic}: {readers_text}{written_text}."


def describe_clocks(jump: ClockJump) -> str:
    """Return the sentences on broker clocks that differ; they begin with a small letter."""
    difference_text = format_duration(jump.clock_jump_ms)
    return (
        f"broker clocks differ by at least {difference_text}, or one was set back: commit times of group {jump.group} "
        f"fell by that on {jump.day}. Times of lag and of rebalances may be off by as much."
    )
