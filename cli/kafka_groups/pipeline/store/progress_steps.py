"""A counter of the finished items of a step, which reports their number."""

from __future__ import annotations

from kafka_groups.progress import Progress


class StepCounter:
    """The number of finished items of one step, which has `total` items.

    It reports 0 at once, and the new number whenever `add` is called. A step without items reports nothing.
    """

    def __init__(self, progress: Progress, step: str, total: int) -> None:
        """Report to `progress` under the name of the step, at once that 0 of `total` items are finished."""
        self._progress = progress
        self._step = step
        self._total = total
        self._finished = 0
        if total:
            self.add(0)

    def add(self, count: int) -> None:
        """Count more items as finished, and report their number."""
        self._finished += count
        self._progress(self._step, self._finished, self._total)
