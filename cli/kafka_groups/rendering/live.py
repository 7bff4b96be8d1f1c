"""A table that is redrawn in place on a terminal, by rich."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import Screen, escape_controls
from kafka_groups.rendering.writers.terminal import build_table, fit_columns

# The caption, the header, the line on hidden rows and the cursor.
_OTHER_LINES: Final = 4


class LiveTable:
    """A table on the terminal until the context ends; what was drawn last stays."""

    def __init__(self, screen: Screen) -> None:
        self._console = Console(
            file=screen.out, force_terminal=True, no_color=not screen.colour, highlight=False, soft_wrap=False
        )
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def draw(
        self,
        caption: str,
        columns: Sequence[Column],
        rows: Sequence[Any],
        messages: Sequence[str],
        *,
        hideable: Sequence[str] = (),
    ) -> None:
        """Draw the rows that the window has lines for, and count the others; then messages.

        The caption names the columns that the window has no place for: the first ones of `hideable`, by header.
        """
        capacity = max(1, self._console.height - _OTHER_LINES - len(messages))
        shown = rows[:capacity]
        hidden = len(rows) - capacity
        fitting = fit_columns(columns, shown, width=self._console.width, hideable=hideable)
        missing = [column.header for column in columns if column not in fitting]
        title = f"{caption} (too narrow for {', '.join(missing)})" if missing else caption
        lines: list[RenderableType] = [
            Text(escape_controls(title), style="bold", no_wrap=True, overflow="ellipsis"),
            build_table(fitting, shown),
        ]
        if hidden > 0:
            lines.append(Text(f"… and {hidden:,} more rows", style="dim"))
        lines += [Text(escape_controls(message), style="yellow") for message in messages]
        self._live.update(Group(*lines), refresh=True)
