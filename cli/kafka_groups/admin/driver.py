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
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafka_groups.admin.api_handler import (
    ApiHandler,
    ApiResult,
    RequestSpec,
    as_unknown,
    is_request_lost,
    take_outcomes,
    timeout_error,
)
from kafka_groups.errors import AdminError, BrokerTimeoutError, MissingFromResponseError, OutcomeUnknownError
from kafka_groups.model import Failure, Results

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MIN_BACKOFF_S: Final = 0.1
_MAX_BACKOFF_S: Final = 1.0
_JITTER: Final = 0.2
# Retries of a key whose coordinator accepts no connection (some 3 s, with lookups between them).
_MAX_LOST_CONNECTIONS: Final = 6
# Fewer keys than this are not worth another connection.
MIN_KEYS_PER_CONNECTION: Final = 8


class _Batch(NamedTuple, Generic[K]):
    not_before: float
    broker: int | None
    keys: tuple[K, ...]


class ApiDriver(Generic[K, V]):
    """The progress of a set of keys to their results.

    `known` maps keys to brokers: they skip the lookup until a broker returns that it no longer handles
    them. Without a `lookup` every key must be known, and unmapped keys stay with their broker. With `gather` the keys
    that were looked up wait for the other lookups in flight, so that a broker gets one request for all. With several
    `connections` the keys of a broker are spread over them; none but the first is used after one of them was lost.
    """

    def __init__(
        self,
        keys: Iterable[K],
        *,
        handler: ApiHandler[K, V],
        lookup: ApiHandler[K, int] | None,
        known: Mapping[K, int],
        gather: bool = False,
        connections: int = 1,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.handler = handler
        self.lookup = lookup
        self.completed: dict[K, V] = {}
        self.failed: dict[K, Failure] = {}
        self.locations: dict[K, int] = {}
        self.keys = tuple(dict.fromkeys(keys))
        self._gather = gather
        self._connections = connections
        self._jitter = jitter
        self._retries: dict[K, int] = {}
        self._lost_connections: dict[K, int] = {}
        self._reasons: dict[K, str] = {}
        self._last_broker: dict[K, int] = {}
        self._requested_at: dict[K, int | None] = {}
        self._unsent: dict[K, str] = {}
        self._maybe_made: set[K] = set()
        self._in_lookup: set[K] = set()
        # Keys whose response is late, so that they were requested again or others go on without them.
        self._late: set[K] = set()
        self._has_repeats = False
        self._found: dict[K, int] = {}
        self._pending: list[_Batch[K]] = []
        self._start(known)

    def is_complete(self) -> bool:
        """Return whether every key is completed or failed."""
        return self.finished_count() == len(self.keys)

    def finished_count(self) -> int:
        """Return the number of keys that are completed or failed."""
        return len(self.completed) + len(self.failed)

    def key_count(self) -> int:
        """Return the number of keys."""
        return len(self.keys)

    def is_settled(self) -> bool:
        """Return whether every key is completed, failed, or late."""
        return self.finished_count() + len(self._late) >= len(self.keys)

    def is_repeatable(self, spec: RequestSpec[K]) -> bool:
        """Return whether a request may be sent again before it has a response: whether it only reads."""
        return spec.broker is None or self.handler.idempotent

    def awaited(self, spec: RequestSpec[K]) -> tuple[K, ...]:
        """Return the keys of a request that are in flight: not finished, not pending, and not at another broker."""
        if spec.broker is None:
            return tuple(key for key in spec.keys if key in self._in_lookup)
        elsewhere = self._pending_keys() | self._in_lookup
        here = (key for key in self._unfinished(spec.keys) if self._requested_at.get(key) == spec.broker)
        return tuple(key for key in here if key not in elsewhere)

    def was_retried(self, spec: RequestSpec[K]) -> bool:
        """Return whether a key of the request was requested before, with a response or an error."""
        return any(key in self._retries for key in spec.keys)

    def mark_late(self, keys: Collection[K], now: float) -> None:
        """Record that a broker is late with the response for keys: no others wait for them, and repeats may follow."""
        self._has_repeats = True
        self._late.update(keys)
        self._end_lookup((), {}, now)

    def ready(self, now: float) -> list[RequestSpec[K]]:
        """Return the requests to send now: one a connection, and one for all lookups. They are in flight afterwards."""
        due: dict[int | None, list[K]] = {}
        for batch in (batch for batch in self._pending if batch.not_before <= now):
            due.setdefault(batch.broker, []).extend(batch.keys)
        self._pending = [batch for batch in self._pending if batch.not_before > now]
        if self._has_repeats:
            # A repeat may have completed a key that waited for its retry.
            due = {broker: keys for broker, each in due.items() if (keys := self._unfinished(each))}
        for broker, keys in due.items():
            for key in keys if self._unsent else ():
                self._unsent.pop(key, None)
            self._in_lookup.update(keys if broker is None else ())
            # Where each key waits for a response; None is a lookup.
            self._requested_at.update(dict.fromkeys(keys, broker))
        return [spec for broker, keys in due.items() for spec in self._spread(broker, keys)]

    def _spread(self, broker: int | None, keys: Sequence[K]) -> list[RequestSpec[K]]:
        """Return the requests of a broker, one for each connection to it."""
        is_single = broker is None or bool(self._lost_connections)
        count = 1 if is_single else max(1, min(self._connections, len(keys) // MIN_KEYS_PER_CONNECTION))
        return [RequestSpec(broker, tuple(keys[at::count]), connection=at) for at in range(count)]

    def wakes_at(self) -> float | None:
        """Return the time at which the next request becomes ready; None if none is pending."""
        return min((batch.not_before for batch in self._pending), default=None)

    def on_response(self, spec: RequestSpec[K], result: ApiResult[K, Any], now: float) -> None:
        """Record the outcome of a response. A key of the request that the outcome lacks fails alone.

        Keys that were not requested, or that are done already (a late response), are ignored. So is all but a result
        for keys that another response has sent elsewhere meanwhile.
        """
        remaining = {*self._unfinished(spec.keys)}
        if self._has_repeats:
            elsewhere = remaining.difference(self.awaited(spec))
            remaining -= elsewhere
            if spec.broker is not None:
                self._complete(take_outcomes(result.completed, elsewhere))
        failed = take_outcomes(result.failed, remaining)
        completed = take_outcomes(result.completed, remaining)
        unmapped = take_outcomes(result.unmapped, remaining)
        retriable = take_outcomes(result.retriable, remaining)
        if spec.broker is None:
            self._end_lookup(spec.keys, completed, now)
        else:
            self._complete(completed)
        for key, error in failed.items():
            self._fail(key, error, spec.broker)
        if self._is_change(spec.broker):
            self._maybe_made.update(result.maybe_made)
        continued = [key for key in result.continued if key in remaining]
        remaining.difference_update(continued)
        if spec.broker is not None:
            self._request_at(dict.fromkeys(continued, spec.broker), now)
        missing = MissingFromResponseError("it is missing from the broker's response")
        lost = OutcomeUnknownError.because(missing) if self._is_change(spec.broker) else missing
        for key in (key for key in spec.keys if key in remaining):
            self._fail(key, lost, spec.broker)
        self._retry(unmapped, now, broker=None if self.lookup else spec.broker)
        self._retry(retriable, now, broker=spec.broker)

    def on_failure(
        self, spec: RequestSpec[K], keys: Collection[K], error: AdminError, now: float, *, was_sent: bool = False
    ) -> None:
        """Record an error in place of a response. After a lost connection the keys go back to the lookup.

        A request for any broker goes to the next one. A request that is not idempotent is not sent again if it
        `was_sent`: what became of its keys is unknown.
        """
        remaining = self._unfinished(self.awaited(spec._replace(keys=tuple(keys))) if self._has_repeats else keys)
        if was_sent and self._is_change(spec.broker):
            for key in remaining:
                self._fail(key, OutcomeUnknownError.because(error), spec.broker)
            return
        if spec.broker is None:
            self._end_lookup(keys, {}, now)
        for_any_broker = spec.broker is None or spec.broker < 0
        if not is_request_lost(error, for_any_broker=for_any_broker, has_lookup=self.lookup is not None):
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

    def on_unsent(self, spec: RequestSpec[K], reason: str, now: float) -> None:
        """Record that a request was given up before it was sent, and why: its keys are not in flight any more."""
        keys = self._unfinished(spec.keys)
        self._unsent.update(dict.fromkeys(keys, reason))
        self._pending.append(_Batch(now, spec.broker, tuple(keys)))

    def expire(self, waited_s: float, reason_for_delay: Callable[[int], str | None] = lambda _broker: None) -> None:
        """Fail every remaining key with a timeout, and with the reasons of the broker's delay and of the last retry."""
        pending = self._pending_keys()
        for key in self._unfinished(self.keys):
            broker = self._requested_at.get(key)
            # A lookup goes to any broker, which has the id -1.
            at = (-1 if broker is None else broker) if key in self._requested_at else None
            reason = self._unsent.get(key) or (reason_for_delay(at) if at is not None else None)
            last = f"last: {self._reasons[key]}" if key in self._reasons else None
            error = timeout_error(waited_s, is_unsent=key in self._unsent, reasons=(reason, last))
            # The response may still be on its way.
            if key not in pending and self._is_change(broker):
                error = OutcomeUnknownError.because(error)
            self._fail(key, error, self._last_broker.get(key, broker))

    def results(self) -> Results[K, V]:
        """Return the keys that are done so far, in the order of the keys rather than of the responses."""
        succeeded = {key: self.completed[key] for key in self.keys if key in self.completed}
        return Results(succeeded=succeeded, failed=self.failed)

    def _is_change(self, broker: int | None) -> bool:
        """Return whether a request to this broker is not idempotent. Lookups are, to whichever broker they go."""
        return not self.handler.idempotent and broker is not None

    def _pending_keys(self) -> set[K]:
        return {key for batch in self._pending for key in batch.keys}

    def _unfinished(self, keys: Iterable[K]) -> list[K]:
        return [key for key in keys if key not in self.completed and key not in self.failed]

    def _complete(self, results: Mapping[K, V]) -> None:
        self.completed.update(results)
        self._late.difference_update(results)

    def _start(self, known: Mapping[K, int]) -> None:
        self._request_at({key: known[key] for key in self.keys if key in known}, now=0.0)
        unknown = tuple(key for key in self.keys if key not in known)
        if unknown:
            self._pending.append(_Batch(0.0, None, unknown))

    def _end_lookup(self, keys: Iterable[K], found: Mapping[K, int], now: float) -> None:
        self._in_lookup.difference_update(keys)
        self._found.update(found)
        if not (self._gather and self._in_lookup - self._late):
            found, self._found = self._found, {}
            self._request_at(found, now)

    def _request_at(self, brokers: Mapping[K, int], now: float) -> None:
        by_broker: dict[int, list[K]] = {}
        for key, broker in brokers.items():
            by_broker.setdefault(broker, []).append(key)
        self.locations.update(brokers)
        self._pending += [_Batch(now, broker, tuple(keys)) for broker, keys in by_broker.items()]

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
        self._pending.append(_Batch(now + backoff, broker, tuple(reasons)))

    def _fail(self, key: K, error: AdminError, broker: int | None) -> None:
        # A negative id stands for any broker, so the failure is not of a particular one.
        failure = self.handler.to_failure(key, error, broker if broker is None or broker >= 0 else None)
        # Once an outcome was open, no later error shows that the change was not made.
        self.failed[key] = as_unknown(failure) if key in self._maybe_made else failure
        self._late.discard(key)
