"""A history as text: a table of its groups with the trend of each, then what was found; stderr has the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.peaks import peaks_of
from kafka_groups.pipeline.report.text.footnotes import MOST_FINDINGS, ORDER, remarks
from kafka_groups.pipeline.report.units import (
    few_findings,
    is_old,
    show_lag,
    show_longest_rebalance,
    show_minute,
    show_since,
    show_time_lag,
)
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.durations import format_duration
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.sparkline import BLOCKS, DIGITS, draw_sparkline
from kafka_groups.rendering.writers.cells import column_texts
from kafka_groups.rendering.writers.table import write_table

_TREND_CELLS: Final = 20
_GAP: Final = 2


class HistoryRow(NamedTuple):
    """One group, all but numbers as text."""

    group: str
    cluster: str
    state: str | None
    members: int | None
    verdict: str | None
    rule: str | None
    lag: str | None
    time_lag: str | None
    trend: str | None
    consume_rate: float | None
    produce_rate: float | None
    catch_up: str | None
    as_of: str | None
    since: str | None
    rebalances: int | None
    longest: str | None


_CLUSTER: Final = Column("CLUSTER", "cluster")
# Only where the rows are not all of the same time.
_AS_OF: Final = Column("AS-OF", "as_of")
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
    _AS_OF,
    Column("SINCE", "since"),
    Column("REBALANCES", "rebalances", is_number=True),
    Column("LONGEST", "longest"),
)
# What a window that is too narrow goes without, the first of them first. The others are what the report is for.
_LEAST_NEEDED: Final = (
    "MEMBERS",
    "LONGEST",
    "PRODUCE-RATE",
    "CONSUME-RATE",
    "REBALANCES",
    "CATCH-UP",
    "STATE",
    "SINCE",
    "RULE",
    "TREND",
    "AS-OF",
)
_FINDINGS: Final = (
    Column("KIND", "kind"),
    Column("CLUSTER", "cluster_id"),
    Column("GROUP", "group"),
    Column("TOPIC", "topic"),
    Column("MESSAGE", "message", when_narrow="fold"),
)


def draw_history(screen: Screen, history: History) -> None:
    """Print the groups in their order, then what was found; on stderr the period, the signs, and what is missing.

    On a terminal, columns that do not fit are omitted, and stderr names them. A pipe gets all of them.
    """
    print_note(screen, _heading(history))
    if len(history.groups) > 1:
        print_note(screen, f"{ORDER}.")
    is_unicode = screen.is_unicode
    rows = [_row(history, group, is_unicode=is_unicode) for group in history.groups]
    several = len(history.clusters) > 1
    wanted = {_CLUSTER: several, _AS_OF: any(is_old(group, history) for group in history.groups)}
    columns = _fitting(screen, [column for column in _COLUMNS if wanted.get(column, True)], rows)
    write_table(screen, columns, rows)
    if history.findings:
        screen.out.write("\n")
        write_table(
            screen,
            [column for column in _FINDINGS if several or column.header != "CLUSTER"],
            few_findings(history.findings, MOST_FINDINGS),
        )
    for text in remarks(history, {column.header for column in columns}, is_unicode=is_unicode):
        print_note(screen, text)


def _row(history: History, group: GroupHistory, *, is_unicode: bool) -> HistoryRow:
    peaks = peaks_of(group.points, from_ms=history.from_ms, to_ms=history.to_ms, cells=_TREND_CELLS)
    return HistoryRow(
        group=group.group,
        cluster=group.cluster_id,
        state=group.state,
        members=group.members,
        # Not a verdict, but in the column in which a reader looks for it, and never omitted.
        verdict=group.verdict if group.removed_ms is None else "removed",
        rule=group.rule,
        lag=show_lag(group, at_least="≥" if is_unicode else ">="),
        time_lag=show_time_lag(group, at_least="≥" if is_unicode else ">="),
        trend=draw_sparkline(peaks, blocks=BLOCKS if is_unicode else DIGITS),
        # A tenth is as fine as samples a minute apart are; with one decimal each, the points stand in line.
        consume_rate=None if group.consume_rate is None else round(group.consume_rate, 1),
        produce_rate=None if group.produce_rate is None else round(group.produce_rate, 1),
        catch_up=None if group.catch_up_ms is None else format_duration(group.catch_up_ms),
        as_of=None if group.evaluated_ms is None else show_minute(group.evaluated_ms),
        since=show_since(group, at_most="≤" if is_unicode else "<="),
        rebalances=None if group.rebalances is None else len(group.rebalances),
        longest=show_longest_rebalance(group, at_most="≤" if is_unicode else "<="),
    )


def _fitting(screen: Screen, columns: Sequence[Column], rows: Sequence[Any]) -> Sequence[Column]:
    """Return the columns that fit into the window; stderr names those that are omitted."""
    if not screen.out_is_terminal:
        return columns
    from rich.cells import cell_len

    widths = {
        column.header: max(map(cell_len, (column.header, *column_texts(column, rows, escaped=True))))
        for column in columns
    }
    left = _as_many_as_fit(widths, screen.width)
    if len(left) < len(widths):
        hidden = ", ".join(header for header in widths if header not in left)
        full = sum(widths.values()) + _GAP * (len(widths) - 1)
        print_note(screen, f"Omitted columns: {hidden} (a window of {full} columns or a pipe has them).")
    return [column for column in columns if column.header in left]


def _as_many_as_fit(widths: Mapping[str, int], room: int) -> set[str]:
    """Return the columns that are always shown, and as many others as fit, the most needed first."""
    left = {header for header in widths if header not in _LEAST_NEEDED}
    for header in reversed(_LEAST_NEEDED):
        wider = {*left, header}
        if header in widths and sum(widths[name] for name in wider) + _GAP * (len(wider) - 1) <= room:
            left = wider
    return left


def _heading(history: History) -> str:
    shown, in_all = len(history.groups), history.groups_in_all
    groups = count_of(in_all, "group") if shown == in_all else f"{shown:,} of {count_of(in_all, 'group')}"
    clusters = (
        f", {count_of(len(history.clusters), 'cluster')}: {', '.join(history.clusters)}" if history.clusters else ""
    )
    as_of = "" if history.evaluated_ms is None else f" as of {show_minute(history.evaluated_ms)}"
    return f"{show_minute(history.from_ms)} to {show_minute(history.to_ms)}, {groups}{as_of}{clusters}"
