"""Tables on a terminal, drawn by rich: aligned, coloured, folded if the window is narrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.cells import column_texts

_STATE_STYLES: Final = {
    "Stable": "green",
    "Empty": "yellow",
    "Dead": "red",
    "PreparingRebalance": "magenta",
    "CompletingRebalance": "magenta",
    "Assigning": "magenta",
    "Reconciling": "magenta",
}
_VERDICT_STYLES: Final = {
    "OK": "green",
    "UNKNOWN": "dim",
    "WARN": "yellow",
    "STOP": "bold red",
    "STALL": "bold red",
    "REWIND": "bold magenta",
}
_STATUS_STYLES: Final = {"ok": "green", "warning": "yellow", "failed": "bold red"}
# Columns whose values have colours.
_STYLES: Final = {"STATE": _STATE_STYLES, "VERDICT": _VERDICT_STYLES, "STATUS": _STATUS_STYLES}
_HEIGHT: Final = 100
_GAP: Final = 2
# This many characters of a cut or folded text still identify it.
_MIN_TEXT: Final = 12


def draw_table(screen: Screen, columns: Sequence[Column], rows: Sequence[Any]) -> bool:
    """Print rows as a table without a frame; return False if the window is too narrow, even with texts cut or folded.

    In a pipe there is no window, and nothing is cut or folded. Rich measures every cell many times, so this is for a
    screenful of rows.
    """
    texts = [column_texts(column, rows, escaped=True) for column in columns]
    width = screen.width if screen.out_is_terminal else _total_width(map(_max_width, columns, texts))
    if _total_width(map(_min_width, columns, texts)) > width:
        return False
    _console(screen, width).print(_build_table(columns, texts))
    return True


def fit_columns(
    columns: Sequence[Column], rows: Sequence[Any], *, width: int, hideable: Sequence[str]
) -> Sequence[Column]:
    """Return the columns without as many of the hideable ones, by header, as a window of this width has no place for.

    The first of `hideable` are hidden first. Texts that may be cut or folded count with their least width.
    """
    widths = {c.header: _min_width(c, column_texts(c, rows, escaped=True)) for c in columns}
    for header in hideable:
        if _total_width(widths.values()) <= width:
            break
        widths.pop(header, None)
    return [column for column in columns if column.header in widths]


def build_table(columns: Sequence[Column], rows: Sequence[Any]) -> Table:
    """Return rows as a table without a frame, for a display that is drawn repeatedly."""
    return _build_table(columns, [column_texts(column, rows, escaped=True) for column in columns])


def _build_table(columns: Sequence[Column], texts: Sequence[Sequence[str]]) -> Table:
    # Names become Text, because a group called "[red]" is not markup.
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column, shown in zip(columns, texts, strict=True):
        table.add_column(
            Text(column.header),
            justify="right" if column.is_number else "left",
            no_wrap=column.when_narrow is None,
            overflow="fold" if column.when_narrow == "fold" else "ellipsis",
            min_width=_min_width(column, shown),
        )
    cells = [[_cell(column, text) for text in shown] for column, shown in zip(columns, texts, strict=True)]
    for line in zip(*cells, strict=True):
        table.add_row(*line)
    return table


def _cell(column: Column, text: str) -> Text:
    if column.header in _STYLES and text != "-":
        return Text(text, style=_STYLES[column.header].get(text, ""))
    if column.header == "LAG":
        return Text(text, style="" if text in {"0", "-"} else "bold yellow")
    return Text(text, style="dim" if text == "-" else "")


def _console(screen: Screen, width: int) -> Console:
    # Rich uses a width only together with a height, and the environment otherwise.
    return Console(
        file=screen.out,
        width=width,
        height=_HEIGHT,
        force_terminal=True,
        no_color=not screen.colour,
        color_system="standard" if screen.colour else None,
    )


def _total_width(columns: Iterable[int]) -> int:
    widths = list(columns)
    return sum(widths) + _GAP * (len(widths) - 1)


def _max_width(column: Column, shown: Sequence[str]) -> int:
    return max(len(column.header), max(map(cell_len, shown), default=0))


def _min_width(column: Column, shown: Sequence[str]) -> int:
    widest = _max_width(column, shown)
    return max(len(column.header), min(widest, _MIN_TEXT)) if column.when_narrow else widest
