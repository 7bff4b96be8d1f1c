"""Tables on a terminal, drawn by rich: aligned, coloured, folded where a window is narrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.grid import cells_of
from kafka_groups.rendering.screen import Screen

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
    "WARN": "yellow",
    "STOP": "bold red",
    "STALL": "bold red",
    "ERR": "bold red",
    "REWIND": "bold magenta",
}
_STATUS_STYLES: Final = {"ok": "green", "warning": "yellow", "failed": "bold red"}
# Columns of words that have a colour of their own.
_STYLES: Final = {"STATE": _STATE_STYLES, "VERDICT": _VERDICT_STYLES, "STATUS": _STATUS_STYLES}
_HEIGHT: Final = 100
_GAP: Final = 2
# So much of a cut or folded text still tells one from another.
_LEAST_TEXT: Final = 12


def draw_table(screen: Screen, columns: Sequence[Column], rows: Sequence[Any]) -> bool:
    """Print rows as a table without a frame, if the window is wide enough for it when what may be cut or folded is.

    In a pipe there is no window, and nothing is cut or folded.
    Meant for a screenful: rich measures every cell many times.
    """
    # Names go in as Text: a group called "[red]" is not markup.
    texts = [cells_of(column, rows, escaped=True) for column in columns]
    width = screen.width if screen.out_is_terminal else _width(map(_widest_of, columns, texts))
    if _width(map(_least_of, columns, texts)) > width:
        return False
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column, shown in zip(columns, texts, strict=True):
        table.add_column(
            Text(column.header),
            justify="right" if column.is_number else "left",
            no_wrap=column.when_narrow is None,
            overflow="fold" if column.when_narrow == "fold" else "ellipsis",
            min_width=_least_of(column, shown),
        )
    cells = [[_cell(column, text) for text in shown] for column, shown in zip(columns, texts, strict=True)]
    for line in zip(*cells, strict=True):
        table.add_row(*line)
    _console(screen, width).print(table)
    return True


def _cell(column: Column, text: str) -> Text:
    if column.header in _STYLES and text != "-":
        return Text(text, style=_STYLES[column.header].get(text, ""))
    if column.header == "LAG":
        return Text(text, style="" if text in {"0", "-"} else "bold yellow")
    return Text(text, style="dim" if text == "-" else "")


def _console(screen: Screen, width: int) -> Console:
    # Only with both width and height does rich believe us and not the environment.
    return Console(
        file=screen.out,
        width=width,
        height=_HEIGHT,
        force_terminal=True,
        no_color=not screen.colour,
        color_system="standard" if screen.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _width(columns: Iterable[int]) -> int:
    widths = list(columns)
    return sum(widths) + _GAP * (len(widths) - 1)


def _widest_of(column: Column, shown: Sequence[str]) -> int:
    return max(len(column.header), max(map(cell_len, shown), default=0))


def _least_of(column: Column, shown: Sequence[str]) -> int:
    widest = _widest_of(column, shown)
    return max(len(column.header), min(widest, _LEAST_TEXT)) if column.when_narrow else widest
