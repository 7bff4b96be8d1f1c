"""Look up, ask, sort: which broker is asked what, and when again. Pure: no sockets, no clock of its own.

A key is either to be looked up (which broker?), or to be asked at its broker, or settled. The owner
takes what is `ready`, asks it however it likes, and tells the outcome with `on_response` or `lost`; keys
that an outcome calls moved go back to look-up, and keys that it asks to try again stay with their
broker. Every second try of a key waits: 100 ms, doubling to 1 s, give or take a fifth.
(Kafka's AdminApiDriver is the model; it waits after successes too, and never before look-ups.)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from kafka_groups.errors import (
    AdminError,
    BrokerTimeoutError,
    ConnectionFailedError,
    MissingFromResponseError,
    TimeoutExceededError,
)
from kafka_groups.model import Broker, Failure, Results

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 1.0
_JITTER: Final = 0.2
# A coordinator that takes no connection is tried this often (some 3 s, look-ups between) before its keys fail.
_MOST_LOST: Final = 6


@dataclass(kw_only=True)
class ApiResult(Generic[K, A]):
    """What one response says of each key it was asked about: done, failed for good, moved away, or ask again.

    The text beside a moved or repeated key says why; it is told if the deadline passes. `seen` are the
    brokers that a look-up named with their addresses.
    """

    completed: dict[K, A] = field(default_factory=dict)
    failed: dict[K, AdminError] = field(default_factory=dict)
    unmapped: dict[K, str] = field(default_factory=dict)
    retriable: dict[K, str] = field(default_factory=dict)
    brokers: list[Broker] = field(default_factory=list)


class ApiHandler(Protocol[K, A]):
    """One kind of handler: how keys become request bodies, and how a response is read."""

    @property
    def api(self) -> Any:
        """The messages.Api that is spoken."""

    def build_requests(self, keys: Sequence[K], version: int) -> list[tuple[Sequence[K], Mapping[str, Any]]]:
        """Split keys into request bodies for this version; UnsupportedVersionError if it cannot ask that."""

    def handle_response(self, keys: Sequence[K], version: int, payload: bytes) -> ApiResult[K, A]:
        """Sort the keys by this response; SchemaError if the bytes are not one."""

    def to_failure(self, key: K, error: AdminError, broker: int | None) -> Failure:
        """The failure of one key, naming what it stands for."""


@dataclass(frozen=True, kw_only=True)
class RequestSpec(Generic[K]):
    """Keys to be asked about now: at a broker, or (broker None) to be looked up."""

    broker: int | None
    keys: tuple[K, ...]


@dataclass(frozen=True, kw_only=True)
class _Batch(Generic[K]):
    not_before: float
    broker: int | None
    keys: tuple[K, ...]


class ApiDriver(Generic[K, A]):
    """The way of a set of keys to their answers.

    `known` are brokers known beforehand: their keys skip the look-up until they turn out to have
    moved. Without a `lookup` every key must be known, and moved keys stay with their broker.
    """

    def __init__(
        self,
        keys: Iterable[K],
        *,
        handler: ApiHandler[K, A],
        lookup: ApiHandler[K, int] | None,
        known: Mapping[K, int],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.handler = handler
        self.lookup = lookup
        self.completed: dict[K, A] = {}
        self.failed: dict[K, Failure] = {}
        self.locations: dict[K, int] = {}
        self._keys = tuple(dict.fromkeys(keys))
        self._jitter = jitter
        self._tries: dict[K, int] = {}
        self._lost: dict[K, int] = {}
        self._why: dict[K, str] = {}
        self._broker: dict[K, int] = {}
        self._waiting: list[_Batch[K]] = []
        self._start(known)

    def is_done(self) -> bool:
        """Whether every key is settled."""
        return len(self.completed) + len(self.failed) == len(self._keys)

    def settled(self) -> int:
        """How many keys are settled."""
        return len(self.completed) + len(self.failed)

    def total(self) -> int:
        """How many keys there are."""
        return len(self._keys)

    def ready(self, now: float) -> list[RequestSpec[K]]:
        """What is to be asked now, one entry a broker and one for all look-ups; it is out until told otherwise."""
        due = [batch for batch in self._waiting if batch.not_before <= now]
        self._waiting = [batch for batch in self._waiting if batch.not_before > now]
        merged: dict[int | None, list[K]] = {}
        for batch in due:
            merged.setdefault(batch.broker, []).extend(batch.keys)
        return [RequestSpec(broker=broker, keys=tuple(keys)) for broker, keys in merged.items()]

    def wakes_at(self) -> float | None:
        """When something becomes ready that is not yet."""
        return min((batch.not_before for batch in self._waiting), default=None)

    def on_response(self, ask: RequestSpec[K], outcome: ApiResult[K, Any], now: float) -> None:
        """Take an outcome. A key that it does not name was missing from the answer, and fails alone.

        Keys that were not asked about, or are settled since (the answer came late), are passed over.
        """
        left = {key for key in ask.keys if key not in self.completed and key not in self.failed}
        failed, done = _take_open(outcome.failed, left), _take_open(outcome.completed, left)
        moved, again = _take_open(outcome.unmapped, left), _take_open(outcome.retriable, left)
        if ask.broker is None:
            self._ask_at(done, now)
        else:
            self.completed.update(done)
        for key, error in failed.items():
            self._fail(key, error, ask.broker)
        for key in (key for key in ask.keys if key in left):
            self._fail(key, MissingFromResponseError("the broker's answer does not mention it"), ask.broker)
        self._repeat(moved, now, broker=None if self.lookup else ask.broker)
        self._repeat(again, now, broker=ask.broker)

    def on_failure(self, ask: RequestSpec[K], keys: Collection[K], error: AdminError, now: float) -> None:
        """Take an error that came instead of a response. A lost connection sends its keys back to look-up."""
        open_keys = [key for key in keys if key not in self.completed and key not in self.failed]
        if not isinstance(error, ConnectionFailedError):
            for key in open_keys:
                self._fail(key, error, ask.broker)
            return
        retriable: dict[K, str] = {}
        # Silence has cost so much time already that it gets one second chance.
        weight = _MOST_LOST // 2 if isinstance(error, BrokerTimeoutError) else 1
        for key in open_keys:
            self._lost[key] = self._lost.get(key, 0) + weight
            if self._lost[key] >= _MOST_LOST:
                self._fail(key, error, ask.broker)
            else:
                retriable[key] = str(error)
        self._repeat(retriable, now, broker=None if self.lookup else ask.broker)

    def expire(self, waited_s: float) -> None:
        """The deadline has passed: every open key fails, with the last thing that a broker said of it."""
        for key in self._keys:
            if key not in self.completed and key not in self.failed:
                last = f"; last: {self._why[key]}" if key in self._why else ""
                told = f"no answer within {round(waited_s, 1):g} s" if waited_s > 0 else "no time was left to ask"
                error = TimeoutExceededError(told + last)
                self._fail(key, error, self._broker.get(key))

    def results(self) -> Results[K, A]:
        """What is settled so far."""
        return Results(succeeded=self.completed, failed=self.failed)

    def _start(self, known: Mapping[K, int]) -> None:
        self._ask_at({key: known[key] for key in self._keys if key in known}, now=0.0)
        unknown = tuple(key for key in self._keys if key not in known)
        if unknown:
            self._waiting.append(_Batch(not_before=0.0, broker=None, keys=unknown))

    def _ask_at(self, brokers: Mapping[K, int], now: float) -> None:
        grouped: dict[int, list[K]] = {}
        for key, broker in brokers.items():
            grouped.setdefault(broker, []).append(key)
        self.locations.update(brokers)
        self._waiting += [_Batch(not_before=now, broker=broker, keys=tuple(keys)) for broker, keys in grouped.items()]

    def _repeat(self, keys: Mapping[K, str], now: float, *, broker: int | None) -> None:
        if not keys:
            return
        self._why.update(keys)
        for key in keys:
            self._tries[key] = self._tries.get(key, 0) + 1
            if broker is not None:
                self._broker[key] = broker
        tries = max(self._tries[key] for key in keys)
        wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** min(tries - 1, 10))
        wait *= 1 - _JITTER + 2 * _JITTER * self._jitter()
        self._waiting.append(_Batch(not_before=now + wait, broker=broker, keys=tuple(keys)))

    def _fail(self, key: K, error: AdminError, broker: int | None) -> None:
        # A negative id stands for any broker, which is no broker to blame.
        self.failed[key] = self.handler.to_failure(key, error, broker if broker is None or broker >= 0 else None)


def _take_open(told: Mapping[K, A], left: set[K]) -> dict[K, A]:
    """What was told of keys that are still open; they are open no longer."""
    claimed = {key: value for key, value in told.items() if key in left}
    left.difference_update(claimed)
    return claimed
