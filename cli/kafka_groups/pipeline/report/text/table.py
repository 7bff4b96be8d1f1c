"""The report as text: a table of its groups with their trends, then the findings; footnotes are on stderr."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.limits import first_of_each_kind
from kafka_groups.pipeline.report.notation import (
    format_lag,
    format_lag_start,
    format_longest_rebalance,
    format_minute,
    format_time_lag,
)
from kafka_groups.pipeline.report.peaks import highest_lags
from kafka_groups.pipeline.report.text.footnotes import MAX_FINDINGS, ORDER, footnotes
from kafka_groups.pipeline.report.text.task_tables import draw_tasks
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.durations import format_duration
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.sparkline import BLOCKS, DIGITS, draw_sparkline
from kafka_groups.rendering.writers.cells import column_width
from kafka_groups.rendering.writers.table import write_table

_TREND_CELLS: Final = 20
_GAP: Final = 2


class HistoryRow(NamedTuple):
    """A row of the table: a group, with texts for all values but plain numbers; None is an empty cell."""

    group: str
    cluster: str
    state: str | None
    member_count: int | None
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
# This column is only shown if some rows are older than others.
_AS_OF: Final = Column("AS-OF", "as_of")
_COLUMNS: Final = (
    Column("GROUP", "group"),
    _CLUSTER,
    Column("STATE", "state"),
    Column("MEMBERS", "member_count", is_number=True),
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
# The columns that a narrow window omits, in this order. The others are always shown.
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
    """Print the groups in their order, then the findings; on stderr the period, the signs, and what is missing.

    The tasks of a single group follow its row.

    On a terminal, columns that do not fit are omitted, and stderr names them. A pipe gets all of them.
    """
    print_note(screen, _format_heading(history))
    if len(history.groups) > 1:
        print_note(screen, f"{ORDER}.")
    is_unicode = screen.is_unicode
    rows = [_make_row(history, group, is_unicode=is_unicode) for group in history.groups]
    columns = _choose_columns(screen, _list_columns(history), rows)
    write_table(screen, columns, rows)
    if len(history.groups) == 1 and history.groups[0].tasks is not None:
        draw_tasks(screen, history.groups[0].tasks, from_ms=history.from_ms)
    if history.findings:
        screen.out.write("\n")
        _draw_findings(screen, history)
    for line in footnotes(history, {column.header for column in columns}, is_unicode=is_unicode):
        print_note(screen, line)


def _list_columns(history: History) -> list[Column]:
    """Return the columns that the history needs: CLUSTER only for several clusters, AS-OF only for rows of others."""
    columns = list(_COLUMNS)
    if len(history.clusters) <= 1:
        columns.remove(_CLUSTER)
    if not any(history.has_old_row(group) for group in history.groups):
        columns.remove(_AS_OF)
    return columns


def _draw_findings(screen: Screen, history: History) -> None:
    has_clusters = len(history.clusters) > 1
    columns = [column for column in _FINDINGS if has_clusters or column.header != "CLUSTER"]
    write_table(screen, columns, first_of_each_kind(history.findings, MAX_FINDINGS))


def _make_row(history: History, group: GroupHistory, *, is_unicode: bool) -> HistoryRow:
    peaks = highest_lags(group.points, from_ms=history.from_ms, to_ms=history.to_ms, part_count=_TREND_CELLS)
    return HistoryRow(
        group=group.group,
        cluster=group.cluster_id,
        state=group.state,
        member_count=group.member_count,
        # This is no verdict, but readers look for it in this column, which is never omitted.
        verdict=group.verdict if group.deleted_ms is None else "deleted",
        rule=group.rule,
        lag=format_lag(group, at_least_sign="≥" if is_unicode else ">="),
        time_lag=format_time_lag(group, at_least_sign="≥" if is_unicode else ">="),
        trend=draw_sparkline(peaks, blocks=BLOCKS if is_unicode else DIGITS),
        # Rates from samples a minute apart are no finer than a tenth. With one decimal each, the points are aligned.
        consume_rate=None if group.consume_rate is None else round(group.consume_rate, 1),
        produce_rate=None if group.produce_rate is None else round(group.produce_rate, 1),
        catch_up=None if group.catch_up_ms is None else format_duration(group.catch_up_ms),
        as_of=None if group.evaluated_ms is None else format_minute(group.evaluated_ms),
        since=format_lag_start(group, at_most_sign="≤" if is_unicode else "<="),
        rebalances=None if group.rebalances is None else len(group.rebalances),
        longest=format_longest_rebalance(group, at_most_sign="≤" if is_unicode else "<="),
    )


def _choose_columns(screen: Screen, columns: Sequence[Column], rows: Sequence[HistoryRow]) -> Sequence[Column]:
    """Return the columns that fit into the window; stderr names those that are omitted."""
    if not screen.out_is_terminal:
        return columns
    widths = {column.header: column_width(column, rows) for column in columns}
    headers = _choose_headers(widths, screen.width)
    if len(headers) < len(widths):
        omitted_headers = ", ".join(header for header in widths if header not in headers)
        full_width = _total_width(widths.values())
        print_note(screen, f"Omitted columns: {omitted_headers} (a window of {full_width} columns or a pipe has them).")
    return [column for column in columns if column.header in headers]


def _choose_headers(widths: Mapping[str, int], window_width: int) -> set[str]:
    """Return the headers of the columns that are always shown, and of the most needed other columns that fit.

    `widths` has the width of each column by header, in cells of the terminal.
    """
    headers = {header for header in widths if header not in _LEAST_NEEDED}
    for header in reversed(_LEAST_NEEDED):
        with_header = {*headers, header}
        if header in widths and _total_width([widths[name] for name in with_header]) <= window_width:
            headers = with_header
    return headers


def _total_width(widths: Collection[int]) -> int:
    """Return the width of a table with columns of these widths."""
    return sum(widths) + _GAP * (len(widths) - 1)


def _format_heading(history: History) -> str:
    """Return the period, the number of groups, the time of the newest lag, and the clusters."""
    shown_count = len(history.groups)
    total_text = count_of(history.groups_in_all, "group")
    groups_text = total_text if shown_count == history.groups_in_all else f"{shown_count:,} of {total_text}"
    as_of_text = "" if history.evaluated_ms is None else f" as of {format_minute(history.evaluated_ms)}"
    clusters_text = ""
    if history.clusters:
        clusters_text = f", {count_of(len(history.clusters), 'cluster')}: {', '.join(history.clusters)}"
    return (
        f"{format_minute(history.from_ms)} to {format_minute(history.to_ms)}, {groups_text}{as_of_text}{clusters_text}"
    )
