"""Groups whose last commit is too old for the dates that were built last: they have no row any more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import date, timedelta
from typing import Final

from kafka_groups.pipeline.schemas import GROUP_DAILY, TOPIC_DAILY, Table
from kafka_groups.pipeline.sentences import few
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.queries import Queries, Row

_CLUSTERS: Final = """
    SELECT DISTINCT cluster_id, CAST(date AS VARCHAR) AS date FROM {rows}
    WHERE date BETWEEN DATE '{first}' AND DATE '{last}'
"""
_LAST_ROWS: Final = """
    SELECT cluster_id, "group", CAST(date AS VARCHAR) AS date, CAST(last_commit_time AS BIGINT) AS committed_us FROM (
        SELECT *, row_number() OVER (PARTITION BY cluster_id, "group" ORDER BY date DESC) AS place FROM {rows}
        WHERE date BETWEEN DATE '{first}' AND DATE '{last}'
    ) WHERE place = 1 AND partitions > 0 ORDER BY cluster_id, "group"
"""


def left_out(
    storage: Storage,
    lookback_days: int,
    *,
    dates: Collection[date] | None = None,
    is_wanted: Callable[[str], bool] = lambda _group: True,
) -> list[str]:
    """Return a sentence for each cluster with such groups, of those that are wanted.

    With `dates`, only rows from the first to the last of these are read: groups that had none before are not named
    again.
    """
    built = [date.fromisoformat(day) for day in storage.dates(GROUP_DAILY)]
    if not built or built[0] >= built[-1] - timedelta(days=lookback_days):
        return []
    queries, first, last = Queries(storage), min(dates or [date.min]), max(dates or [date.max])

    def select(table: Table, sql: str) -> list[Row]:
        return queries.select(table, sql.replace("{first}", str(first)).replace("{last}", str(last)))

    of_clusters: dict[str, set[date]] = {}
    for row in (*select(GROUP_DAILY, _CLUSTERS), *select(TOPIC_DAILY, _CLUSTERS)):
        of_clusters.setdefault(row["cluster_id"], set()).add(date.fromisoformat(row["date"]))
    stale: dict[str, list[str]] = {}
    for row in select(GROUP_DAILY, _LAST_ROWS):
        cluster, day = row["cluster_id"], date.fromisoformat(row["date"])
        following = min((each for each in of_clusters[cluster] if each > day), default=None)
        # If its last commit is not too old for the first date without it, the group was removed.
        if following and is_wanted(row["group"]) and _is_before(row["committed_us"], following, lookback_days):
            stale.setdefault(cluster, []).append(row["group"])
    return [_sentence(cluster, groups, max(of_clusters[cluster]), lookback_days) for cluster, groups in stale.items()]


def _is_before(committed_us: int | None, day: date, lookback_days: int) -> bool:
    first = day - timedelta(days=lookback_days)
    return committed_us is None or committed_us < (first - date(1970, 1, 1)) // timedelta(microseconds=1)


def _sentence(cluster: str, names: list[str], last: date, lookback_days: int) -> str:
    noun = "group has" if len(names) == 1 else "groups have"
    period = "on the day" if lookback_days == 1 else f"in the {lookback_days} days"
    return (
        f"{len(names):,} {noun} no commit {period} before {last} on cluster {cluster}, and no row since then: "
        f"{few(names)}."
    )
