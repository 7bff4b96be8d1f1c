"""Until when each cluster was read, sampled and backfilled, and sentences about what the tables lack because of it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from kafka_groups.name_lists import first_names
from kafka_groups.pipeline.store import Queries, Storage
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, TOPIC_DAILY

TIMES: Final = {OFFSET_COMMITS: "commit_time", GROUP_EVENTS: "record_time", PARTITION_OFFSETS: "observed_at"}
_LATE_MS: Final = 600_000
_MOST_NAMED: Final = 5
_CLUSTERS: Final = "SELECT DISTINCT cluster_id, CAST(date AS VARCHAR) AS date FROM {rows} WHERE {within}"
_LAST_ROWS: Final = """
    SELECT cluster_id, "group", CAST(date AS VARCHAR) AS date, CAST(committed AS VARCHAR) AS committed FROM (
        SELECT *, CAST(last_commit_time AS DATE) AS committed,
            row_number() OVER (PARTITION BY cluster_id, "group" ORDER BY date DESC) AS place
        FROM {rows} WHERE {within}
    ) WHERE place = 1 AND partitions > 0 ORDER BY cluster_id, "group"
"""


def of_cluster(sentence: str, cluster: str, clusters: Collection[str]) -> str:
    """Return the sentence, with the cluster that it is about where there are several."""
    return f"Cluster {cluster}: {sentence}" if len(clusters) > 1 else capital(sentence)


def capital(sentence: str) -> str:
    """Return a sentence that stands alone."""
    return sentence[:1].upper() + sentence[1:]


def spell(ms: int) -> str:
    """Return the time like 2026-11-20T10:03Z."""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(ms // 1_000))


def few(names: Sequence[str]) -> str:
    """Return the first five, with a sign if there are more: sentences are not for lists."""
    return first_names(names, _MOST_NAMED)


@dataclass(frozen=True, slots=True)
class Reach:
    """The last time, in milliseconds since 1970, that a cluster's facts of each table and origin are of."""

    last_ms: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def read_ms(self) -> int | None:
        """The last record of `__consumer_offsets`."""
        return max((at_ms for (_, origin), at_ms in self.last_ms.items() if origin == "topic"), default=None)

    @property
    def sampled_ms(self) -> int | None:
        """The last sample of log ends."""
        return self.last_ms.get((PARTITION_OFFSETS.name, "sample"))


def describe_missing(reach: Mapping[str, Reach]) -> Iterator[str]:
    """Yield sentences about clusters that lack facts, and what cannot be derived without them."""
    yield from commits_missing(reach, "commit rates are unknown, verdicts are derived from samples")
    # A group with commits and without a record of its own has had no rebalance.
    sentence = "no group records were read from __consumer_offsets: rebalances are unknown."
    yield from _lacking(reach, sentence, (GROUP_EVENTS.name, "topic"), (OFFSET_COMMITS.name, "topic"))
    sentence = "no log end offsets were sampled or backfilled: lag, time lag, rates and verdicts are unknown."
    yield from _lacking(reach, sentence, (PARTITION_OFFSETS.name, "sample"), (PARTITION_OFFSETS.name, "backfill"))
    sentence = "no group states were sampled: states of KIP-848 groups are unknown."
    yield from _lacking(reach, sentence, (GROUP_EVENTS.name, "sample"))
    yield from behind(reach)


def commits_missing(reach: Mapping[str, Reach], so: str) -> Iterator[str]:
    """Return sentences about clusters of which no commit was read; `so` says what follows from that."""
    return _lacking(reach, f"no commits were read from __consumer_offsets: {so}.", (OFFSET_COMMITS.name, "topic"))


def behind(reach: Mapping[str, Reach]) -> Iterator[str]:
    """Yield sentences about clusters with samples of ten minutes after the last record, or more."""
    for cluster, each in sorted(reach.items()):
        read_ms, sampled_ms = each.read_ms, each.sampled_ms
        if read_ms is not None and sampled_ms is not None and sampled_ms - read_ms > _LATE_MS:
            sentence = (
                f"the last record that was read from __consumer_offsets is of {spell(read_ms)}, the last sample of "
                f"{spell(sampled_ms)}: commits in between are known from samples only, until ingest runs again."
            )
            yield of_cluster(sentence, cluster, reach)


def _lacking(reach: Mapping[str, Reach], sentence: str, *facts: tuple[str, str]) -> Iterator[str]:
    """Yield the sentence once if no cluster has any such facts (table, origin), else for each cluster without."""
    without = [cluster for cluster, each in sorted(reach.items()) if each.last_ms.keys().isdisjoint(facts)]
    if len(without) == len(reach):
        yield capital(sentence)
    else:
        yield from (of_cluster(sentence, cluster, reach) for cluster in without)


def left_out(
    storage: Storage,
    lookback_days: int,
    *,
    dates: Collection[date] | None = None,
    is_wanted: Callable[[str], bool] = lambda _group: True,
) -> list[str]:
    """Return a sentence for each cluster with wanted groups without a row because their last commit is too old.

    With `dates`, only rows from the first to the last of these are read: groups without one are not named again.
    """
    built = storage.dates(GROUP_DAILY)
    if not built or built[0] >= _go_back(built[-1], lookback_days):
        return []
    within = f"date BETWEEN DATE '{min(dates or [date.min])}' AND DATE '{max(dates or [date.max])}'"
    queries, of_clusters, stale = Queries(storage), defaultdict[str, set[str]](set), defaultdict[str, list[str]](list)
    for table in (GROUP_DAILY, TOPIC_DAILY):
        for row in queries.select(table, _CLUSTERS.replace("{within}", within)):
            of_clusters[row["cluster_id"]].add(row["date"])
    for row in queries.select(GROUP_DAILY, _LAST_ROWS.replace("{within}", within)):
        cluster = row["cluster_id"]
        following = min((day for day in of_clusters[cluster] if day > row["date"]), default=None)
        # If its last commit is not too old for the first date without it, the group was removed.
        is_stale = following is not None and (row["committed"] or "") < _go_back(following, lookback_days)
        if is_stale and is_wanted(row["group"]):
            stale[cluster].append(row["group"])
    period = "on the day" if lookback_days == 1 else f"in the {lookback_days} days"
    return [
        f"{len(names):,} {'group has' if len(names) == 1 else 'groups have'} no commit {period} before "
        f"{max(of_clusters[cluster])} on cluster {cluster}, and no row since then: {few(names)}."
        for cluster, names in stale.items()
    ]


def _go_back(day: str, days: int) -> str:
    return str(date.fromisoformat(day) - timedelta(days=days))
