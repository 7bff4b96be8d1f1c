"""The table on top of the page: the state of each group, with a small picture of its lag and a link to its chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.html.charts import render_verdict_label, verdict_word
from kafka_groups.pipeline.report.html.markup import Cell, escape_name, escape_text, make_row, make_table
from kafka_groups.pipeline.report.notation import (
    describe_duration,
    describe_lag,
    describe_lag_start,
    describe_minute,
    describe_rebalancing,
    describe_time_lag,
)
from kafka_groups.pipeline.report.peaks import highest_lags
from kafka_groups.rendering.counts import show_count
from kafka_groups.rendering.durations import format_duration

_PARTS: Final = 60
_HEIGHT: Final = 20


def render_summary_table(history: History, groups: Sequence[GroupHistory]) -> str:
    """Return a table with a row for each group, numbered from 1; nothing if there is no group."""
    if not groups:
        return ""
    cell_rows = [_make_cells(history, group, group_number) for group_number, group in enumerate(groups, start=1)]
    rows = [make_row(head, cells) for head, *cells in cell_rows]
    return make_table(cell_rows[0], rows, label="Summary of the groups", classes="cards")


def _make_cells(history: History, group: GroupHistory, group_number: int) -> list[Cell]:
    """Return the cells of a group's row, which are also the headers of the table."""
    cells = [Cell(f'<a href="#group-{group_number}">{escape_name(group.group)}</a>', "Group")]
    if len(history.clusters) > 1:
        cells.append(Cell(escape_name(group.cluster_id), "Cluster"))
    cells += [
        Cell(render_verdict_label(verdict_word(group)), "Verdict"),
        Cell(None if group.state is None else escape_text(group.state), "State"),
        Cell(describe_lag(group), "Lag", "number"),
        Cell(describe_time_lag(group), "Time lag", "number"),
        Cell(_render_trend(history, group), "Lag over the period", "wide"),
        Cell(_format_rate(group.consume_rate), "Read/s", "number"),
        Cell(_format_rate(group.produce_rate), "Written/s", "number"),
        Cell(None if group.catch_up_ms is None else format_duration(group.catch_up_ms), "Catch-up", "number"),
    ]
    if any(history.has_old_row(other_group) for other_group in history.groups):
        evaluated_ms = group.evaluated_ms
        evaluated_text = None if evaluated_ms is None else describe_minute(evaluated_ms, beside_ms=history.to_ms)
        cells.append(Cell(evaluated_text, "As of", "short"))
    return [
        *cells,
        Cell(describe_lag_start(group, beside_ms=history.to_ms), "Behind since"),
        Cell(show_count(group.member_count), "Members", "number"),
        Cell(_describe_rebalances(group), "Rebalances"),
    ]


def _format_rate(records_per_second: float | None) -> str | None:
    return None if records_per_second is None else f"{records_per_second:,.1f}"


def _describe_rebalances(group: GroupHistory) -> str | None:
    """Return the number of rebalances, and the duration of the longest or the open one; None if they are unknown."""
    if group.rebalances is None:
        return None
    if group.rebalancing_ms is not None:
        return f"{len(group.rebalances):,}, {describe_rebalancing(group.rebalancing_ms)}"
    longest = group.longest_rebalance
    if longest is None or longest.duration_ms is None:
        return f"{len(group.rebalances):,}"
    return f"{len(group.rebalances):,}, longest {describe_duration(longest)}"


def _render_trend(history: History, group: GroupHistory) -> str | None:
    """Return a small chart with an area for each time span with a known lag; None if no lag is known.

    The other cells of the row describe the lag in words.
    """
    lags = highest_lags(group.points, from_ms=history.from_ms, to_ms=history.to_ms, part_count=_PARTS)
    known_lags = [lag for lag in lags if lag is not None]
    if not known_lags:
        return None
    highest_lag = max(1, *known_lags)
    # SVG counts from the top: the highest lag has the height 0.
    heights = [None if lag is None else round(_HEIGHT - max(0, lag) * _HEIGHT / highest_lag, 1) for lag in lags]
    known_runs = [
        list(known_run)
        for is_known, known_run in groupby(enumerate(heights), lambda part_index: part_index[1] is not None)
        if is_known
    ]
    areas = "".join(
        f"M{known_run[0][0]} {_HEIGHT}"
        + "".join(f"V{height}H{part_index + 1}" for part_index, height in known_run)
        + f"V{_HEIGHT}Z"
        for known_run in known_runs
    )
    return (
        f'<svg class="spark" viewBox="0 0 {_PARTS} {_HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="{areas}"/></svg>'
    )
