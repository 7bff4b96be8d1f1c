"""Tables on a terminal, drawn by rich: aligned, coloured, folded where a window is narrow."""

from __future__ import annotations

from collections.abc import Sequence
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
_HEIGHT: Final = 100


def draw_table(screen: Screen, columns: Sequence[Column], rows: Sequence[Any]) -> None:
    """Print rows as a table without a frame. Meant for a screenful: rich measures every cell many times."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            Text(column.header),
            justify="right" if column.is_number else "left",
            no_wrap=not column.gives_way,
            overflow="fold",
        )
    # Names go in as Text: a group called "[red]" is not markup.
    texts = [cells_of(column, rows, escaped=True) for column in columns]
    cells = [[_cell(column, text) for text in shown] for column, shown in zip(columns, texts, strict=True)]
    for line in zip(*cells, strict=True):
        table.add_row(*line)
    _console(screen, _least_width(columns, texts)).print(table)


def _cell(column: Column, text: str) -> Text:
    if column.header == "STATE":
        return Text(text, style=_STATE_STYLES.get(text, ""))
    if column.header == "LAG":
        return Text(text, style="" if text in {"0", "-"} else "bold yellow")
    return Text(text, style="dim" if text == "-" else "")


def _console(screen: Screen, least: int) -> Console:
    # Only with both width and height does rich believe us and not the environment. What identifies a
    # row is never cut: when it does not fit the window, the terminal itself wraps the line.
    return Console(
        file=screen.out,
        width=max(screen.width, least),
        height=_HEIGHT,
        force_terminal=True,
        no_color=not screen.colour,
        color_system="standard" if screen.colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def _least_width(columns: Sequence[Column], texts: Sequence[Sequence[str]]) -> int:
    folded = 12
    widths = [
        max(
            len(column.header),
            folded if column.gives_way else max(map(cell_len, shown), default=0),
        )
        for column, shown in zip(columns, texts, strict=True)
    ]
    return sum(widths) + 2 * len(widths)
