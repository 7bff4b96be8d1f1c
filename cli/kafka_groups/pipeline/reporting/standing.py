"""How each group stands at the end of a period, whatever tells of it: lag, commits, rebalances, or its members."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.pipeline.reached import Reach
from kafka_groups.pipeline.reporting.asking import FRESH_MS, GROUP, Key, Tables, Wanted, among
from kafka_groups.pipeline.reporting.columns import has_no_rebalances
from kafka_groups.pipeline.reporting.course import turns
from kafka_groups.pipeline.reporting.gone import Gone, gone, state_seen
from kafka_groups.pipeline.reporting.reach import reached
from kafka_groups.pipeline.reporting.spans import spans
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, GROUP_STATUS, LAG_HISTORY
from kafka_groups.verdicts import VERDICTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BADNESS: Final = {verdict: rank for rank, verdict in enumerate(dict.fromkeys(VERDICTS.values()), start=1)}
# Of several qualities in a group the one that promises least is told.
_QUALITIES: Final = ("exact", "interpolated", "compacted", "lower_bound", "unknown", "data_loss")
# What a broker writes of a group as a whole; the last such record says whether it still is.
_OF_WHOLE_GROUPS: Final = ("generation", "group_emptied", "group_epoch", "group_removed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A group as the period's last rows tell it; `last` sums up each partition as last seen within ten minutes.

    `evaluated_ms` is the last time that it had a lag and a verdict. It has none any more if it was removed, or if
    `has_ended`: all its commits were removed since. Without `tells_rebalances` its records would not show any.
    `committed` counts the partitions that it has a commit on, but for those that are there no longer; None where the
    tables know of later times than the period. With `is_unheard` its coordinator did not answer of late.
    """

    key: Key
    evaluated_ms: int | None = None
    rule: str | None = None
    lag: int | None = None
    state: str | None = None
    members: int | None = None
    gone: Gone | None = None
    has_ended: bool = False
    tells_rebalances: bool = True
    committed: int | None = None
    is_unheard: bool = False
    last: Mapping[str, Any] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """Its id."""
        return self.key[1]

    @property
    def removed_ms(self) -> int | None:
        """When it was removed; None if it was not."""
        return None if self.gone is None else self.gone.at_ms

    @property
    def is_judged(self) -> bool:
        """Whether it has a lag and a verdict."""
        return self.evaluated_ms is not None and self.gone is None and not self.has_ended

    @property
    def verdict(self) -> str | None:
        """None for a group that is not judged."""
        return None if self.rule is None else VERDICTS.get(self.rule)

    @property
    def behind(self) -> int:
        """Records that are still to be read, as far as that is known."""
        return self.lag or 0

    @property
    def silent(self) -> int:
        """Its partitions with a commit of which no log end is known, so that lag and verdict are without them."""
        there = self.last.get("there")
        return 0 if there is None or self.committed is None else max(0, self.committed - there)

    @property
    def lag_quality(self) -> str:
        """What is not seen makes the lag a lower bound, or commits from before make it outdated."""
        if self.lag is None:
            return "unknown"
        if self.is_unheard:
            return "outdated"
        return "lower_bound" if self.silent else "exact"

    def time_lag(self) -> tuple[int | None, str]:
        """The longest of its partitions', with a quality; where one is unknown, the others are a lower bound."""
        if self.is_unheard:
            return None, "unknown"
        known_ms, qualities = self.last.get("time_lag_ms"), [*(self.last.get("qualities") or ["unknown"])]
        qualities += ["unknown"] * bool(self.silent)
        quality = max(qualities, key=_QUALITIES.index)
        if quality != "unknown":
            return known_ms, quality
        return (known_ms, "lower_bound") if known_ms else (None, quality)

    def badness(self) -> tuple[Any, ...]:
        """Sorts the worst group first, those that were not judged after those that were, and removed ones last."""
        rank = _BADNESS.get(self.verdict or "", 0)
        return (self.gone is not None, -rank, -self.behind, -(self.last.get("time_lag_ms") or 0), *self.key)


@dataclass(frozen=True, slots=True)
class Roster:
    """All groups that the tables tell of in a period; of each cluster, until when lag is known, and other facts.

    `past` were removed before the period.
    """

    groups: Mapping[Key, Standing]
    past: frozenset[Key]
    evaluated_ms: Mapping[str, int]
    reach: Mapping[str, Reach]


def roster(tables: Tables) -> Roster:
    """How far behind the groups are in time is left to `with_last_rows`."""
    whole = _status(tables)
    for other in (_events(tables), _daily(tables), _turns(tables)):
        whole = whole.unionByName(other, allowMissingColumns=True)
    told: dict[Key, dict[str, Any]] = {}
    for row in whole.collect():
        known = {name: value for name, value in row.asDict().items() if value is not None}
        told.setdefault((row["cluster_id"], row["group"]), {}).update(known)
    newest: dict[str, int] = {}
    for (cluster, _), known in told.items():
        if "evaluated_ms" in known:
            newest[cluster] = max(known["evaluated_ms"], newest.get(cluster, 0))
    clusters = {cluster for cluster, _ in told}
    reach = reached(tables.spark, tables.storage, clusters, until_ms=tables.period.until_ms)
    ended = gone(tables, told, reach)
    past = frozenset(key for key, one in ended.items() if one.at_ms < tables.period.since_ms)
    found = {key: _standing(key, known, ended.get(key)) for key, known in told.items() if key not in past}
    return Roster(found, past, newest, reach)


def with_last_rows(tables: Tables, found: Collection[Standing], wanted: Wanted) -> list[Standing]:
    """The same groups with what their partitions' last rows tell."""
    judged = [one for one in found if one.is_judged]
    if not judged:
        return list(found)
    last = _last_rows(tables, judged, None if wanted.is_all() else {one.key for one in judged})
    return [_told_more(one, last.get(one.key, {})) if one.is_judged else one for one in found]


def _told_more(one: Standing, last: Mapping[str, Any]) -> Standing:
    if last and not last["there"]:
        return replace(one, rule=None, lag=None, has_ended=True)
    return replace(one, last=last)


def _standing(key: Key, told: Mapping[str, Any], ended: Gone | None) -> Standing:
    status, evaluated_ms = told.get("status"), told.get("evaluated_ms", -1)
    seen = {"state": None, "members": None} if told.get("seen") is None else told["seen"].asDict()
    one = Standing(key=key, tells_rebalances=not told.get("tells_no_rebalance", False))
    if ended is not None:
        return replace(one, evaluated_ms=told.get("evaluated_ms"), state="Dead", members=0, gone=ended)
    if status is None:
        return replace(one, state=seen["state"], members=seen["members"])
    newest = seen if seen.get("at_ms", -1) > evaluated_ms else status
    return replace(
        one,
        evaluated_ms=evaluated_ms,
        rule=status["rule"],
        lag=status["lag"],
        committed=told.get("committed") if told.get("newest_ms") == evaluated_ms else None,
        state=newest["state"],
        members=newest["members"],
    )


def _status(tables: Tables) -> DataFrame:
    from pyspark.sql import functions as F

    period = tables.period
    rows = tables.read(GROUP_STATUS, "evaluated_at", period=period.until_midnight()).where(F.col("topic").isNull())
    at_ms = F.unix_millis("evaluated_at")
    evaluated_ms = F.when(at_ms <= period.until_ms, at_ms)
    sums = rows.groupBy(*GROUP).agg(
        F.max_by(F.struct("rule", "lag", "state", "members"), evaluated_ms).alias("status"),
        F.max(evaluated_ms).alias("evaluated_ms"),
        F.max(at_ms).alias("newest_ms"),
    )
    return sums.where(F.col("evaluated_ms").isNotNull())


def _events(tables: Tables) -> DataFrame:
    """The last record of each group as a whole, its state, and when a sample saw it."""
    from pyspark.sql import functions as F

    rows = tables.read(GROUP_EVENTS, "record_time", period=tables.period.from_midnight())
    at_ms, meaning = F.unix_millis("record_time").alias("at_ms"), F.col("meaning")
    is_record = (F.col("origin") == "topic") & meaning.isin(*_OF_WHOLE_GROUPS)
    state = F.coalesce("state", F.when(meaning == "group_emptied", "Empty"), F.when(meaning == "generation", "Stable"))
    members = F.when(state == "Empty", 0).when(F.col("members").isNotNull(), F.size("members"))
    seen = F.struct(
        at_ms, F.coalesce("source_offset", F.lit(-1)).alias("place"), state.alias("state"), members.alias("members")
    )
    return rows.groupBy(*GROUP).agg(
        F.max_by(F.struct("meaning", at_ms), F.when(is_record, F.col("source_offset"))).alias("record"),
        F.max(F.when(state.isNotNull(), seen)).alias("seen"),
        F.max(F.when(state_seen(), F.unix_millis("record_time"))).alias("seen_ms"),
        F.max(has_no_rebalances()).alias("tells_no_rebalance"),
    )


def _daily(tables: Tables) -> DataFrame:
    """Groups that have a commit, whether or not its lag is known."""
    from pyspark.sql import functions as F

    rows = tables.read(GROUP_DAILY, "day", period=tables.period.from_midnight())
    return rows.groupBy(*GROUP).agg(
        F.max(F.unix_millis("last_commit_time")).alias("committed_ms"),
        F.max_by("partitions", "day").alias("partitions"),
        F.max_by(F.col("partitions") - F.col("orphaned_partitions"), "day").alias("committed"),
    )


def _turns(tables: Tables) -> DataFrame:
    return turns(tables).select(*GROUP).distinct()


def _last_rows(tables: Tables, judged: Collection[Standing], keys: Collection[Key] | None) -> dict[Key, dict[str, Any]]:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    period = tables.period.with_carried()
    rows = tables.read(LAG_HISTORY, "observed_at", period=period)
    rows = rows if keys is None else rows.where(among(keys))
    told = ("lag", "time_lag_ms", "time_lag_quality", "consume_rate", "produce_rate", "catch_up_ms")
    # Most groups stand as of one time, and of these only the last minutes are of interest.
    times = {one.key: one.evaluated_ms or 0 for one in judged}
    newest, oldest = max(times.values()), min(times.values())
    old = {key for key, time in times.items() if time < newest - FRESH_MS}
    rows = rows.where((F.unix_millis("observed_at") >= newest - 2 * FRESH_MS) | among(old))
    since_ms = max(period.since_ms, min(oldest - FRESH_MS, newest - 2 * FRESH_MS))
    counting = spans(tables, rows, *told, keys=keys, since_ms=since_ms)
    now_ms = F.max("from_ms").over(Window.partitionBy(*GROUP))
    is_known = (F.col("now_ms") < F.col("until_ms")) & (F.col("now_ms") >= tables.period.since_ms)
    sums = (
        counting.select("*", now_ms.alias("now_ms"))
        .where(is_known)
        .groupBy(*GROUP)
        .agg(
            F.count(F.when(F.col("removed_ms").isNull(), 1)).alias("there"),
            F.max("time_lag_ms").alias("time_lag_ms"),
            F.collect_set("time_lag_quality").alias("qualities"),
            *(_whole_sum(name) for name in ("consume_rate", "produce_rate")),
            F.max("catch_up_ms").alias("catch_up_ms"),
            F.count(F.when((F.col("lag") > 0) & F.col("catch_up_ms").isNull(), 1)).alias("never"),
        )
    )
    return {(row["cluster_id"], row["group"]): row.asDict() for row in sums.collect()}


def _whole_sum(name: str) -> Column:
    """Null where it is not known of some partition: the others' sum would look like the group's."""
    from pyspark.sql import functions as F

    return F.when(F.count(name) == F.count("*"), F.sum(name)).alias(name)
