"""What the tables tell of a period, as a `History`: the worst groups first, findings, holes, and what is missing."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.history import Finding, GroupHistory, History, LagPoint, Rebalance
from kafka_groups.pipeline.steps.findings import KINDS, group_findings, topic_findings
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import (
    GROUP_DAILY,
    GROUP_STATUS,
    INGEST_GAPS,
    LAG_HISTORY,
    OFFSET_COMMITS,
    REBALANCES,
    TOPIC_DAILY,
    Table,
)
from kafka_groups.verdicts import VERDICTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

_POINTS: Final = 1_000
_FINDINGS_A_KIND: Final = 50
_GAPS: Final = 50
_DAY_MS: Final = 86_400_000
# Of several qualities in a group the one that promises least is told.
_QUALITIES: Final = ("exact", "interpolated", "compacted", "lower_bound", "unknown", "data_loss")
_BADNESS: Final = {"OK": 1, "WARN": 2, "STOP": 3, "STALL": 4, "REWIND": 5}
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Period:
    since_ms: int
    until_ms: int

    def of(self, rows: DataFrame, column: str) -> DataFrame:
        """Rows of the period, its end included; only its dates are read."""
        from pyspark.sql import functions as F  # noqa: N812

        days = [F.date_from_unix_date(F.lit(ms // _DAY_MS)) for ms in (self.since_ms, self.until_ms)]
        inside = F.unix_millis(column).between(self.since_ms, self.until_ms)
        return rows.where(F.col("date").between(*days) & inside)


def report(  # noqa: PLR0913 - what a reader of history may ask
    spark: SparkSession,
    storage: Storage,
    *,
    since_ms: int,
    until_ms: int,
    groups: Collection[str] = (),
    match: str | None = None,
    top: int | None = None,
    now_ms: int | None = None,
) -> History:
    """The history of `groups`, of those whose whole id matches, or of all if neither is given; at most `top` of them.

    A group is judged by its last row in the period. Points are thinned to a thousand a group: of each stretch of time
    the one with the highest lag stays.
    """
    asked = _Asked(spark, storage, _Period(since_ms, until_ms), frozenset(groups), match)
    standing = asked.standing()
    shown = sorted(standing, key=lambda key: _badness(standing[key]))[:top]
    histories = tuple(asked.histories(shown, standing)) if shown else ()
    findings = asked.findings()
    gaps, missing = asked.gaps(), asked.missing(bool(standing))
    return History(
        made_ms=int(time.time() * 1_000) if now_ms is None else now_ms,
        from_ms=since_ms,
        to_ms=until_ms,
        clusters=tuple(sorted({cluster for cluster, _ in standing} | {finding.cluster_id for finding in findings})),
        groups=histories,
        groups_in_all=len(standing),
        findings=findings,
        gaps=gaps,
        missing=missing,
    )


class _Asked:
    """What a report asks of the tables: a query each, whose answers are small."""

    def __init__(
        self, spark: SparkSession, storage: Storage, period: _Period, groups: Collection[str], match: str | None
    ) -> None:
        self._spark, self._storage, self._period = spark, storage, period
        self._groups, self._match = groups, match

    def standing(self) -> dict[_Key, Row]:
        """The last status of each group in the period."""
        from pyspark.sql import functions as F  # noqa: N812

        rows = self._read(GROUP_STATUS, "evaluated_at").where(F.col("topic").isNull())
        last = rows.groupBy("cluster_id", "group").agg(
            F.max_by(F.struct("verdict", "rule", "lag", "state", "members"), "evaluated_at").alias("last"),
            F.max(F.unix_millis("evaluated_at")).alias("at_ms"),
            F.max(F.when(F.col("lag") <= 0, F.unix_millis("evaluated_at"))).alias("no_lag_ms"),
        )
        oldest = (
            self._read(LAG_HISTORY, "observed_at")
            .groupBy("cluster_id", "group", "observed_at")
            .agg(
                F.max("time_lag_ms").alias("time_lag_ms"),
                F.collect_set("time_lag_quality").alias("qualities"),
                F.sum("consume_rate").alias("consume_rate"),
                F.sum("produce_rate").alias("produce_rate"),
                F.max("catch_up_ms").alias("catch_up_ms"),
                F.count(F.when((F.col("lag") > 0) & F.col("catch_up_ms").isNull(), 1)).alias("never"),
            )
            .groupBy("cluster_id", "group")
            .agg(F.max_by(F.struct("*"), "observed_at").alias("oldest"))
        )
        found = last.join(oldest, ["cluster_id", "group"], "left")
        return {(row["cluster_id"], row["group"]): row for row in found.collect()}

    def histories(self, shown: Sequence[_Key], standing: Mapping[_Key, Row]) -> list[GroupHistory]:
        """The groups in the order given."""
        points, turns = self._points(shown), self._rebalances(shown)
        return [_history(key, standing[key], points.get(key, []), turns.get(key, [])) for key in shown]

    def _points(self, shown: Sequence[_Key]) -> dict[_Key, list[LagPoint]]:
        from pyspark.sql import functions as F  # noqa: N812

        stretch = max(1, -(-(self._period.until_ms - self._period.since_ms + 1) // _POINTS))
        at = F.unix_millis("observed_at")
        sums = (
            self._read(LAG_HISTORY, "observed_at")
            .where(_among(shown))
            .groupBy("cluster_id", "group", at.alias("at_ms"))
            .agg(F.sum("lag").alias("lag"), F.max("time_lag_ms").alias("time_lag_ms"))
        )
        place = F.floor((F.col("at_ms") - self._period.since_ms) / stretch)
        kept = sums.groupBy("cluster_id", "group", place.alias("place")).agg(
            F.max(F.struct("lag", "at_ms", "time_lag_ms")).alias("kept")
        )
        found: dict[_Key, list[LagPoint]] = {}
        for row in kept.orderBy("place").select("cluster_id", "group", "kept.*").collect():
            point = LagPoint(row["at_ms"], row["lag"], row["time_lag_ms"])
            found.setdefault((row["cluster_id"], row["group"]), []).append(point)
        return found

    def _rebalances(self, shown: Sequence[_Key]) -> dict[_Key, list[Rebalance]]:
        from pyspark.sql import functions as F  # noqa: N812

        rows = self._read(REBALANCES, "started_at").where(_among(shown))
        times = (F.unix_millis("started_at").alias("started_ms"), F.unix_millis("ended_at").alias("ended_ms"))
        found: dict[_Key, list[Rebalance]] = {}
        for row in rows.select("*", *times).orderBy("started_ms", "generation").collect():
            found.setdefault((row["cluster_id"], row["group"]), []).append(
                Rebalance(
                    started_ms=row["started_ms"],
                    ended_ms=row["ended_ms"],
                    duration_ms=row["duration_ms"],
                    duration_quality=row["duration_quality"],
                    generation=row["generation"],
                    joined=len(row["joined"] or ()),
                    left=len(row["left"] or ()),
                )
            )
        return found

    def findings(self) -> tuple[Finding, ...]:
        """From the last day of each group and topic in the period."""
        days = self._last_day(GROUP_DAILY, "group")
        topics = self._last_day(TOPIC_DAILY, "topic") if not (self._groups or self._match) else []
        found = [finding for row in days for finding in group_findings(row.asDict())]
        found += [finding for row in topics for finding in topic_findings(row.asDict())]
        kinds = {kind: [finding for finding in found if finding.kind == kind] for kind in KINDS}
        return tuple(finding for kind in KINDS for finding in kinds[kind][:_FINDINGS_A_KIND])

    def _last_day(self, table: Table, name: str) -> list[Row]:
        from pyspark.sql import functions as F  # noqa: N812

        whole = _Period(self._period.since_ms // _DAY_MS * _DAY_MS, self._period.until_ms)
        rows = whole.of(self._storage.read(self._spark, table), "day").where(self._wanted(name))
        last = rows.groupBy("cluster_id", name).agg(F.max_by(F.struct("*"), "day").alias("last"))
        return last.select("last.*").orderBy("cluster_id", name).collect()

    def gaps(self) -> tuple[str, ...]:
        """What was found missing in `__consumer_offsets`, the largest first."""
        from pyspark.sql import functions as F  # noqa: N812

        rows = self._read(INGEST_GAPS, "found_at", of_groups=False).where(F.col("reason") == "deleted").distinct()
        found = rows.orderBy(F.desc("missing"), "source_partition", "from_offset").limit(_GAPS).collect()
        return tuple(dict.fromkeys(_gap(row) for row in found))

    def missing(self, has_groups: bool) -> tuple[str, ...]:  # noqa: FBT001 - the one thing it is told
        """Sentences about what no table holds for the period."""
        from pyspark.sql import functions as F  # noqa: N812

        told = []
        if not has_groups:
            told.append("The tables hold no lag for this period: sample or backfill log ends, then build.")
            return tuple(told)
        rows = self._read(LAG_HISTORY, "observed_at")
        seen = rows.agg(
            F.min(F.unix_millis("observed_at")).alias("first"),
            F.count(F.when(F.col("time_lag_quality") == "unknown", 1)).alias("unknown"),
        ).collect()[0]
        if seen["first"] is not None and seen["first"] - self._period.since_ms > _DAY_MS // 24:
            told.append(f"No log ends are known before {_spell(seen['first'])}: lag begins there.")
        # A sample is later than the record it confirms, so lag_history does not tell whether there was one.
        if not self._storage.read(self._spark, OFFSET_COMMITS).where(F.col("origin") == "topic").take(1):
            told.append(
                "No commits were read from __consumer_offsets: verdicts rest on samples, rebalances are unknown."
            )
        if seen["unknown"]:
            told.append(
                f"The time lag of {seen['unknown']:,} observations is unknown: no log end was seen before them."
            )
        return tuple(told)

    def _read(self, table: Table, time: str, *, of_groups: bool = True) -> DataFrame:
        rows = self._period.of(self._storage.read(self._spark, table), time)
        return rows.where(self._wanted("group")) if of_groups else rows

    def _wanted(self, name: str) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        if name != "group" or not (self._groups or self._match):
            return F.expr("true")
        matches = F.expr("false")
        if self._match is not None:
            # Python's dialect decides, as everywhere in this tool: Java's differs. The ids of groups are few.
            ids = self._storage.read(self._spark, GROUP_STATUS).select("group").distinct().collect()
            wanted = [row["group"] for row in ids if re.fullmatch(self._match, row["group"])]
            matches = F.col("group").isin(wanted) if wanted else matches
        return matches | F.col("group").isin(list(self._groups)) if self._groups else matches


def _among(shown: Sequence[_Key]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    among = F.expr("false")
    for name in sorted({cluster for cluster, _ in shown}):
        ids = [group for cluster, group in shown if cluster == name]
        among = among | ((F.col("cluster_id") == name) & F.col("group").isin(ids))
    return among


def _badness(row: Row) -> tuple[Any, ...]:
    last, oldest = row["last"], row["oldest"]
    time_lag = oldest["time_lag_ms"] if oldest else None
    verdict = VERDICTS.get(last["rule"], "OK")
    return (-_BADNESS[verdict], -(last["lag"] or 0), -(time_lag or 0), row["cluster_id"], row["group"])


def _longest(known_ms: int | None, qualities: Collection[str]) -> tuple[int | None, str]:
    """The longest time lag of a group's partitions; where one of them is unknown, the others are a lower bound."""
    quality = max(qualities, key=_QUALITIES.index)
    if quality != "unknown":
        return known_ms, quality
    return (known_ms, "lower_bound") if known_ms else (None, quality)


def _history(key: _Key, row: Row, points: list[LagPoint], rebalances: list[Rebalance]) -> GroupHistory:
    last, oldest = row["last"], row["oldest"]
    told: dict[str, Any] = oldest.asDict() if oldest else {}
    time_lag_ms, quality = _longest(told.get("time_lag_ms"), told.get("qualities") or ["unknown"])
    is_behind = last["lag"] is not None and last["lag"] > 0
    behind = [point.at_ms for point in points if point.at_ms > (row["no_lag_ms"] or -1)]
    return GroupHistory(
        cluster_id=key[0],
        group=key[1],
        state=last["state"],
        members=last["members"],
        verdict=VERDICTS.get(last["rule"]),
        rule=last["rule"],
        lag=last["lag"],
        time_lag_ms=time_lag_ms,
        time_lag_quality=quality,
        consume_rate=told.get("consume_rate"),
        produce_rate=told.get("produce_rate"),
        catch_up_ms=None if told.get("never") else told.get("catch_up_ms"),
        lagging_since_ms=behind[0] if is_behind and behind else None,
        points=tuple(points),
        rebalances=tuple(rebalances),
    )


def _gap(row: Row) -> str:
    return (
        f"Partition {row['source_partition']} of __consumer_offsets: {row['missing']:,} offsets from "
        f"{row['from_offset']} to {row['until_offset']} were deleted before they were read."
    )


def _spell(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(ms // 1_000))
