"""A history as text: a table of its groups with the trend of each, then what was found; the rest is told on stderr."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.history import GroupHistory, History
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.formats import write_table
from kafka_groups.rendering.grid import cells_of
from kafka_groups.rendering.history.sparkline import BLOCKS, DIGITS, draw_sparkline, peaks_of
from kafka_groups.rendering.history.words import (
    TIME_LAG_SIGNS,
    counted,
    longest_rebalance,
    show_duration,
    show_minute,
    show_time_lag,
)
from kafka_groups.rendering.notices import note
from kafka_groups.rendering.screen import Screen

_TREND_CELLS: Final = 20
_GAP: Final = 2
_MOST_NOTES: Final = 20
_LEGEND: Final = {
    "~": "~ is interpolated between sampled times",
    "≥": "≥ is at least: older times were not sampled",
    "!": "! is after data loss: records were deleted before they were read",
}


class HistoryRow(NamedTuple):
    """One group, all but numbers as text."""

    group: str
    cluster: str
    state: str | None
    members: int | None
    verdict: str | None
    rule: str | None
    lag: int | None
    time_lag: str | None
    trend: str | None
    consume_rate: float | None
    produce_rate: float | None
    catch_up: str | None
    since: str | None
    rebalances: int
    longest: str | None


_CLUSTER: Final = Column("CLUSTER", "cluster")
_COLUMNS: Final = (
    Column("GROUP", "group"),
    _CLUSTER,
    Column("STATE", "state"),
    Column("MEMBERS", "members", is_number=True),
    Column("VERDICT", "verdict"),
    Column("RULE", "rule"),
    Column("LAG", "lag", is_number=True),
    Column("TIME-LAG", "time_lag"),
    Column("TREND", "trend"),
    Column("CONSUME-RATE", "consume_rate", is_number=True),
    Column("PRODUCE-RATE", "produce_rate", is_number=True),
    Column("CATCH-UP", "catch_up"),
    Column("SINCE", "since"),
    Column("REBALANCES", "rebalances", is_number=True),
    Column("LONGEST", "longest"),
)
# What a window that is too narrow goes without, the first of them first. The others are what the report is for.
_LEAST_NEEDED: Final = (
    "RULE",
    "MEMBERS",
    "LONGEST",
    "PRODUCE-RATE",
    "CONSUME-RATE",
    "SINCE",
    "REBALANCES",
    "CATCH-UP",
    "STATE",
    "TREND",
)
_FINDINGS: Final = (
    Column("KIND", "kind"),
    Column("CLUSTER", "cluster_id"),
    Column("GROUP", "group"),
    Column("TOPIC", "topic"),
    Column("MESSAGE", "message", when_narrow="fold"),
)


def draw_history(screen: Screen, history: History) -> None:
    """The groups in their order, then what was found; on stderr the period, what signs mean, and what is missing.

    On a terminal, columns that find no room are left out, and stderr names them. A pipe gets all of them.
    """
    note(screen, _heading(history))
    is_unicode = _takes_blocks(screen)
    rows = [_row(history, group, is_unicode=is_unicode) for group in history.groups]
    several = len(history.clusters) > 1
    columns = _fitting(screen, [column for column in _COLUMNS if several or column is not _CLUSTER], rows)
    write_table(screen, columns, rows)
    if history.findings:
        screen.out.write("\n")
        write_table(
            screen,
            [column for column in _FINDINGS if several or column.header != "CLUSTER"],
            history.findings,
        )
    for text in _remarks(history, is_unicode=is_unicode):
        note(screen, text)


def _row(history: History, group: GroupHistory, *, is_unicode: bool) -> HistoryRow:
    peaks = peaks_of(group.points, from_ms=history.from_ms, to_ms=history.to_ms, cells=_TREND_CELLS)
    longest = longest_rebalance(group)
    return HistoryRow(
        group=group.group,
        cluster=group.cluster_id,
        state=group.state,
        members=group.members,
        verdict=group.verdict,
        rule=group.rule,
        lag=group.lag,
        time_lag=show_time_lag(group, at_least="≥" if is_unicode else ">="),
        trend=draw_sparkline(peaks, blocks=BLOCKS if is_unicode else DIGITS),
        # A tenth is as fine as samples a minute apart are; with one decimal each, the points stand in line.
        consume_rate=None if group.consume_rate is None else round(group.consume_rate, 1),
        produce_rate=None if group.produce_rate is None else round(group.produce_rate, 1),
        catch_up=None if group.catch_up_ms is None else show_duration(group.catch_up_ms),
        since=None if group.lagging_since_ms is None else show_minute(group.lagging_since_ms),
        rebalances=len(group.rebalances),
        longest=None if longest is None or longest.duration_ms is None else show_duration(longest.duration_ms),
    )


def _fitting(screen: Screen, columns: Sequence[Column], rows: Sequence[Any]) -> Sequence[Column]:
    """The columns that the window has room for; what was left out is told on stderr."""
    if not screen.out_is_terminal:
        return columns
    from rich.cells import cell_len

    widths = {
        column.header: max(map(cell_len, (column.header, *cells_of(column, rows, escaped=True)))) for column in columns
    }
    left = dict(widths)
    for header in _LEAST_NEEDED:
        if sum(left.values()) + _GAP * (len(left) - 1) <= screen.width:
            break
        del left[header]
    if len(left) < len(widths):
        gone = ", ".join(header for header in widths if header not in left)
        full = sum(widths.values()) + _GAP * (len(widths) - 1)
        note(screen, f"Left out for want of room: {gone} (a window of {full} columns or a pipe has them).")
    return [column for column in columns if column.header in left]


def _heading(history: History) -> str:
    shown, in_all = len(history.groups), history.groups_in_all
    groups = counted(in_all, "group") if shown == in_all else f"{shown:,} of {counted(in_all, 'group')}"
    clusters = f"{counted(len(history.clusters), 'cluster')}: {', '.join(history.clusters)}"
    return f"{show_minute(history.from_ms)} to {show_minute(history.to_ms)}, {groups}, {clusters}"


def _remarks(history: History, *, is_unicode: bool) -> Iterator[str]:
    used = {TIME_LAG_SIGNS.get(group.time_lag_quality) for group in history.groups}
    legend = "; ".join(told for sign, told in _LEGEND.items() if sign in used)
    if legend:
        yield f"TIME-LAG: {legend if is_unicode else legend.replace('≥', '>=')}."
    yield from _as_far_as_few(history.gaps, "Gap", "gaps")
    yield from _as_far_as_few(history.missing, "Missing", "things are missing")


def _as_far_as_few(told: Sequence[str], label: str, many: str) -> Iterator[str]:
    yield from (f"{label}: {text}" for text in told[:_MOST_NOTES])
    if len(told) > _MOST_NOTES:
        yield f"{len(told) - _MOST_NOTES:,} more {many}; --format json has them all."


def _takes_blocks(screen: Screen) -> bool:
    """Whether stdout can show a sparkline."""
    return (screen.out.encoding or "utf-8").lower().startswith("utf")
