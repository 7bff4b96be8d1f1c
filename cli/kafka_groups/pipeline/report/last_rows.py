"""The last rows of each group in the period of a report: its status, its events and its day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_groups.pipeline.report.period import GroupKey, PeriodTables
from kafka_groups.pipeline.report.timeline import find_rebalanced_groups
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, GROUP_STATUS, TOPIC_DAILY

# The period of this query ends at midnight, so it also has rows after the period of the report.
_LAST_STATUSES: Final = """
    SELECT cluster_id, "group", last_ms AS evaluated_ms, first_ms, has_unknown_time_lag, newest_ms = last_ms AS is_last,
        newest_of_cluster_ms > {until_ms} AND last_of_cluster_ms = last_ms AS is_newest_of_cluster,
        rule, CAST(verdict_since AS BIGINT) / 1000 AS verdict_since_ms, lag, state, member_count, partitions,
        time_lag_ms, time_lag_quality, consume_rate, produce_rate, catch_up_ms
    FROM period_rows AS last JOIN (
        SELECT *, max(newest_ms) OVER (PARTITION BY cluster_id) AS newest_of_cluster_ms,
            max(last_ms) OVER (PARTITION BY cluster_id) AS last_of_cluster_ms
        FROM (
            SELECT cluster_id, "group", max(at_ms) AS newest_ms, min(at_ms) AS first_ms,
                max(at_ms) FILTER (WHERE at_ms <= {until_ms}) AS last_ms,
                bool_or(time_lag_quality = 'unknown') FILTER (WHERE at_ms <= {until_ms}) AS has_unknown_time_lag
            FROM period_rows GROUP BY cluster_id, "group"
        )
    ) AS times USING (cluster_id, "group") WHERE at_ms = last_ms
"""
# Records of members do not show that the group exists: their tombstones are also written when it is deleted.
_LAST_EVENTS: Final = """
    SELECT cluster_id, "group", record_ms, is_group_deletion, state['at_ms'] AS state_ms, state['state'] AS state,
        state['member_count'] AS member_count, listed_ms, is_share_group
    FROM (
        SELECT cluster_id, "group",
            last_value(at_ms ORDER BY source_offset) FILTER (WHERE is_group_record) AS record_ms,
            last_value(event_type = 'group_removed' ORDER BY source_offset) FILTER (WHERE is_group_record)
                AS is_group_deletion,
            last_value(
                named_struct('at_ms', at_ms, 'state', known_state, 'member_count', CASE
                    WHEN known_state = 'Empty' THEN 0
                    WHEN members IS NOT NULL THEN CAST(cardinality(members) AS BIGINT) END)
                ORDER BY at_ms, coalesce(source_offset, -1)
            ) FILTER (WHERE known_state IS NOT NULL) AS state,
            max(at_ms) FILTER (WHERE origin = 'sample' AND event_type = 'state_seen') AS listed_ms,
            last_value(coalesce(group_type, record_name) LIKE 'Share%' ORDER BY at_ms, coalesce(source_offset, -1))
                FILTER (WHERE group_type IS NOT NULL OR origin = 'topic') AS is_share_group
        FROM (
            SELECT *, coalesce(state,
                    CASE event_type WHEN 'group_emptied' THEN 'Empty' WHEN 'generation' THEN 'Stable' END
                ) AS known_state,
                origin = 'topic' AND event_type IN ('generation', 'group_emptied', 'group_epoch', 'group_removed')
                    AS is_group_record
            FROM period_rows
        ) GROUP BY cluster_id, "group"
    )
"""
_LAST_DAYS: Final = """
    SELECT cluster_id, "group", max(at_ms) AS day_ms, max(CAST(last_commit_time AS BIGINT) / 1000) AS last_commit_ms,
        last_value(partitions ORDER BY at_ms) AS partitions, last_value(is_idle ORDER BY at_ms) AS is_idle,
        last_value(partitions - orphaned_partitions ORDER BY at_ms) AS existing_partitions
    FROM period_rows GROUP BY cluster_id, "group"
"""
_LAST_TOPIC_DAYS: Final = """
    SELECT cluster_id, max(at_ms) AS day_ms, last_value(lookback_days ORDER BY at_ms) AS lookback_days
    FROM period_rows GROUP BY cluster_id
"""


class LastStatus(NamedTuple):
    """The last row of a group in group_status, in the period. Times are milliseconds since 1970.

    - `evaluated_ms` is the time of the row, `first_ms` the time of the group's first row in the period.
    - `has_unknown_time_lag`: at least one row in the period has an unknown time lag.
    - `is_last`: the group has no later row on the last day.
    - `is_newest_of_cluster`: no group of the cluster has a later row in the period, but some group has one after it.
    - `partitions` is the number of partitions with a commit and a known log end offset. The other columns are as in
      group_status.
    """

    cluster_id: str
    group: str
    evaluated_ms: int
    first_ms: int
    has_unknown_time_lag: bool | None
    is_last: bool
    is_newest_of_cluster: bool
    rule: str | None
    verdict_since_ms: int | None
    lag: int | None
    state: str | None
    member_count: int | None
    partitions: int
    time_lag_ms: int | None
    time_lag_quality: str
    consume_rate: float | None
    produce_rate: float | None
    catch_up_ms: int | None


class LastEvent(NamedTuple):
    """The last records and samples of a group in the period. Times are milliseconds since 1970.

    - `record_ms` is the time of the last record about the group itself, not about a member. `is_group_deletion` is
      true if it is the group's tombstone. Both are None without such a record.
    - `state` is the last known state, with its time `state_ms` and its `member_count`; all are None if unknown.
    - `listed_ms` is the time of the last sample that lists the group.
    - `is_share_group`: the last record or sample shows a share group. None if the kind is unknown.
    """

    cluster_id: str
    group: str
    record_ms: int | None = None
    is_group_deletion: bool | None = None
    state_ms: int | None = None
    state: str | None = None
    member_count: int | None = None
    listed_ms: int | None = None
    is_share_group: bool | None = None


class LastDay(NamedTuple):
    """The last row of a group in group_daily, in the days of the period. Times are milliseconds since 1970.

    `last_commit_ms` is the time of its last commit. `partitions` is the number of partitions with a commit at the end
    of the day, and `existing_partitions` the number of these that still exist. `is_idle`: no commit in the 24 hours
    before, and no member.
    """

    cluster_id: str
    group: str
    day_ms: int
    last_commit_ms: int | None
    partitions: int | None
    is_idle: bool | None
    existing_partitions: int | None


class LastTopicDay(NamedTuple):
    """The newest day of a cluster in topic_daily (ms since 1970), and the number of earlier days that count."""

    cluster_id: str
    day_ms: int
    lookback_days: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LastRows:
    """The last rows of a group in the period; None for a table without a row."""

    status: LastStatus | None = None
    event: LastEvent | None = None
    day: LastDay | None = None

    @property
    def last_sign_ms(self) -> int:
        """The time of the last sign of the group; its tombstone is one, too. -1 without a sign."""
        signs = [-1]
        if self.event is not None:
            signs += [self.event.record_ms or -1, self.event.listed_ms or -1]
        if self.day is not None:
            signs.append(self.day.last_commit_ms or -1)
        return max(signs)


def read_last_rows(tables: PeriodTables) -> dict[GroupKey, LastRows]:
    """Return the last rows of all groups for which any table has a row in the period."""
    period = tables.period
    until_ms = period.until_ms
    statuses = tables.select(LastStatus, GROUP_STATUS, _LAST_STATUSES, period.to_midnight(), until_ms=until_ms)
    events = tables.select(LastEvent, GROUP_EVENTS, _LAST_EVENTS, period.from_midnight())
    days = tables.select(LastDay, GROUP_DAILY, _LAST_DAYS, period.from_midnight())
    status_by_group = {GroupKey(status.cluster_id, status.group): status for status in statuses}
    event_by_group = {GroupKey(event.cluster_id, event.group): event for event in events}
    day_by_group = {GroupKey(day.cluster_id, day.group): day for day in days}
    groups = [*status_by_group, *event_by_group, *day_by_group, *find_rebalanced_groups(tables)]
    return {
        key: LastRows(status=status_by_group.get(key), event=event_by_group.get(key), day=day_by_group.get(key))
        for key in dict.fromkeys(groups)
    }


def read_last_topic_days(tables: PeriodTables) -> Mapping[str, LastTopicDay]:
    """Return the newest day in topic_daily by cluster id."""
    days = tables.select(LastTopicDay, TOPIC_DAILY, _LAST_TOPIC_DAYS, tables.period.from_midnight())
    return {day.cluster_id: day for day in days}
