"""The table on top of the page: how each group stands, with a small picture of its lag and a link to its chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.html.charts import verdict_label, word_of
from kafka_groups.pipeline.report.html.markup import Cell, name, row, table, text
from kafka_groups.pipeline.report.notation import (
    describe_duration,
    describe_lag,
    describe_lag_start,
    describe_minute,
    describe_time_lag,
)
from kafka_groups.pipeline.report.peaks import highest_lags
from kafka_groups.rendering.counts import show_count
from kafka_groups.rendering.durations import format_duration

_CELLS: Final = 60
_HEIGHT: Final = 20


def summary_table(history: History, groups: Sequence[GroupHistory]) -> str:
    """Return a row for each group; nothing if there is none."""
    if not groups:
        return ""
    rows = [_cells(history, group, at) for at, group in enumerate(groups, start=1)]
    lines = [row(head, cells) for head, *cells in rows]
    return table(rows[0], lines, label="Summary of the groups", classes="cards")


def _cells(history: History, group: GroupHistory, at: int) -> list[Cell]:
    time_lag = describe_time_lag(group)
    when = None if group.evaluated_ms is None else describe_minute(group.evaluated_ms, beside_ms=history.to_ms)
    as_of = Cell(when, "As of", "short")
    cluster = Cell(name(group.cluster_id), "Cluster")
    return [
        Cell(f'<a href="#group-{at}">{name(group.group)}</a>', "Group"),
        *([cluster] if len(history.clusters) > 1 else []),
        Cell(verdict_label(word_of(group)), "Verdict"),
        Cell(None if group.state is None else text(group.state), "State"),
        Cell(describe_lag(group), "Lag", "number"),
        Cell(time_lag, "Time lag", "number"),
        Cell(_trend(history, group), "Lag over the period", "wide"),
        Cell(_rate(group.consume_rate), "Read/s", "number"),
        Cell(_rate(group.produce_rate), "Written/s", "number"),
        Cell(None if group.catch_up_ms is None else format_duration(group.catch_up_ms), "Catch-up", "number"),
        *([as_of] if any(history.has_old_row(one) for one in history.groups) else []),
        Cell(describe_lag_start(group, beside_ms=history.to_ms), "Behind since"),
        Cell(show_count(group.members), "Members", "number"),
        Cell(_rebalances(group), "Rebalances"),
    ]


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:,.1f}"


def _rebalances(group: GroupHistory) -> str | None:
    if group.rebalances is None:
        return None
    longest = group.longest_rebalance
    if longest is None or longest.duration_ms is None:
        return f"{len(group.rebalances):,}"
    return f"{len(group.rebalances):,}, longest {describe_duration(longest)}"


def _trend(history: History, group: GroupHistory) -> str | None:
    """Return an area for each stretch in which lag is known; the table's other cells say it in words."""
    peaks = highest_lags(group.points, from_ms=history.from_ms, to_ms=history.to_ms, cells=_CELLS)
    known = [peak for peak in peaks if peak is not None]
    if not known:
        return None
    top = max(1, *known)
    heights = [None if peak is None else round(_HEIGHT - max(0, peak) * _HEIGHT / top, 1) for peak in peaks]
    runs = [list(run) for known, run in groupby(enumerate(heights), lambda at: at[1] is not None) if known]
    areas = "".join(
        f"M{run[0][0]} {_HEIGHT}" + "".join(f"V{height}H{cell + 1}" for cell, height in run) + f"V{_HEIGHT}Z"
        for run in runs
    )
    return (
        f'<svg class="spark" viewBox="0 0 {_CELLS} {_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{areas}"/></svg>'
    )
