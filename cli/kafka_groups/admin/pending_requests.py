"""The requests of a driver: what one is, and those that are not sent yet, because their backoff has not passed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class RequestSpec(NamedTuple, Generic[K]):
    """Keys to request now at a broker, on one of the connections to it, or (broker None) to look up.

    A repeat is for keys whose first request has no response yet; the first response of both counts.
    """

    broker: int | None
    keys: tuple[K, ...]
    connection: int = 0
    is_repeat: bool = False


class _Batch(NamedTuple, Generic[K]):
    not_before: float
    broker: int | None
    keys: tuple[K, ...]


class PendingRequests(Generic[K]):
    """Keys by the broker that they are requested at (None: they are looked up), and by time."""

    def __init__(self) -> None:
        self._batches: list[_Batch[K]] = []

    def add(self, broker: int | None, keys: Iterable[K], not_before: float) -> None:
        """Add a request of these keys."""
        self._batches.append(_Batch(not_before=not_before, broker=broker, keys=tuple(keys)))

    def take_due(self, now: float) -> dict[int | None, list[K]]:
        """Remove the requests that are due, and return the keys of each broker."""
        due: dict[int | None, list[K]] = {}
        for batch in self._batches:
            if batch.not_before <= now:
                due.setdefault(batch.broker, []).extend(batch.keys)
        self._batches = [batch for batch in self._batches if batch.not_before > now]
        return due

    def next_time(self) -> float | None:
        """Return the time at which the next request is due; None without any."""
        return min((batch.not_before for batch in self._batches), default=None)

    def keys(self) -> set[K]:
        """Return the keys of all requests."""
        return {key for batch in self._batches for key in batch.keys}
