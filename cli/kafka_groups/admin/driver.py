"""The progress of one Admin operation: which keys are looked up, requested, retried or done. No sockets, no clock.

The owner takes the requests that are `ready`, sends them, and reports each outcome with `on_response` or `on_failure`.
The driver decides which event an outcome is for each key, and the table in `key_states` what follows. Every retry
waits: 100 ms, doubling to 1 s, with a jitter of a fifth.
(Kafka's AdminApiDriver is the model; it also waits after successes, and never before lookups.)
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafka_groups.admin.api_handler import (
    ApiHandler,
    ApiResult,
    RequestSpec,
    as_unknown,
    is_request_lost,
    timeout_error,
)
from kafka_groups.admin.key_records import KeyRecord, KeyRecords
from kafka_groups.admin.key_states import Event, State
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
# A lookup goes to any broker, which has this id.
_BROKER_OF_LOOKUP: Final = -1


class _Batch(NamedTuple, Generic[K]):
    """Keys that are pending for a request at a broker, or (None) for a lookup."""

    not_before: float
    broker: int | None
    keys: Sequence[K]


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
        self._gather = gather
        self._connections = connections
        self._jitter = jitter
        self._records = KeyRecords(keys)
        self._pending: list[_Batch[K]] = []
        # The brokers of the keys that wait for other lookups.
        self._gathered: dict[K, int] = {}
        # The number of keys in lookups in flight whose response is not late.
        self._awaited_lookups = 0
        self._has_lost_connection = False
        self._request_at({key: known[key] for key in self._records if key in known}, Event.LOCATE, now=0.0)
        if unknown := [key for key in self._records if key not in known]:
            self._pending.append(_Batch(0.0, None, unknown))

    @property
    def keys(self) -> tuple[K, ...]:
        """The keys, each once."""
        return tuple(self._records)

    @property
    def locations(self) -> dict[K, int]:
        """The broker of each key, as far as it is known."""
        return self._records.locations()

    def is_complete(self) -> bool:
        """Return whether every key is completed or failed."""
        return self.finished_count() == self.key_count()

    def finished_count(self) -> int:
        """Return the number of keys that are completed or failed."""
        return len(self.completed) + len(self.failed)

    def key_count(self) -> int:
        """Return the number of keys."""
        return len(self._records)

    def is_settled(self) -> bool:
        """Return whether every key is completed, failed, or late."""
        return self.finished_count() + self._records.late_count == self.key_count()

    def is_repeatable(self, spec: RequestSpec[K]) -> bool:
        """Return whether a request may be sent again before it has a response: whether it only reads."""
        return not self._is_change(spec.broker)

    def awaited(self, spec: RequestSpec[K]) -> tuple[K, ...]:
        """Return the keys of a request that are in flight: not finished, not pending, and not at another broker."""
        return tuple(self._records.select(spec.keys, lambda record: record.is_in_flight(spec.broker)))

    def was_retried(self, spec: RequestSpec[K]) -> bool:
        """Return whether a key of the request was requested before, with a response or an error."""
        return any(self._records[key].setbacks.retries for key in spec.keys)

    def mark_late(self, keys: Collection[K], now: float) -> None:
        """Record that a broker is late with the response for keys: no others wait for them, and repeats may follow."""
        self._awaited_lookups -= self._records.mark_late(keys)
        self._end_gathering(now)

    def ready(self, now: float) -> list[RequestSpec[K]]:
        """Return the requests to send now: one a connection, and one for all lookups. They are in flight afterwards."""
        due: dict[int | None, list[K]] = {}
        for batch in (batch for batch in self._pending if batch.not_before <= now):
            sent = self._records.send(batch.keys, _BROKER_OF_LOOKUP if batch.broker is None else batch.broker)
            self._awaited_lookups += self._records.count_in_time(sent) if batch.broker is None else 0
            due.setdefault(batch.broker, []).extend(sent)
        self._pending = [batch for batch in self._pending if batch.not_before > now]
        return [spec for broker, keys in due.items() if keys for spec in self._spread(broker, keys)]

    def _spread(self, broker: int | None, keys: Sequence[K]) -> list[RequestSpec[K]]:
        """Return the requests of a broker, one for each connection to it."""
        is_single = broker is None or self._has_lost_connection
        count = 1 if is_single else max(1, min(self._connections, len(keys) // MIN_KEYS_PER_CONNECTION))
        return [RequestSpec(broker, tuple(keys[at::count]), connection=at) for at in range(count)]

    def wakes_at(self) -> float | None:
        """Return the time at which the next request becomes ready; None if none is pending."""
        return min((batch.not_before for batch in self._pending), default=None)

    def on_response(self, spec: RequestSpec[K], result: ApiResult[K, Any], now: float) -> None:
        """Record the outcome of a response. A key of the request that the outcome lacks fails alone.

        Keys that were not requested are ignored. The response is late for keys that are finished, or that another
        response has sent elsewhere meanwhile.
        """
        awaited = self._take_awaited(spec, {} if spec.broker is None else result.completed)
        remaining = {*awaited}
        failed = _take(result.failed, remaining)
        completed = _take(result.completed, remaining)
        unmapped = _take(result.unmapped, remaining)
        retriable = _take(result.retriable, remaining)
        if spec.broker is None:
            self._end_lookup(awaited, completed, now)
        else:
            self.completed.update(completed)
            self._records.finish(completed, Event.COMPLETE)
        for key, error in failed.items():
            self._fail(key, error, spec.broker)
        missing: AdminError = MissingFromResponseError("it is missing from the broker's response")
        if self._is_change(spec.broker):
            missing = OutcomeUnknownError.because(missing)
            opened = [key for key in result.maybe_made if key in self._records]
            self._records.change(opened, lambda record: record.with_setbacks(maybe_made=True))
        if spec.broker is not None:
            continued = [key for key in result.continued if key in remaining]
            remaining.difference_update(continued)
            self._request_at(dict.fromkeys(continued, spec.broker), Event.CONTINUE, now)
        for key in (key for key in awaited if key in remaining):
            self._fail(key, missing, spec.broker)
        self._unmap(unmapped, spec.broker, now)
        self._retry(retriable, spec.broker, Event.RETRY, now)

    def on_failure(
        self, spec: RequestSpec[K], keys: Collection[K], error: AdminError, now: float, *, was_sent: bool = False
    ) -> None:
        """Record an error in place of a response. After a lost connection the keys go back to the lookup.

        A request for any broker goes to the next one. A request that is not idempotent is not sent again if it
        `was_sent`: what became of its keys is unknown.
        """
        failed: Collection[K] = self._take_awaited(spec._replace(keys=tuple(keys)), {})
        if spec.broker is None:
            self._end_lookup(failed, {}, now)
        for_any_broker = spec.broker is None or spec.broker < 0
        if was_sent and self._is_change(spec.broker):
            error = OutcomeUnknownError.because(error)
        elif is_request_lost(error, for_any_broker=for_any_broker, has_lookup=self.lookup is not None):
            # A timeout has already used up most of the time, so there is only one retry.
            weight = _MAX_LOST_CONNECTIONS // 2 if isinstance(error, BrokerTimeoutError) and not for_any_broker else 1
            self._records.change(failed, lambda record: record.with_lost_connections(weight))
            self._has_lost_connection |= bool(failed)
            retried = self._records.select(failed, lambda record: not record.has_lost(_MAX_LOST_CONNECTIONS))
            self._unmap(dict.fromkeys(retried, str(error)), spec.broker, now)
            failed = self._records.select(failed, lambda record: record.has_lost(_MAX_LOST_CONNECTIONS))
        for key in failed:
            self._fail(key, error, spec.broker)

    def on_unsent(self, spec: RequestSpec[K], reason: str, now: float) -> None:
        """Record that a request was given up before it was sent, and why: its keys are not in flight any more."""
        keys = self._take_awaited(spec, {})
        self._awaited_lookups -= self._records.count_in_time(keys) if spec.broker is None else 0
        self._records.change(keys, lambda record: record.after_withdrawal(reason))
        self._pending.append(_Batch(now, spec.broker, keys))

    def expire(self, waited_s: float, reason_for_delay: Callable[[int], str | None] = lambda _broker: None) -> None:
        """Fail every remaining key with a timeout, and with the reasons of the broker's delay and of the last retry."""
        for key in self._records.select(self.keys, KeyRecord.is_unfinished):
            record = self._records[key]
            setbacks = record.setbacks
            at = record.requested_at
            delay = setbacks.withdrawn_because or (reason_for_delay(at) if at is not None else None)
            last = f"last: {setbacks.reason}" if setbacks.reason is not None else None
            error = timeout_error(waited_s, is_unsent=setbacks.withdrawn_because is not None, reasons=(delay, last))
            # The response may still be on its way.
            if record.state is State.REQUEST_IN_FLIGHT and not self.handler.idempotent:
                error = OutcomeUnknownError.because(error)
            self._fail(key, error, at if setbacks.broker is None else setbacks.broker, Event.EXPIRE)

    def results(self) -> Results[K, V]:
        """Return the keys that are done, in the order of the keys rather than of the responses."""
        succeeded = {key: self.completed[key] for key in self._records if key in self.completed}
        return Results(succeeded=succeeded, failed=self.failed)

    def _is_change(self, broker: int | None) -> bool:
        """Return whether a request to this broker is not idempotent. Lookups are, to whichever broker they go."""
        return not self.handler.idempotent and broker is not None

    def _take_awaited(self, spec: RequestSpec[K], results: Mapping[K, V]) -> tuple[K, ...]:
        """Return the keys of a request that are in flight. For its others the response is late: only results count."""
        awaited = self.awaited(spec)
        if len(awaited) < len(spec.keys):
            late = {*spec.keys}.difference(awaited)
            late_results = _take(results, late)
            unfinished = self._records.select(late_results, KeyRecord.is_unfinished)
            self.completed.update((key, late_results[key]) for key in unfinished)
            self._records.finish(late_results, Event.LATE_RESULT)
            self._records.move(late, Event.LATE_ERROR)
        return awaited

    def _fail(self, key: K, error: AdminError, broker: int | None, event: Event = Event.FAIL) -> None:
        # A negative id stands for any broker, so the failure is not of a particular one.
        failure = self.handler.to_failure(key, error, broker if broker is None or broker >= 0 else None)
        # Once an outcome was open, no later error shows that the change was not made.
        self.failed[key] = failure = as_unknown(failure) if self._records[key].setbacks.maybe_made else failure
        self._records.finish((key,), Event.LOSE if failure.name == OutcomeUnknownError.name else event)

    def _end_lookup(self, keys: Collection[K], located: Mapping[K, int], now: float) -> None:
        self._awaited_lookups -= self._records.count_in_time(keys)
        if self._gather and self._awaited_lookups:
            self._records.move(located, Event.GATHER)
            self._gathered.update(located)
        else:
            self._end_gathering(now)
            self._request_at(located, Event.LOCATE, now)

    def _end_gathering(self, now: float) -> None:
        """Let the gathered keys be requested, unless a lookup that they wait for is in flight."""
        if not self._awaited_lookups:
            gathered, self._gathered = self._gathered, {}
            self._request_at(gathered, Event.LOCATE, now)

    def _request_at(self, brokers: Mapping[K, int], event: Event, now: float) -> None:
        by_broker: defaultdict[int, list[K]] = defaultdict(list)
        for key, broker in brokers.items():
            by_broker[broker].append(key)
        for broker, keys in by_broker.items():
            self._records.move(keys, event, broker)
            self._pending.append(_Batch(now, broker, keys))

    def _unmap(self, reasons: Mapping[K, str], broker: int | None, now: float) -> None:
        """Retry keys with a lookup first, if there is one."""
        is_mapped = broker is not None and self.lookup is not None
        self._retry(reasons, None if is_mapped else broker, Event.UNMAP if is_mapped else Event.RETRY, now)

    def _retry(self, reasons: Mapping[K, str], broker: int | None, event: Event, now: float) -> None:
        if reasons:
            retries = self._records.retry(reasons, event, broker)
            backoff = min(_MAX_BACKOFF_S, _MIN_BACKOFF_S * 2 ** min(retries - 1, 10))
            backoff *= 1 - _JITTER + 2 * _JITTER * self._jitter()
            self._pending.append(_Batch(now + backoff, broker, tuple(reasons)))


def _take(outcomes: Mapping[K, V], remaining: set[K]) -> Mapping[K, V]:
    """Return the outcomes of keys in `remaining`, and remove these keys from it."""
    taken = outcomes if outcomes.keys() == remaining else {key: outcomes[key] for key in outcomes if key in remaining}
    remaining.difference_update(taken)
    return taken
