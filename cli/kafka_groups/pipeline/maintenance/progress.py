"""How much of what is planned is settled, as a bar shows it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]


class Steps:
    """Counts what is settled; what is planned comes in parts."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total = progress, what, total
        self._done = self._complete = 0
        self.still()

    def still(self) -> None:
        """Report that work goes on: a bar wants to be drawn."""
        if self._total:
            self._progress(self._what, self._done, self._total)

    def __call__(self, count: int = 1) -> None:
        """Count so many more."""
        self._done += count
        self.still()

    def complete(self, part: int) -> None:
        """Complete the next part, which has so many."""
        self._done = self._complete = self._complete + part
        self.still()
