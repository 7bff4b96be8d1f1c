"""The state of each group at the end of a period: from its lag, its commits, its rebalances, or its members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_groups.pipeline.coverage import Reach
from kafka_groups.pipeline.reports.deleted_groups import Deletion, find_deleted
from kafka_groups.pipeline.reports.last_facts import find_last_facts
from kafka_groups.pipeline.reports.selection import DAY_MS, GROUP, Key, Tables, key_of
from kafka_groups.pipeline.reports.timeline import rebalanced_groups
from kafka_groups.pipeline.schemas import GROUP_DAILY, GROUP_EVENTS, GROUP_STATUS, TOPIC_DAILY
from kafka_groups.pipeline.storage.queries import Row
from kafka_groups.verdicts import VERDICTS

_BADNESS: Final = {verdict: rank for rank, verdict in enumerate(dict.fromkeys(VERDICTS.values()), start=1)}
# Of two qualities of a time lag, the later one stands for both.
_QUALITIES: Final = ("exact", "interpolated", "compacted", "lower_bound", "unknown", "data_loss")
# Records of a group as a whole; the last one shows whether the group exists.
_OF_GROUPS: Final = "'generation', 'group_emptied', 'group_epoch', 'group_removed'"
_STATUS: Final = (
    *("rule", "lag", "state", "members", "partitions", "time_lag_ms", "time_lag_quality"),
    *("consume_rate", "produce_rate", "catch_up_ms"),
)
_NO_STATUS: Final[Row] = dict.fromkeys(_STATUS)


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSummary:
    """A group at the end of a period.

    - `status` is its last row of group_status in the period, of `evaluated_ms`.
    - `has_ended`: all its commits were removed since, so it has no lag and no verdict.
    - `committed` is the number of partitions with a commit, without partitions that no longer exist; None if the tables
      have later rows than the period.
    - `shows_rebalances`: the records of the group show its rebalances (not those of share and streams groups).
    - `has_unknown_time_lag`: some row of the period has an unknown time lag. `first_ms` is the time of its first row.
    - `is_outdated`: its coordinator did not respond to the last samples.
    - `is_idle`: no commit in the last 24 hours, and no member on its last day.
    """

    key: Key
    evaluated_ms: int | None = None
    first_ms: int | None = None
    status: Row
    state: str | None = None
    members: int | None = None
    deletion: Deletion | None = None
    has_ended: bool = False
    has_unknown_time_lag: bool = False
    shows_rebalances: bool = True
    committed: int | None = None
    is_outdated: bool = False
    is_idle: bool = False

    @property
    def group(self) -> str:
        """The id of the group."""
        return self.key[1]

    @property
    def removed_ms(self) -> int | None:
        """The time of its deletion; None if it was not deleted."""
        return None if self.deletion is None else self.deletion.at_ms

    @property
    def is_judged(self) -> bool:
        """Whether it has a lag and a verdict."""
        return self.evaluated_ms is not None and self.deletion is None and not self.has_ended

    @property
    def rule(self) -> str | None:
        """The rule of the verdict; None without one."""
        return self.status["rule"] if self.is_judged else None

    @property
    def verdict(self) -> str | None:
        """The verdict; None without a lag."""
        return None if self.rule is None else VERDICTS.get(self.rule)

    @property
    def lag(self) -> int | None:
        """The lag; None without one."""
        return self.status["lag"] if self.is_judged else None

    @property
    def is_unused(self) -> bool:
        """Whether nobody reads with it: it is empty, and has committed nothing for a day."""
        return self.is_idle and self.state == "Empty"

    @property
    def unknown_partitions(self) -> int:
        """The number of partitions with a commit and without a known log end offset, which lag and verdict lack."""
        counted = self.status["partitions"] if self.is_judged else None
        return 0 if counted is None or self.committed is None else max(0, self.committed - counted)

    @property
    def lag_quality(self) -> str:
        """The quality of the lag, as GroupHistory documents it."""
        if self.lag is None:
            return "unknown"
        if self.is_outdated:
            return "outdated"
        return "lower_bound" if self.unknown_partitions else "exact"

    def time_lag(self) -> tuple[int | None, str]:
        """Return the longest time lag of a partition, a lower bound if that of another one is unknown."""
        if self.is_outdated or not self.is_judged:
            return None, "unknown"
        longest_ms, quality = self.status["time_lag_ms"], self.status["time_lag_quality"]
        if self.unknown_partitions:
            quality = max(quality, "unknown", key=_QUALITIES.index)
        if quality != "unknown":
            return longest_ms, quality
        return (longest_ms, "lower_bound") if longest_ms else (None, quality)

    def badness(self) -> tuple[Any, ...]:
        """Return a key that sorts the worst group first; then groups without a verdict, unused ones, deleted ones."""
        rank = _BADNESS.get(self.verdict or "", 0)
        time_lag_ms = self.status["time_lag_ms"] if self.is_judged else None
        return (self.deletion is not None, self.is_unused, -rank, -(self.lag or 0), -(time_lag_ms or 0), *self.key)


@dataclass(frozen=True, slots=True)
class Summaries:
    """All groups of a period; by cluster the time of the last lag, and the times of the last facts.

    `deleted_before` are groups that were deleted before the period.
    """

    groups: Mapping[Key, GroupSummary]
    deleted_before: frozenset[Key]
    evaluated_ms: Mapping[str, int]
    reach: Mapping[str, Reach]


def summarise_groups(tables: Tables) -> Summaries:
    """Return the groups that any table has rows of in the period."""
    every, events, days = (_by_group(rows) for rows in (_statuses(tables), _events(tables), _days(tables)))
    statuses = {key: row for key, row in every.items() if row["evaluated_ms"] is not None}
    # Clusters with rows after the period: the end of its last day says nothing of groups with a row at its end.
    later = {key[0] for key, row in every.items() if row["newest_ms"] > tables.period.until_ms}
    keys = statuses.keys() | events.keys() | days.keys() | rebalanced_groups(tables)
    newest: dict[str, int] = {}
    for (cluster, _), row in statuses.items():
        newest[cluster] = max(row["evaluated_ms"], newest.get(cluster, 0))
    reach = find_last_facts(tables, {cluster for cluster, _ in keys})
    deleted = find_deleted(tables, {key: events.get(key, {}) | days.get(key, {}) for key in keys}, reach)
    before = frozenset(key for key, one in deleted.items() if one.at_ms < tables.period.since_ms)
    newest_days = _newest_days(tables)
    found: dict[Key, GroupSummary] = {}
    for key in keys - before:
        one = _summarise(key, statuses.get(key), events.get(key, {}), days.get(key, {}), deleted.get(key))
        is_newest = key[0] in later and one.evaluated_ms == newest.get(key[0])
        has_ended = not is_newest and _has_ended(days.get(key), newest_days.get(key[0]))
        found[key] = replace(one, has_ended=has_ended)
    return Summaries(found, before, newest, reach)


def _by_group(rows: Iterable[Row]) -> dict[Key, Row]:
    return {key_of(row): row for row in rows}


def _summarise(key: Key, status: Row | None, event: Row, day: Row, deletion: Deletion | None) -> GroupSummary:
    seen = event.get("seen") or {"at_ms": -1, "state": None, "members": None}
    one = GroupSummary(
        key=key,
        status=_NO_STATUS,
        shows_rebalances=not event.get("has_no_rebalances"),
        is_idle=bool(day.get("is_idle")),
    )
    evaluated_ms = None if status is None else status["evaluated_ms"]
    if deletion is not None:
        return replace(one, evaluated_ms=evaluated_ms, state="Dead", members=0, deletion=deletion)
    if status is None or evaluated_ms is None:
        return replace(one, state=seen["state"], members=seen["members"])
    last = {name: status[name] for name in _STATUS}
    newest = seen if seen["at_ms"] > evaluated_ms else last
    return replace(
        one,
        evaluated_ms=evaluated_ms,
        first_ms=status["first_ms"],
        status=last,
        has_unknown_time_lag=status["has_unknown"],
        committed=day.get("committed") if status["newest_ms"] == evaluated_ms else None,
        state=newest["state"],
        members=newest["members"],
    )


def _has_ended(day: Row | None, newest: Row | None) -> bool:
    """Return whether all commits of a group were removed: it has none on its last day, or no row of later days.

    Without a row it may also have commits that are older than the days that a build reads.
    """
    if day is None or newest is None:
        return False
    committed_ms = day["committed_ms"]
    oldest_ms = newest["day_ms"] - newest["lookback_days"] * DAY_MS
    is_missing = day["day_ms"] < newest["day_ms"] and committed_ms is not None and committed_ms >= oldest_ms
    return day["partitions"] == 0 or is_missing


def _statuses(tables: Tables) -> list[Row]:
    until_ms = tables.period.until_ms
    within = f"FILTER (WHERE at_ms <= {until_ms})"
    sql = f"""
        SELECT times.cluster_id, times."group", newest_ms, evaluated_ms, first_ms, has_unknown, {", ".join(_STATUS)}
        FROM (
            SELECT {GROUP}, max(at_ms) AS newest_ms, max(at_ms) {within} AS evaluated_ms, min(at_ms) AS first_ms,
                max(evaluated_at) {within} AS last_at, bool_or(time_lag_quality = 'unknown') {within} AS has_unknown
            FROM {{rows}} GROUP BY {GROUP}
        ) AS times LEFT JOIN {{rows}} AS last ON times.cluster_id = last.cluster_id AND times."group" = last."group"
            AND times.last_at = last.evaluated_at
    """
    return tables.select(GROUP_STATUS, sql, tables.period.until_midnight())


def _events(tables: Tables) -> list[Row]:
    """Return by group its last record as a whole, its last known state, and the time of the last sample with it."""
    state = "coalesce(state, CASE event_type WHEN 'group_emptied' THEN 'Empty' WHEN 'generation' THEN 'Stable' END)"
    members = (
        f"CASE WHEN {state} = 'Empty' THEN 0 WHEN members IS NOT NULL THEN CAST(cardinality(members) AS BIGINT) END"
    )
    kind = "coalesce(group_type, type)"
    sql = f"""
        SELECT {GROUP},
            last_value(named_struct('event_type', event_type, 'at_ms', at_ms) ORDER BY source_offset)
                FILTER (WHERE origin = 'topic' AND event_type IN ({_OF_GROUPS})) AS record,
            last_value(named_struct('at_ms', at_ms, 'state', {state}, 'members', {members})
                ORDER BY at_ms, coalesce(source_offset, -1)) FILTER (WHERE {state} IS NOT NULL) AS seen,
            max(at_ms) FILTER (WHERE origin = 'sample' AND event_type = 'state_seen') AS seen_ms,
            bool_or({kind} LIKE 'Share%' OR {kind} LIKE 'Streams%') AS has_no_rebalances
        FROM {{rows}} GROUP BY {GROUP}
    """
    return tables.select(GROUP_EVENTS, sql, tables.period.from_midnight())


def _days(tables: Tables) -> list[Row]:
    """Return by group its last commit and its last day with a commit, whether or not its lag is known."""
    sql = f"""
        SELECT {GROUP}, max(at_ms) AS day_ms, max(CAST(last_commit_time AS BIGINT) / 1000) AS committed_ms,
            last_value(partitions ORDER BY at_ms) AS partitions, last_value(is_idle ORDER BY at_ms) AS is_idle,
            last_value(partitions - orphaned_partitions ORDER BY at_ms) AS committed
        FROM {{rows}} GROUP BY {GROUP}
    """
    return tables.select(GROUP_DAILY, sql, tables.period.from_midnight())


def _newest_days(tables: Tables) -> dict[str, Row]:
    """Return by cluster the newest day of topics, and how many days before it a build read."""
    sql = """
        SELECT cluster_id, max(at_ms) AS day_ms, last_value(lookback_days ORDER BY at_ms) AS lookback_days
        FROM {rows} GROUP BY cluster_id
    """
    return {row["cluster_id"]: row for row in tables.select(TOPIC_DAILY, sql, tables.period.from_midnight())}
