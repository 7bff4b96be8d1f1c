"""The time that a step may take which waits for something outside this process: a command, an endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event


@dataclass(frozen=True, slots=True)
class Limit:
    """A point in time, `until`, in seconds of `clock`; the step also ends early when it is cancelled.

    A step that waits asks `is_over` several times a second.
    """

    until: float
    clock: Callable[[], float] = time.monotonic
    cancelled: Event = field(default_factory=Event)

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Limit:
        """Return the limit that is this number of seconds from now."""
        return cls(clock() + seconds, clock)

    def remaining_s(self) -> float:
        """Return the seconds that are left; 0 if it has passed, or if the step was cancelled."""
        return 0.0 if self.cancelled.is_set() else max(0.0, self.until - self.clock())

    def is_over(self) -> bool:
        """Return whether the step has to end now."""
        return self.remaining_s() <= 0.0

    def cancel(self) -> None:
        """End the step early; any thread may call it."""
        self.cancelled.set()
