"""The section of a group on the page: its state, its chart, and tables of its rebalances and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafka_groups.pipeline.report.history import GroupHistory, History, Rebalance
from kafka_groups.pipeline.report.html.markup import Cell, embed_json, escape_name, escape_text, make_row, make_table
from kafka_groups.pipeline.report.html.member_tables import render_task_tables
from kafka_groups.pipeline.report.notation import (
    describe_duration,
    describe_lag,
    describe_lag_start,
    describe_member_changes,
    describe_minute,
    describe_time_lag,
)
from kafka_groups.pipeline.report.peaks import reduce_points
from kafka_groups.rendering.counts import count_of, show_count
from kafka_groups.rendering.durations import format_duration

# A chart has at most some thousand pixels. If there are more points, only the necessary ones are drawn.
_MAX_PARTS: Final = 2_000
_MAX_REBALANCES: Final = 100
_DAY_MS: Final = 86_400_000
_QUALITIES: Final = {
    "exact": "exact",
    "bound": "no longer than that",
    "overtaken": "until the next one",
    "open": "had not ended",
    "unknown": "not known when it ended",
}


def render_chart_section(history: History, group: GroupHistory, group_number: int) -> str:
    """Return the section of a group; the summary links to it by the group's number."""
    title = (
        f'<h3 id="group-{group_number}-name">{escape_name(group.group)}</h3>{render_verdict_label(verdict_word(group))}'
    )
    return (
        f'<section class="group" id="group-{group_number}" aria-labelledby="group-{group_number}-name">\n'
        f'<div class="title">{title}</div>\n'
        f'<p class="standing">{_describe_state(history, group)}</p>\n'
        f"{_render_figure(history, group)}\n{_render_rebalances(group)}{render_task_tables(history, group)}</section>"
    )


def verdict_word(group: GroupHistory) -> str | None:
    """Return the verdict of a group, or `deleted`; None if it is not judged."""
    return group.verdict if group.deleted_ms is None else "deleted"


def render_verdict_label(verdict: str | None) -> str:
    """Return a verdict as a label in its colour."""
    if verdict is None:
        return '<span class="verdict">not judged</span>'
    return f'<span class="verdict {escape_text(verdict.lower())}">{escape_text(verdict)}</span>'


def _describe_state(history: History, group: GroupHistory) -> str:
    """Return what is known of a group, in one line."""
    lag = describe_lag(group)
    time_lag = describe_time_lag(group)
    lag_start = describe_lag_start(group)
    has_old_row = group.evaluated_ms is not None and history.has_old_row(group)
    state_parts = [
        f"cluster {escape_name(group.cluster_id)}" if len(history.clusters) > 1 else None,
        _describe_deletion(group),
        f"as of {describe_minute(group.evaluated_ms or 0)}" if has_old_row else None,
        None if group.state is None else escape_text(group.state),
        None if group.member_count is None else count_of(group.member_count, "member"),
        None if lag is None else f"lag {lag}",
        None if time_lag is None else f"time lag {time_lag}",
        None if lag_start is None else f"behind since {lag_start}",
        None if group.catch_up_ms is None else f"caught up in {format_duration(group.catch_up_ms)} at these rates",
        None if group.rule is None else f"rule: {escape_text(group.rule)}",
    ]
    return " · ".join(state_part for state_part in state_parts if state_part is not None)


def _describe_deletion(group: GroupHistory) -> str | None:
    """Return when a group was deleted; None if it exists."""
    if group.deleted_ms is None:
        return None
    return f"deleted {describe_minute(group.deleted_ms)}{' or before' if group.deleted_is_bound else ''}"


def _render_figure(history: History, group: GroupHistory) -> str:
    """Return the chart of a group: its data, which page.js draws. Without lag and rebalances, return a sentence."""
    attributes = (
        f'data-group="{escape_text(group.group)}" data-cluster="{escape_text(group.cluster_id)}" '
        f'data-rebalances="{len(group.rebalances or ())}"'
    )
    chart_data = _make_chart_data(history, group)
    css_classes = "group-chart" if chart_data["timeLag"] else "group-chart lag-only"
    if not (group.rebalances or any(lag is not None for lag in chart_data["lag"])):
        empty_note = '<p class="nothing">No lag is known for this group in this period.</p>'
        return f'<figure class="{css_classes}" {attributes}>{empty_note}</figure>'
    caption = ""
    if len(chart_data["at"]) < len(group.points):
        points_text = f"{len(chart_data['at']):,} of {len(group.points):,} points"
        caption = f"<figcaption>{points_text}, the peaks among them.</figcaption>"
    return (
        f'<figure class="{css_classes}" {attributes}>\n'
        f'<div class="plot" role="img" aria-label="{_describe_chart(group)}"></div>\n'
        f'{caption}<script type="application/json">{embed_json(chart_data)}</script>\n</figure>'
    )


def _make_chart_data(history: History, group: GroupHistory) -> dict[str, Any]:
    """Return the data that page.js draws: numbers, and texts made of numbers. Times count from the period's start."""
    points = reduce_points(group.points, part_count=_MAX_PARTS)
    time_lags = [point.time_lag_ms for point in points]
    return {
        "period": [history.from_ms, max(history.to_ms, history.from_ms + 1)],
        "at": [point.at_ms - history.from_ms for point in points],
        "lag": [point.lag for point in points],
        "timeLag": None if all(time_lag is None for time_lag in time_lags) else time_lags,
        "marks": [_make_mark(rebalance, history) for rebalance in group.rebalances or ()],
    }


def _make_mark(rebalance: Rebalance, history: History) -> list[int | str]:
    """Return the mark of a rebalance: where it begins in the period, where it ends, and the text of its tooltip."""
    tooltip = (
        f"Rebalance {rebalance.generation}: {describe_duration(rebalance)}<br>{describe_member_changes(rebalance)}"
    )
    return [max(rebalance.started_ms, history.from_ms), _find_mark_end(rebalance, history), tooltip]


def _find_mark_end(rebalance: Rebalance, history: History) -> int:
    """Return where the mark ends, in milliseconds since 1970.

    The records of an open rebalance were read until the end of the day after it began.
    """
    if rebalance.ended_ms is not None:
        return rebalance.ended_ms
    if rebalance.duration_quality != "open":
        return rebalance.started_ms + (rebalance.duration_ms or 0)
    return min(history.to_ms, (rebalance.started_ms // _DAY_MS + 2) * _DAY_MS)


def _describe_chart(group: GroupHistory) -> str:
    """Return a description of the chart for readers who do not see it."""
    lags = [point.lag for point in group.points if point.lag is not None]
    lag_text = f"from {lags[0]:,} to {lags[-1]:,}, at most {max(lags):,}" if lags else "not known"
    rebalances_text = "rebalances unknown" if group.rebalances is None else count_of(len(group.rebalances), "rebalance")
    return f"Lag of {escape_text(group.group)} over the period: {lag_text}; {rebalances_text}."


def _render_rebalances(group: GroupHistory) -> str:
    """Return a table of the last hundred rebalances, the newest first; empty if there is none."""
    if not group.rebalances:
        return ""
    newest_rebalances: Sequence[Rebalance] = group.rebalances[::-1][:_MAX_REBALANCES]
    count_text = count_of(len(group.rebalances), "rebalance")
    summary_text = (
        count_text
        if len(newest_rebalances) == len(group.rebalances)
        else f"{count_text}, the last {len(newest_rebalances)} of them"
    )
    headers = [
        Cell(None, "Started"),
        Cell(None, "Generation", "number"),
        Cell(None, "Took", "number"),
        Cell(None, "Measured"),
        Cell(None, "Joined", "number"),
        Cell(None, "Left", "number"),
    ]
    rows = [_render_rebalance(rebalance) for rebalance in newest_rebalances]
    table_markup = make_table(headers, rows, label=f"Rebalances of {escape_text(group.group)}")
    return f"<details><summary>{summary_text}</summary>\n{table_markup}</details>\n"


def _render_rebalance(rebalance: Rebalance) -> str:
    duration = None if rebalance.duration_ms is None else format_duration(rebalance.duration_ms)
    return make_row(
        Cell(describe_minute(rebalance.started_ms), "Started"),
        [
            Cell(str(rebalance.generation), "Generation", "number"),
            Cell(duration, "Took", "number"),
            Cell(escape_text(_QUALITIES.get(rebalance.duration_quality, rebalance.duration_quality)), "Measured"),
            Cell(show_count(rebalance.joined), "Joined", "number"),
            Cell(show_count(rebalance.left), "Left", "number"),
        ],
    )
