"""The report on a period, as a `History`: the worst groups first, findings, and what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from kafka_groups.pipeline.report import period
from kafka_groups.pipeline.report.findings import describe_gaps, describe_missing, find_findings
from kafka_groups.pipeline.report.groups import Groups, badness, read_groups, summarise
from kafka_groups.pipeline.report.history import Cut, GroupHistory, History
from kafka_groups.pipeline.report.period import Key, Period, Tables
from kafka_groups.pipeline.store import Storage
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.suggestions import nearest_names

_ALL: Final = Cut()
_PARTS: Final = 7


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
    progress: Progress = ignore_progress,
) -> History:
    """Return the history of `groups` and of those whose whole id matches, or of all; without excluded ones.

    The result has the `shown` groups, the worst first; of these the `drawn` ones have points, because points of all
    groups of a large cluster would not fit into memory. `progress` gets the number of steps. Raises StorageError.
    """
    tables, selectors = Tables(storage, Period(since_ms, until_ms)), period.select_groups(groups, match, exclude)

    def step(done: int) -> None:
        progress("reading the tables", done, _PARTS)

    step(0)
    known = read_groups(tables)
    chosen = sorted((summarise(row) for row in known.rows.values() if selectors.selects(row["group"])), key=badness)
    step(1)
    histories = _add_histories(tables, known, {_key(one): one for one in shown.of(chosen)}, drawn, step)
    findings = find_findings(tables, selectors, known)
    step(5)
    gaps = describe_gaps(tables, known)
    step(6)
    missing = tuple(describe_missing(tables, known, [known.rows[_key(one)] for one in chosen], selectors))
    step(_PARTS)
    ids = {group for _, group in known.rows}
    unknown = tuple(group for group in groups if group not in ids)
    return History(
        made_ms=int(time.time() * 1_000) if now_ms is None else now_ms,
        from_ms=since_ms,
        to_ms=until_ms,
        evaluated_ms=max(known.evaluated_ms.values(), default=None),
        clusters=tuple(sorted({one.cluster_id for one in chosen} | {finding.cluster_id for finding in findings})),
        groups=histories,
        groups_in_all=len(chosen),
        unknown=unknown,
        nearest=nearest_names(unknown, ids) if unknown else {},
        findings=findings,
        gaps=gaps,
        missing=missing,
    )


def _key(one: GroupHistory) -> Key:
    return one.cluster_id, one.group


def _add_histories(
    tables: Tables, known: Groups, shown: Mapping[Key, GroupHistory], drawn: Cut, step: Callable[[int], None]
) -> tuple[GroupHistory, ...]:
    """Return the groups with points, rebalances, and since when they have had a lag."""
    # A group that was deleted in the period has points, too.
    to_draw = map(_key, drawn.of(list(shown.values())))
    points = period.read_points(tables, [key for key in to_draw if known.rows[key]["evaluated_ms"] is not None])
    step(2)
    starts = period.find_lag_starts(tables, [key for key, one in shown.items() if one.lag])
    step(3)
    rebalances = period.read_rebalances(tables, shown)
    step(4)
    return tuple(
        replace(
            one,
            points=tuple(points.get(key, ())),
            rebalances=tuple(rebalances.get(key, ())) or one.rebalances,
            **starts.get(key, {}),
        )
        for key, one in shown.items()
    )
