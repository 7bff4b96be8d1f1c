"""The state of one Admin operation: which keys are looked up, requested, retried or done. No sockets, no clock.

A key is looked up (which broker handles it?), then requested at that broker, then completed or failed. The
owner takes the requests that are `ready`, sends them, and reports each outcome with `on_response` or
`on_failure`. Unmapped keys go back to the lookup; retriable keys stay with their broker. Every retry
waits: 100 ms, doubling to 1 s, with a jitter of a fifth.
(Kafka's AdminApiDriver is the model; it also waits after successes, and never before lookups.)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kafka_groups.errors import (
    AdminError,
    BrokerTimeoutError,
    ConnectionFailedError,
    MissingFromResponseError,
    NameNotResolvedError,
    TimeoutExceededError,
    TlsFailedError,
)
from kafka_groups.model import Broker, Failure, Results

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MIN_BACKOFF_S: Final = 0.1
_MAX_BACKOFF_S: Final = 1.0
_JITTER: Final = 0.2
# Retries of a key whose coordinator accepts no connection (some 3 s, with lookups between them).
_MAX_LOST_CONNECTIONS: Final = 6


@dataclass(kw_only=True)
class ApiResult(Generic[K, V]):
    """The outcome of one response for each of its keys.

    Unmapped keys moved to another broker, retriable keys may succeed at the same broker; the text beside them is the
    reason, which is reported if the deadline passes. `brokers` are the brokers whose addresses a lookup returned.
    """

    completed: dict[K, V] = field(default_factory=dict)
    failed: dict[K, AdminError] = field(default_factory=dict)
    unmapped: dict[K, str] = field(default_factory=dict)
    retriable: dict[K, str] = field(default_factory=dict)
    brokers: list[Broker] = field(default_factory=list)


class ApiHandler(Protocol[K, V]):
    """One Admin operation: how keys become requests, and what a response means for them."""

    @property
    def api(self) -> Any:
        """The protocol.Api of the requests."""

    def build_requests(self, keys: Sequence[K], version: int) -> list[tuple[Sequence[K], Mapping[str, Any]]]:
        """Split keys into request bodies of this version, each with its keys.

        Raises UnsupportedVersionError if this version cannot express the request.
        """

    def handle_response(self, keys: Sequence[K], version: int, payload: bytes) -> ApiResult[K, V]:
        """Return what the response means for each key. Raises SchemaError if the bytes are malformed."""

    def to_failure(self, key: K, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of one key, with the group, topic, partition or broker that it stands for."""


class RequestSpec(NamedTuple, Generic[K]):
    """Keys to request now at a broker, or (broker None) to look up."""

    broker: int | None
    keys: tuple[K, ...]


class _Batch(NamedTuple, Generic[K]):
    not_before: float
    broker: int | None
    keys: tuple[K, ...]


class ApiDriver(Generic[K, V]):
    """The progress of a set of keys to their results.

    `known` maps keys to brokers: they skip the lookup until a broker returns that it no longer handles
    them. Without a `lookup` every key must be known, and unmapped keys stay with their broker.
    """

    def __init__(
        self,
        keys: Iterable[K],
        *,
        handler: ApiHandler[K, V],
        lookup: ApiHandler[K, int] | None,
        known: Mapping[K, int],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.handler = handler
        self.lookup = lookup
        self.completed: dict[K, V] = {}
        self.failed: dict[K, Failure] = {}
        self.locations: dict[K, int] = {}
        self._keys = tuple(dict.fromkeys(keys))
        self._jitter = jitter
        self._retries: dict[K, int] = {}
        self._lost_connections: dict[K, int] = {}
        self._reasons: dict[K, str] = {}
        self._last_broker: dict[K, int] = {}
        self._requested_at: dict[K, int] = {}
        self._pending: list[_Batch[K]] = []
        self._start(known)

    def is_complete(self) -> bool:
        """Return whether every key is completed or failed."""
        return self.finished_count() == len(self._keys)

    def finished_count(self) -> int:
        """Return the number of keys that are completed or failed."""
        return len(self.completed) + len(self.failed)

    def key_count(self) -> int:
        """Return the number of keys."""
        return len(self._keys)

    def ready(self, now: float) -> list[RequestSpec[K]]:
        """Return the requests to send now: one a broker, and one for all lookups. They are in flight afterwards."""
        due = [batch for batch in self._pending if batch.not_before <= now]
        self._pending = [batch for batch in self._pending if batch.not_before > now]
        merged: dict[int | None, list[K]] = {}
        for batch in due:
            merged.setdefault(batch.broker, []).extend(batch.keys)
            # Where each key waits for a response; -1 is any broker.
            self._requested_at.update(dict.fromkeys(batch.keys, -1 if batch.broker is None else batch.broker))
        return [RequestSpec(broker=broker, keys=tuple(keys)) for broker, keys in merged.items()]

    def wakes_at(self) -> float | None:
        """Return the time at which the next request becomes ready; None if none is pending."""
        return min((batch.not_before for batch in self._pending), default=None)

    def on_response(self, spec: RequestSpec[K], result: ApiResult[K, Any], now: float) -> None:
        """Record the outcome of a response. A key of the request that the outcome lacks fails alone.

        Keys that were not requested, or that are done already (a late response), are ignored.
        """
        remaining = {key for key in spec.keys if not self._is_key_finished(key)}
        failed, completed = _take(result.failed, remaining), _take(result.completed, remaining)
        unmapped, retriable = _take(result.unmapped, remaining), _take(result.retriable, remaining)
        if spec.broker is None:
            self._request_at(completed, now)
        else:
            self.completed.update(completed)
        for key, error in failed.items():
            self._fail(key, error, spec.broker)
        for key in (key for key in spec.keys if key in remaining):
            self._fail(key, MissingFromResponseError("it is missing from the broker's response"), spec.broker)
        self._retry(unmapped, now, broker=None if self.lookup else spec.broker)
        self._retry(retriable, now, broker=spec.broker)

    def on_failure(self, spec: RequestSpec[K], keys: Collection[K], error: AdminError, now: float) -> None:
        """Record an error in place of a response. After a lost connection the keys go back to the lookup.

        So do keys of a broker whose name has no address, if there is a lookup: a container that is being replaced is
        known under its new name soon. A request for any broker goes to the next one, whatever is wrong with this one.
        """
        remaining = [key for key in keys if not self._is_key_finished(key)]
        for_any_broker = spec.broker is None or spec.broker < 0
        may_retry = isinstance(error, ConnectionFailedError) or (
            (for_any_broker or self.lookup is not None) and isinstance(error, NameNotResolvedError)
        )
        if not may_retry and not (for_any_broker and isinstance(error, TlsFailedError)):
            for key in remaining:
                self._fail(key, error, spec.broker)
            return
        retriable: dict[K, str] = {}
        # A timeout has used up so much time already that there is only one retry.
        is_costly = isinstance(error, BrokerTimeoutError) and not for_any_broker
        weight = _MAX_LOST_CONNECTIONS // 2 if is_costly else 1
        for key in remaining:
            self._lost_connections[key] = self._lost_connections.get(key, 0) + weight
            if self._lost_connections[key] >= _MAX_LOST_CONNECTIONS:
                self._fail(key, error, spec.broker)
            else:
                retriable[key] = str(error)
        self._retry(retriable, now, broker=None if self.lookup else spec.broker)

    def expire(self, waited_s: float, reason_for_delay: Callable[[int], str | None] = lambda _broker: None) -> None:
        """Fail every remaining key with a timeout, and with the reason: of the broker's delay, or of the last retry."""
        for key in self._keys:
            if not self._is_key_finished(key):
                broker = self._requested_at.get(key)
                reason = reason_for_delay(broker) if broker is not None else None
                last = f"last: {self._reasons[key]}" if key in self._reasons else None
                text = f"no response within {round(waited_s, 1):g} s" if waited_s > 0 else "no time was left to send it"
                error = TimeoutExceededError("; ".join(filter(None, (text, reason or last))))
                self._fail(key, error, self._last_broker.get(key, broker))

    def results(self) -> Results[K, V]:
        """Return the keys that are done so far."""
        return Results(succeeded=self.completed, failed=self.failed)

    def _is_key_finished(self, key: K) -> bool:
        return key in self.completed or key in self.failed

    def _start(self, known: Mapping[K, int]) -> None:
        self._request_at({key: known[key] for key in self._keys if key in known}, now=0.0)
        unknown = tuple(key for key in self._keys if key not in known)
        if unknown:
            self._pending.append(_Batch(not_before=0.0, broker=None, keys=unknown))

    def _request_at(self, brokers: Mapping[K, int], now: float) -> None:
        by_broker: dict[int, list[K]] = {}
        for key, broker in brokers.items():
            by_broker.setdefault(broker, []).append(key)
        self.locations.update(brokers)
        self._pending += [_Batch(not_before=now, broker=broker, keys=tuple(keys)) for broker, keys in by_broker.items()]

    def _retry(self, reasons: Mapping[K, str], now: float, *, broker: int | None) -> None:
        if not reasons:
            return
        self._reasons.update(reasons)
        for key in reasons:
            self._retries[key] = self._retries.get(key, 0) + 1
            if broker is not None:
                self._last_broker[key] = broker
        retries = max(self._retries[key] for key in reasons)
        backoff = min(_MAX_BACKOFF_S, _MIN_BACKOFF_S * 2 ** min(retries - 1, 10))
        backoff *= 1 - _JITTER + 2 * _JITTER * self._jitter()
        self._pending.append(_Batch(not_before=now + backoff, broker=broker, keys=tuple(reasons)))

    def _fail(self, key: K, error: AdminError, broker: int | None) -> None:
        # A negative id stands for any broker, so the failure is not of a particular one.
        self.failed[key] = self.handler.to_failure(key, error, broker if broker is None or broker >= 0 else None)


def _take(outcomes: Mapping[K, V], remaining: set[K]) -> dict[K, V]:
    """Return the outcomes of keys in `remaining`, and remove these keys from it."""
    taken = {key: value for key, value in outcomes.items() if key in remaining}
    remaining.difference_update(taken)
    return taken
