"""A progress bar on a terminal's stderr, drawn by rich, for work that takes longer than a blink."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final, TextIO

from kafka_groups.rendering.screen import Screen

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SILENT_S: Final = 0.7


class ProgressBar:
    """Told of progress as often as one likes; it draws nothing in the first moments, and nothing in a pipe."""

    def __init__(self, screen: Screen, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._clock = clock
        self._started = clock()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._opened = ExitStack()

    def begin(self, what: str) -> None:
        """Draw at once, for something that takes seconds for sure, of which nobody knows how many."""
        if self._screen.err_is_terminal and what not in self._tasks:
            bar = self._bar or self._start()
            self._tasks[what] = bar.add_task(what, total=None)

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` items of this kind are settled."""
        if not self._screen.err_is_terminal or self._clock() - self._started < _SILENT_S:
            return
        bar = self._bar or self._start()
        if what not in self._tasks:
            self._tasks[what] = bar.add_task(what, total=total)
        bar.update(self._tasks[what], completed=done, total=total)

    def stop(self) -> None:
        """Wipe the bar away: results or errors come next."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks = {}
            self._opened.close()

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(file=self._stream(), no_color=not self._screen.colour),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._bar.start()
        return self._bar

    def _stream(self) -> TextIO:
        """stderr, on a descriptor of the bar's own: while Spark starts, the usual one is its log."""
        err = self._screen.err
        try:
            own = os.fdopen(os.dup(err.fileno()), "w", encoding=err.encoding, errors=err.errors)
        except OSError:
            return err
        return self._opened.enter_context(closing(own))
