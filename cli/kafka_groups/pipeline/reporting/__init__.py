"""What the tables tell of a period, as a `History`: the worst groups first, findings, holes, and what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from kafka_groups.history import Cut, GroupHistory, History, LagPoint, Rebalance
from kafka_groups.pipeline.reached import Reach
from kafka_groups.pipeline.reporting.asking import Key, Period, Tables, Wanted
from kafka_groups.pipeline.reporting.course import behind_since, points, rebalances
from kafka_groups.pipeline.reporting.findings import findings
from kafka_groups.pipeline.reporting.holes import gaps, missing, unseen
from kafka_groups.pipeline.reporting.standing import Roster, Standing, roster, with_last_rows
from kafka_groups.pipeline.reporting.unheard import unheard, with_coordinators
from kafka_groups.pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str, int, int], None]
T = TypeVar("T")
_ALL: Final = Cut()
# Queries, and groups of such, that a report waits for.
_PARTS: Final = 8


def report(  # noqa: PLR0913 - what a reader of history may ask
    spark: SparkSession,
    storage: Storage,
    *,
    since_ms: int,
    until_ms: int,
    groups: Collection[str] = (),
    match: str | None = None,
    exclude: str | None = None,
    shown: Cut = _ALL,
    drawn: Cut = _ALL,
    now_ms: int | None = None,
    progress: Progress | None = None,
) -> History:
    """The history of `groups`, of those whose whole id matches, or of all if neither is given, without `exclude`.

    Of these, as many as are `shown`, and of them those have points that are also `drawn`: points of all groups of a
    large cluster would fill any memory, and to find them means to read all that was sampled in the period.
    A group is judged by its last row in the period; one without any lag, or without commits, is there, too, and so is
    one of which all commits were removed since, which is not judged. One that was itself removed, as its records tell
    or rounds of samples that miss it, comes after all others. Points are thinned to a thousand a group: of each
    stretch of time the one with the highest lag stays. `progress` is told how many of its queries are done. It begins
    again where a compaction or a build takes files away meanwhile.
    """
    period, wanted = Period(since_ms, until_ms), Wanted(groups, match, exclude)
    made_ms = int(time.time() * 1_000) if now_ms is None else now_ms
    return _report(Tables(spark, storage, period), wanted, (shown, drawn), made_ms, _Steps(progress))


def _report(tables: Tables, wanted: Wanted, cuts: tuple[Cut, Cut], made_ms: int, step: _Steps) -> History:
    known = step.after(roster(tables))
    chosen = [one for key, one in known.groups.items() if wanted.has(key[1])]
    last = with_coordinators(tables, known, with_last_rows(tables, chosen, wanted))
    standing = sorted(step.after(last), key=Standing.badness)
    histories = _histories(tables, known.reach, standing, cuts, step)
    removed = {one.key for one in standing if one.gone is not None} | known.past
    found = step.after(findings(tables, wanted, removed, known.evaluated_ms))
    lost = step.after(gaps(tables, known))
    return History(
        made_ms=made_ms,
        from_ms=tables.period.since_ms,
        to_ms=tables.period.until_ms,
        evaluated_ms=max(known.evaluated_ms.values(), default=None),
        clusters=tuple(sorted({one.key[0] for one in standing} | {finding.cluster_id for finding in found})),
        groups=histories,
        groups_in_all=len(standing),
        unknown=tuple(group for group in wanted.groups if all(group != name for _, name in known.groups)),
        findings=found,
        gaps=lost,
        missing=step.after(_missing(tables, known, standing, wanted)),
    )


class _Steps:
    """Counts the parts of a report as they are done."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._done = progress, -1
        self.after(None)

    def after(self, answer: T) -> T:
        """The answer, which is there."""
        self._done += 1
        if self._progress is not None:
            self._progress("reading the tables", self._done, _PARTS)
        return answer


def _histories(
    tables: Tables, reach: Mapping[str, Reach], standing: Sequence[Standing], cuts: tuple[Cut, Cut], step: _Steps
) -> tuple[GroupHistory, ...]:
    shown = cuts[0].of(standing)
    keys = [one.key for one in shown]
    # What had a lag in the period has a course, whatever became of it.
    known = [one.key for one in cuts[1].of(shown) if one.evaluated_ms is not None]
    lags = step.after(points(tables, known) if known else {})
    behind = [one.key for one in shown if one.behind > 0]
    since = step.after(behind_since(tables, behind) if behind else {})
    turns = step.after(rebalances(tables, keys) if keys else {})
    return tuple(
        _history(one, tuple(lags.get(one.key, ())), since.get(one.key), _turns(tables, reach, one, turns))
        for one in shown
    )


def _turns(
    tables: Tables, reach: Mapping[str, Reach], one: Standing, turns: Mapping[Key, list[Rebalance]]
) -> tuple[Rebalance, ...] | None:
    """None where nothing would have shown a rebalance of the group in the period."""
    found = turns.get(one.key)
    if found:
        return tuple(found)
    read_ms = reach[one.key[0]].read_ms
    is_known = one.tells_rebalances and read_ms is not None and read_ms >= tables.period.since_ms
    return () if is_known else None


def _history(
    one: Standing, lags: tuple[LagPoint, ...], since: tuple[int, bool] | None, turns: tuple[Rebalance, ...] | None
) -> GroupHistory:
    time_lag_ms, quality = one.time_lag()
    # Rates of some partitions would look like the group's.
    rates = one.last if one.lag_quality == "exact" else {}
    return GroupHistory(
        cluster_id=one.key[0],
        group=one.key[1],
        state=one.state,
        members=one.members,
        verdict=one.verdict,
        rule=one.rule,
        evaluated_ms=one.evaluated_ms if one.is_judged else None,
        removed_ms=None if one.gone is None else one.gone.at_ms,
        removed_is_bound=one.gone is not None and one.gone.is_bound,
        lag=one.lag,
        lag_quality=one.lag_quality,
        time_lag_ms=time_lag_ms,
        time_lag_quality=quality,
        consume_rate=rates.get("consume_rate"),
        produce_rate=rates.get("produce_rate"),
        catch_up_ms=None if rates.get("never") else rates.get("catch_up_ms"),
        lagging_since_ms=None if since is None else since[0],
        lagging_since_is_bound=since is not None and since[1],
        points=lags,
        rebalances=turns,
    )


def _missing(tables: Tables, known: Roster, standing: Sequence[Standing], wanted: Wanted) -> tuple[str, ...]:
    judged = None if wanted.is_all() else {one.key for one in standing if one.evaluated_ms is not None}
    told = (*unheard(known, standing), *missing(tables, known, judged), *unseen(tables, wanted))
    if known.evaluated_ms and standing and judged is not None and not judged:
        return ("No lag is known of the selected groups in this period.", *told)
    return told
