"""A group's part of the page: how it stands, its chart, its rebalances as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kafka_groups.pipeline.report.history import GroupHistory, History, Rebalance
from kafka_groups.pipeline.report.html.markup import Cell, embedded, name, row, table, text
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

# A chart is some thousand pixels wide at most; of more points, those that must be seen are kept.
_MOST_POINTS: Final = 2_000
_MOST_LISTED: Final = 100
_DAY_MS: Final = 86_400_000
_QUALITIES: Final = {
    "exact": "exact",
    "bound": "no longer than that",
    "overtaken": "until the next one",
    "open": "had not ended",
    "unknown": "not known when it ended",
}


def chart_section(history: History, group: GroupHistory, at: int) -> str:
    """Return the section that the summary's link to group number `at` leads to."""
    return (
        f'<section class="group" id="group-{at}" aria-labelledby="group-{at}-name">\n'
        f'<div class="title"><h3 id="group-{at}-name">{name(group.group)}</h3>{verdict_label(word_of(group))}</div>\n'
        f'<p class="standing">{_standing(history, group)}</p>\n'
        f"{_figure(history, group)}\n{_rebalances(group)}</section>"
    )


def word_of(group: GroupHistory) -> str | None:
    """Return what stands for a group on its colour: its verdict, or that it was removed."""
    return group.verdict if group.removed_ms is None else "removed"


def verdict_label(word: str | None) -> str:
    """Return a verdict's word on its colour."""
    if word is None:
        return '<span class="verdict">not judged</span>'
    return f'<span class="verdict {text(word.lower())}">{text(word)}</span>'


def _standing(history: History, group: GroupHistory) -> str:
    lag, time_lag, since = describe_lag(group), describe_time_lag(group), describe_lag_start(group)
    parts = [
        f"cluster {name(group.cluster_id)}" if len(history.clusters) > 1 else None,
        _removal(group),
        f"as of {describe_minute(group.evaluated_ms)}" if group.evaluated_ms and history.has_old_row(group) else None,
        None if group.state is None else text(group.state),
        None if group.members is None else count_of(group.members, "member"),
        None if lag is None else f"lag {lag}",
        None if time_lag is None else f"time lag {time_lag}",
        None if since is None else f"behind since {since}",
        None if group.catch_up_ms is None else f"caught up in {format_duration(group.catch_up_ms)} at these rates",
        None if group.rule is None else f"rule: {text(group.rule)}",
    ]
    return " · ".join(part for part in parts if part is not None)


def _removal(group: GroupHistory) -> str | None:
    if group.removed_ms is None:
        return None
    return f"removed {describe_minute(group.removed_ms)}{' or before' if group.removed_is_bound else ''}"


def _figure(history: History, group: GroupHistory) -> str:
    hooks = (
        f'data-group="{text(group.group)}" data-cluster="{text(group.cluster_id)}" '
        f'data-rebalances="{len(group.rebalances or ())}"'
    )
    data = _chart_data(history, group)
    kind = "group-chart" if data["timeLag"] else "group-chart lag-only"
    if not (group.rebalances or any(lag is not None for lag in data["lag"])):
        nothing = '<p class="nothing">No lag is known for this group in this period.</p>'
        return f'<figure class="{kind}" {hooks}>{nothing}</figure>'
    caption = f"{len(data['at']):,} of {len(group.points):,} points, the peaks among them." * (
        len(data["at"]) < len(group.points)
    )
    return (
        f'<figure class="{kind}" {hooks}>\n<div class="plot" role="img" aria-label="{_in_words(group)}"></div>\n'
        f"{f'<figcaption>{caption}</figcaption>' if caption else ''}"
        f'<script type="application/json">{embedded(data)}</script>\n</figure>'
    )


def _chart_data(history: History, group: GroupHistory) -> dict[str, Any]:
    """Return what page.js draws: numbers, and texts made of numbers."""
    points = reduce_points(group.points, most=_MOST_POINTS)
    time_lags = [point.time_lag_ms for point in points]
    return {
        "period": [history.from_ms, max(history.to_ms, history.from_ms + 1)],
        "at": [point.at_ms - history.from_ms for point in points],
        "lag": [point.lag for point in points],
        "timeLag": None if all(time_lag is None for time_lag in time_lags) else time_lags,
        "marks": [_mark(mark, history) for mark in group.rebalances or ()],
    }


def _mark(mark: Rebalance, history: History) -> list[int | str]:
    """Return the part of a mark that lies in the period, if it began before."""
    return [max(mark.started_ms, history.from_ms), _end_of(mark, history), _hover(mark)]


def _end_of(mark: Rebalance, history: History) -> int:
    """Return where its band ends; one that had not ended is looked at until the end of the day after it began."""
    if mark.ended_ms is not None:
        return mark.ended_ms
    if mark.duration_quality != "open":
        return mark.started_ms + (mark.duration_ms or 0)
    return min(history.to_ms, (mark.started_ms // _DAY_MS + 2) * _DAY_MS)


def _hover(mark: Rebalance) -> str:
    return f"Rebalance {mark.generation}: {describe_duration(mark)}<br>{describe_member_changes(mark)}"


def _in_words(group: GroupHistory) -> str:
    lags = [point.lag for point in group.points if point.lag is not None]
    course = f"from {lags[0]:,} to {lags[-1]:,}, at most {max(lags):,}" if lags else "not known"
    return f"Lag of {text(group.group)} over the period: {course}; {_turns(group)}."


def _turns(group: GroupHistory) -> str:
    return "rebalances unknown" if group.rebalances is None else count_of(len(group.rebalances), "rebalance")


def _rebalances(group: GroupHistory) -> str:
    if not group.rebalances:
        return ""
    newest: Sequence[Rebalance] = group.rebalances[::-1][:_MOST_LISTED]
    count = count_of(len(group.rebalances), "rebalance")
    summary = count if len(newest) == len(group.rebalances) else f"{count}, the last {len(newest)} of them"
    headers = [Cell(None, label, "number") for label in ("Generation", "Took", "Joined", "Left")]
    rows = [
        row(
            Cell(describe_minute(mark.started_ms), "Started"),
            [
                Cell(str(mark.generation), "Generation", "number"),
                Cell(_took(mark), "Took", "number"),
                Cell(text(_QUALITIES.get(mark.duration_quality, mark.duration_quality)), "Measured"),
                Cell(show_count(mark.joined), "Joined", "number"),
                Cell(show_count(mark.left), "Left", "number"),
            ],
        )
        for mark in newest
    ]
    headers = [Cell(None, "Started"), *headers[:2], Cell(None, "Measured"), *headers[2:]]
    inner = table(headers, rows, label=f"Rebalances of {text(group.group)}")
    return f"<details><summary>{summary}</summary>\n{inner}</details>\n"


def _took(mark: Rebalance) -> str | None:
    return None if mark.duration_ms is None else format_duration(mark.duration_ms)
