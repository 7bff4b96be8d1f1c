"""The state of each group at the end of a period: from its lag, its commits, its rebalances, or its members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from kafka_groups.pipeline.build.coverage import Reach
from kafka_groups.pipeline.report.facts import find_last_facts, mark_deleted, mark_outdated
from kafka_groups.pipeline.report.history import GroupHistory
from kafka_groups.pipeline.report.period import DAY_MS, GROUP, Key, Period, Tables, key_of, select_rebalanced
from kafka_groups.pipeline.store import Row
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, GROUP_STATUS, TOPIC_DAILY
from kafka_groups.verdicts import VERDICTS

_BADNESS: Final = {verdict: rank for rank, verdict in enumerate(dict.fromkeys(VERDICTS.values()), start=1)}
# Of two qualities of a time lag, the later one stands for both.
_QUALITIES: Final = ("exact", "interpolated", "compacted", "lower_bound", "unknown", "data_loss")


class GroupRow(dict[str, Any]):
    """What is known of a group; any other column is null."""

    def __missing__(self, _column: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups of a period but those that were deleted before it. By cluster: the last lag, day, and facts of each.

    - `is_judged`: the group exists, has commits, and has the lag and verdict of its last row of group_status in the
      period, of `evaluated_ms`. Lag and verdict lack `unknown_partitions`, without a known log end offset.
    - `is_outdated`: the coordinator did not respond to the last samples.
    - `is_idle`: no commit in the last 24 hours, and no member on the last day.
    """

    rows: Mapping[Key, GroupRow]
    evaluated_ms: Mapping[str, int]
    newest_day_ms: Mapping[str, int]
    reach: Mapping[str, Reach]


def read_groups(tables: Tables) -> Groups:
    """Return the groups that any table has rows of in the period."""
    rows: defaultdict[Key, GroupRow] = defaultdict(GroupRow)
    for found in _select_rows(tables):
        rows[key_of(found)].update(found)
    topics = {row["cluster_id"]: row for row in tables.select(TOPIC_DAILY, _LAST_TOPICS, tables.days)}
    reach = find_last_facts(tables, {cluster for cluster, _ in rows})
    mark_deleted(tables, rows, reach)
    since_ms = tables.period.since_ms
    for row in rows.values():
        # Without a record in the period, nothing would have shown a rebalance.
        read_ms = reach[row["cluster_id"]].read_ms
        row["has_unknown_rebalances"] = row["has_unknown_rebalances"] or read_ms is None or read_ms < since_ms
        exists = row["removed_ms"] is None and not _has_ended(row, topics.get(row["cluster_id"]))
        row["is_judged"] = row["evaluated_ms"] is not None and exists
        if row["is_judged"] and row["is_last"] and row["committed"] is not None:
            row["unknown_partitions"] = max(0, row["committed"] - row["partitions"])
    mark_outdated(tables, rows.values(), reach)
    return Groups(
        {key: row for key, row in rows.items() if row["removed_ms"] is None or row["removed_ms"] >= since_ms},
        _newest(rows.values(), "evaluated_ms"),
        _newest((*rows.values(), *topics.values()), "day_ms"),
        reach,
    )


def summarise(row: GroupRow) -> GroupHistory:
    """Return what is known of a group at the end of the period, without points and known rebalances."""
    status = row if row["is_judged"] else GroupRow()
    if status["lag"] is None:
        lag_quality = "unknown"
    elif row["is_outdated"]:
        lag_quality = "outdated"
    else:
        lag_quality = "lower_bound" if row["unknown_partitions"] else "exact"
    # Rates of some partitions would look like those of the group.
    rates = status if lag_quality == "exact" else GroupRow()
    time_lag_ms, time_lag_quality = _time_lag(row)
    last: Row = row
    if row["removed_ms"] is not None:
        last = {"state": "Dead", "members": 0}
    elif row["seen"] is not None and row["seen"]["at_ms"] > (row["evaluated_ms"] or -1):
        last = row["seen"]
    return GroupHistory(
        **{name: row[name] for name in ("cluster_id", "group", "removed_ms")},
        **{name: last[name] for name in ("state", "members")},
        **{name: status[name] for name in ("rule", "lag")},
        **{name: rates[name] for name in ("consume_rate", "produce_rate", "catch_up_ms")},
        verdict=VERDICTS.get(status["rule"]),
        evaluated_ms=row["evaluated_ms"] if row["is_judged"] else None,
        removed_is_bound=bool(row["removed_is_bound"]),
        # Nobody reads with it.
        is_unused=bool(row["is_idle"]) and last["state"] == "Empty",
        lag_quality=lag_quality,
        time_lag_ms=time_lag_ms,
        time_lag_quality=time_lag_quality,
        lagging_since_ms=None,
        lagging_since_is_bound=False,
        points=(),
        rebalances=None if row["has_unknown_rebalances"] else (),
    )


def badness(one: GroupHistory) -> tuple[Any, ...]:
    """Return a key that sorts the worst group first; then groups without a verdict, unused ones, deleted ones."""
    rank = _BADNESS.get(one.verdict or "", 0)
    order = (one.removed_ms is not None, one.is_unused, -rank, -(one.lag or 0), -(one.time_lag_ms or 0))
    return (*order, one.cluster_id, one.group)


def _time_lag(row: GroupRow) -> tuple[int | None, str]:
    """Return the longest time lag of a partition, a lower bound if that of another one is unknown."""
    if row["is_outdated"] or not row["is_judged"]:
        return None, "unknown"
    longest_ms, quality = row["time_lag_ms"], row["time_lag_quality"]
    if row["unknown_partitions"]:
        quality = max(quality, "unknown", key=_QUALITIES.index)
    if quality != "unknown":
        return longest_ms, quality
    return (longest_ms, "lower_bound") if longest_ms else (None, quality)


def _newest(rows: Collection[Row], name: str) -> dict[str, int]:
    """Return by cluster the greatest value of a column."""
    known = sorted((row for row in rows if row[name] is not None), key=itemgetter(name))
    return {row["cluster_id"]: row[name] for row in known}


def _has_ended(row: GroupRow, topics: Row | None) -> bool:
    """Return whether all commits of a group were removed: it has none on its last day, or no row of later days.

    Without a row it may also have commits that are older than the days that a build reads. If the cluster has rows
    after the period, the end of its last day says nothing of groups with a row at its end.
    """
    if row["is_newest"] or row["day_ms"] is None or topics is None:
        return False
    oldest_ms = topics["day_ms"] - topics["lookback_days"] * DAY_MS
    is_missing = row["day_ms"] < topics["day_ms"] and (row["committed_ms"] or 0) >= max(oldest_ms, 1)
    return is_missing or bool(row["day_partitions"] == 0)


def _select_rows(tables: Tables) -> Iterator[Row]:
    """Yield what the tables have of each group: its last lag, records, days, and whether it had a rebalance."""
    since_ms, until_ms = tables.period
    midnight_ms = until_ms // DAY_MS * DAY_MS + DAY_MS - 1
    sql = _LAST_STATUSES.replace("{until_ms}", str(until_ms))
    yield from tables.select(GROUP_STATUS, sql, Period(since_ms, midnight_ms))
    yield from tables.select(GROUP_EVENTS, _LAST_EVENTS, tables.days)
    yield from tables.select(GROUP_DAILY, _LAST_DAYS, tables.days)
    yield from select_rebalanced(tables)


# The last row of each group in the period. `is_last`: the group has no later row; `is_newest`: no other group of the
# cluster has a later one in the period, and some has one after it.
_LAST_STATUSES: Final = f"""
    SELECT cluster_id, "group", last_ms AS evaluated_ms, first_ms, has_unknown_time_lag, newest_ms = last_ms AS is_last,
        newest_of_cluster_ms > {{until_ms}} AND last_of_cluster_ms = last_ms AS is_newest,
        rule, lag, state, members, partitions, time_lag_ms, time_lag_quality, consume_rate, produce_rate, catch_up_ms
    FROM {{rows}} AS last JOIN (
        SELECT *, max(newest_ms) OVER (PARTITION BY cluster_id) AS newest_of_cluster_ms,
            max(last_ms) OVER (PARTITION BY cluster_id) AS last_of_cluster_ms
        FROM (
            SELECT {GROUP}, max(at_ms) AS newest_ms, min(at_ms) AS first_ms,
                max(at_ms) FILTER (WHERE at_ms <= {{until_ms}}) AS last_ms,
                bool_or(time_lag_quality = 'unknown') FILTER (WHERE at_ms <= {{until_ms}}) AS has_unknown_time_lag
            FROM {{rows}} GROUP BY {GROUP}
        )
    ) AS times USING (cluster_id, "group") WHERE at_ms = last_ms
"""
# The last record of each group as a whole, which shows whether it exists; the last known state; and the last sample
# that lists the group.
_LAST_EVENTS: Final = f"""
    SELECT {GROUP}, last_value(at_ms ORDER BY source_offset) FILTER (WHERE is_of_group) AS record_ms,
        last_value(event_type = 'group_removed' ORDER BY source_offset) FILTER (WHERE is_of_group) AS is_removal,
        last_value(named_struct('at_ms', at_ms, 'state', known_state, 'members', CASE WHEN known_state = 'Empty' THEN 0
            WHEN members IS NOT NULL THEN CAST(cardinality(members) AS BIGINT) END)
            ORDER BY at_ms, coalesce(source_offset, -1)) FILTER (WHERE known_state IS NOT NULL) AS seen,
        max(at_ms) FILTER (WHERE origin = 'sample' AND event_type = 'state_seen') AS seen_ms,
        bool_or(kind LIKE 'Share%' OR kind LIKE 'Streams%') AS has_unknown_rebalances
    FROM (
        SELECT *, coalesce(group_type, type) AS kind, coalesce(state,
                CASE event_type WHEN 'group_emptied' THEN 'Empty' WHEN 'generation' THEN 'Stable' END) AS known_state,
            origin = 'topic' AND event_type IN ('generation', 'group_emptied', 'group_epoch', 'group_removed')
                AS is_of_group
        FROM {{rows}}
    ) GROUP BY {GROUP}
"""
# The last commit and the last day with a commit, whether or not the lag is known.
_LAST_DAYS: Final = f"""
    SELECT {GROUP}, max(at_ms) AS day_ms, max(CAST(last_commit_time AS BIGINT) / 1000) AS committed_ms,
        last_value(partitions ORDER BY at_ms) AS day_partitions, last_value(is_idle ORDER BY at_ms) AS is_idle,
        last_value(partitions - orphaned_partitions ORDER BY at_ms) AS committed
    FROM {{rows}} GROUP BY {GROUP}
"""
# The newest day of topics of each cluster, and how many days before it a build read.
_LAST_TOPICS: Final = """
    SELECT cluster_id, max(at_ms) AS day_ms, last_value(lookback_days ORDER BY at_ms) AS lookback_days
    FROM {rows} GROUP BY cluster_id
"""
