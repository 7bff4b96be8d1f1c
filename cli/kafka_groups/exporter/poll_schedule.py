"""When a cluster is polled: in the background at an interval, or for a scrape, unless the last poll is young enough.

A thread polls the cluster. Scrapes at the same time wait for the same poll.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_groups.exporter.cluster_poll import ClusterPoll

# The share of a scrape's time for requests: what a silent broker left unknown is served with the rest before its end.
_REQUESTS_SHARE: Final = 0.8
Poll = Callable[[float | None], ClusterPoll]


class Schedule(NamedTuple):
    """The seconds between two polls in the background; or, if that is None, how old a poll may be at a scrape."""

    interval_s: float | None = None
    max_age_s: float = 0.0


class ScheduledPolls:
    """The polls of a cluster. `poll` gets the seconds that it may take, None for the timeout of the settings."""

    def __init__(self, poll: Poll, schedule: Schedule, clock: Callable[[], float]) -> None:
        self._poll = poll
        self._schedule = schedule
        self._clock = clock
        self._changed = threading.Condition()
        self._last: ClusterPoll | None = None
        self._ended = 0
        self._ended_at = 0.0
        # Until when the next poll has to end, for the scrapes that wait for it; None if none waits.
        self._wanted_until: float | None = None
        # Scrapes that wait, by the number of their poll.
        self._waiting: Counter[int] = Counter()
        self._is_wanted = False
        self._is_stopped = False

    @property
    def last(self) -> ClusterPoll | None:
        """Return the last poll; None before the first one ended."""
        return self._last

    def start(self) -> None:
        """Start the thread that polls."""
        threading.Thread(target=self._run, name="polls", daemon=True).start()

    def stop(self) -> None:
        """Start no poll any more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def request(self, until: float | None) -> int:
        """Request a poll that is young enough, and return its number for `wait`. `until` is when it has to end."""
        with self._changed:
            if self._is_young():
                number = self._ended
            else:
                self._is_wanted = True
                self._wanted_until = until
                self._changed.notify_all()
                number = self._ended + 1
            self._waiting[number] += 1
            return number

    def wait(self, number: int, until: float | None) -> ClusterPoll | None:
        """Return the last poll once one with this number has ended; None if none has in time.

        The number is one that `request` has returned, once for each call.
        """
        with self._changed:
            try:
                while self._ended < number and not self._is_stopped:
                    left_s = None if until is None else until - self._clock()
                    if left_s is not None and left_s <= 0:
                        return None
                    self._changed.wait(left_s)
                return self._last if self._ended >= number else None
            finally:
                self._waiting[number] -= 1
                self._waiting += Counter()  # without numbers for which no scrape waits

    def _is_young(self) -> bool:
        if self._last is None:
            return False
        if self._schedule.interval_s is not None:
            return True
        return self._clock() - self._ended_at < self._schedule.max_age_s

    def _run(self) -> None:
        next_at = self._clock()
        while True:
            with self._changed:
                while not (self._is_wanted or self._is_stopped or self._is_due(next_at)):
                    self._changed.wait(None if self._schedule.interval_s is None else next_at - self._clock())
                if self._is_stopped:
                    return
                until = self._wanted_until
                self._is_wanted = False
                self._wanted_until = None
                self._release_samples()
            began = self._clock()
            poll = self._poll(None if until is None else _REQUESTS_SHARE * max(0.0, until - began))
            next_at = max(began + (self._schedule.interval_s or 0.0), self._clock())
            with self._changed:
                self._last = poll
                self._ended += 1
                self._ended_at = self._clock()
                self._is_wanted = False
                self._changed.notify_all()

    def _release_samples(self) -> None:
        """Forget the samples of a poll that is too old for another scrape: those of a large cluster are large."""
        is_used = any(number <= self._ended for number in self._waiting)
        if self._last is not None and self._schedule.interval_s is None and not is_used:
            self._last = self._last._replace(samples={})

    def _is_due(self, next_at: float) -> bool:
        return self._schedule.interval_s is not None and self._clock() >= next_at
