"""Progress: what a call that takes seconds reports while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# The name of a step, the number of its items that are finished, and the number of all its items.
Progress: TypeAlias = Callable[[str, int, int], None]
# The same numbers, for a caller that knows the step.
StepProgress: TypeAlias = Callable[[int, int], None]


def ignore_progress(_step: str, _finished: int, _total: int) -> None:
    """Ignore the progress of a call."""


def ignore_step_progress(_finished: int, _total: int) -> None:
    """Ignore the progress of a step."""
