"""A progress bar on stderr, drawn by rich, if stderr is a terminal and the work takes longer than a moment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final, TextIO

from kafka_groups.rendering.screen import Screen

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_DELAY_S: Final = 0.7


class ProgressBar:
    """A progress bar that may be updated at any rate. It draws nothing in the first moments, and nothing in a pipe."""

    def __init__(self, screen: Screen, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._clock = clock
        self._started = clock()
        self._is_disabled = False
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._opened = ExitStack()

    def begin(self, what: str) -> None:
        """Draw at once, for work that certainly takes seconds, but an unknown number of them."""
        if self._screen.err_is_terminal and not self._is_disabled and what not in self._tasks:
            bar = self._bar or self._start()
            self._tasks[what] = bar.add_task(what, total=None)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` items of this kind are done."""
        if self._is_disabled or not self._screen.err_is_terminal or self._clock() - self._started < _DELAY_S:
            return
        bar = self._bar or self._start()
        if what not in self._tasks:
            self._tasks[what] = bar.add_task(what, total=total)
        bar.update(self._tasks[what], completed=done, total=total)

    def stop(self) -> None:
        """Remove the bar, because output comes next."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks = {}
            self._opened.close()

    def disable(self) -> None:
        """Remove the bar, and draw none any more: the output itself shows that the work goes on."""
        self.stop()
        self._is_disabled = True

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
        """Return stderr on a descriptor of its own: while Spark starts, the usual one leads to its log."""
        err = self._screen.err
        try:
            own = os.fdopen(os.dup(err.fileno()), "w", encoding=err.encoding, errors=err.errors)
        except OSError:
            return err
        return self._opened.enter_context(closing(own))
