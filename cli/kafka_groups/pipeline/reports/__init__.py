"""The report on a period, as a `History`: the worst groups first, findings, and what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from kafka_groups.history import Cut, GroupHistory, History, LagPoint, Rebalance
from kafka_groups.pipeline.coverage import Reach
from kafka_groups.pipeline.reports.data_gaps import describe_gaps, describe_missing_data, describe_stale_groups
from kafka_groups.pipeline.reports.findings import find_findings
from kafka_groups.pipeline.reports.group_summary import GroupSummary, Summaries, summarise_groups
from kafka_groups.pipeline.reports.selection import Key, Period, Selection, Tables
from kafka_groups.pipeline.reports.stale_data import describe_stale_data, mark_outdated
from kafka_groups.pipeline.reports.timeline import find_lag_starts, read_points, read_rebalances
from kafka_groups.pipeline.storage import Storage

Progress = Callable[[str, int, int], None]
T = TypeVar("T")
_ALL: Final = Cut()
_PARTS: Final = 8


def report(  # noqa: PLR0913 - the options of the command
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
    """Return the history of `groups` and of those whose whole id matches; of all groups if neither is given.

    Groups whose whole id matches `exclude` are excluded. The result has the `shown` groups, and of these the `drawn`
    ones have points, because points of all groups of a large cluster would not fit into memory. Verdict and lag of a
    group are those of its last row in the period. Groups without a lag and groups whose commits were all removed have
    no verdict; deleted groups come last. A group has a thousand points at most: of each stretch of time the one with
    the largest lag. `progress` gets the number of finished steps. Raises StorageError.
    """
    tables, selection = Tables(storage, Period(since_ms, until_ms)), Selection(groups, match, exclude)
    made_ms = int(time.time() * 1_000) if now_ms is None else now_ms
    return _report(tables, selection, (shown, drawn), made_ms, _Steps(progress))


def _report(tables: Tables, selection: Selection, cuts: tuple[Cut, Cut], made_ms: int, step: _Steps) -> History:
    known = step.after(summarise_groups(tables))
    chosen = [one for key, one in known.groups.items() if selection.has(key[1])]
    chosen = sorted(step.after(mark_outdated(tables, known, chosen)), key=GroupSummary.badness)
    histories = _read_histories(tables, known.reach, chosen, cuts, step)
    deleted = {one.key for one in chosen if one.deletion is not None} | known.deleted_before
    findings = step.after(find_findings(tables, selection, deleted, known.evaluated_ms))
    return History(
        made_ms=made_ms,
        from_ms=tables.period.since_ms,
        to_ms=tables.period.until_ms,
        evaluated_ms=max(known.evaluated_ms.values(), default=None),
        clusters=tuple(sorted({one.key[0] for one in chosen} | {finding.cluster_id for finding in findings})),
        groups=histories,
        groups_in_all=len(chosen),
        unknown=tuple(group for group in selection.groups if all(group != name for _, name in known.groups)),
        findings=findings,
        gaps=step.after(describe_gaps(tables, known)),
        missing=step.after(_describe_missing(tables, known, chosen, selection)),
    )


class _Steps:
    """Counts the parts of a report as they are done."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._done = progress, -1
        self.after(None)

    def after(self, result: T) -> T:
        """Count a part as completed, and return its result."""
        self._done += 1
        if self._progress is not None:
            self._progress("reading the tables", self._done, _PARTS)
        return result


def _read_histories(
    tables: Tables,
    reach: Mapping[str, Reach],
    groups: Sequence[GroupSummary],
    cuts: tuple[Cut, Cut],
    step: _Steps,
) -> tuple[GroupHistory, ...]:
    shown = cuts[0].of(groups)
    keys = [one.key for one in shown]
    # A group that was deleted in the period has points, too.
    with_points = [one.key for one in cuts[1].of(shown) if one.evaluated_ms is not None]
    points = step.after(read_points(tables, with_points) if with_points else {})
    late = [one.key for one in shown if (one.lag or 0) > 0]
    since = step.after(find_lag_starts(tables, late) if late else {})
    rebalances = step.after(read_rebalances(tables, keys) if keys else {})
    return tuple(
        _build_history(
            one, tuple(points.get(one.key, ())), since.get(one.key), _rebalances_of(tables, reach, one, rebalances)
        )
        for one in shown
    )


def _rebalances_of(
    tables: Tables, reach: Mapping[str, Reach], one: GroupSummary, rebalances: Mapping[Key, list[Rebalance]]
) -> tuple[Rebalance, ...] | None:
    """Return the rebalances of a group; None if nothing would have shown one in the period."""
    if found := rebalances.get(one.key):
        return tuple(found)
    read_ms = reach[one.key[0]].read_ms
    is_known = one.shows_rebalances and read_ms is not None and read_ms >= tables.period.since_ms
    return () if is_known else None


def _build_history(
    one: GroupSummary,
    points: tuple[LagPoint, ...],
    since: tuple[int, bool] | None,
    rebalances: tuple[Rebalance, ...] | None,
) -> GroupHistory:
    time_lag_ms, quality = one.time_lag()
    # Rates of some partitions would look like those of the group.
    rates = one.status if one.lag_quality == "exact" else {}
    return GroupHistory(
        cluster_id=one.key[0],
        group=one.key[1],
        state=one.state,
        members=one.members,
        verdict=one.verdict,
        rule=one.rule,
        evaluated_ms=one.evaluated_ms if one.is_judged else None,
        removed_ms=one.removed_ms,
        is_unused=one.is_unused,
        removed_is_bound=one.deletion is not None and one.deletion.is_bound,
        lag=one.lag,
        lag_quality=one.lag_quality,
        time_lag_ms=time_lag_ms,
        time_lag_quality=quality,
        consume_rate=rates.get("consume_rate"),
        produce_rate=rates.get("produce_rate"),
        catch_up_ms=rates.get("catch_up_ms"),
        lagging_since_ms=None if since is None else since[0],
        lagging_since_is_bound=since is not None and since[1],
        points=points,
        rebalances=rebalances,
    )


def _describe_missing(
    tables: Tables, known: Summaries, groups: Sequence[GroupSummary], selection: Selection
) -> tuple[str, ...]:
    chosen = None if selection.is_all() else groups
    sentences = (
        *describe_stale_data(known, groups),
        *describe_missing_data(tables, known, chosen),
        *describe_stale_groups(tables, selection),
    )
    if known.evaluated_ms and groups and chosen is not None and all(one.evaluated_ms is None for one in groups):
        return ("No lag is known of the selected groups in this period.", *sentences)
    return sentences
