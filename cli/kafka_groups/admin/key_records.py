"""What the driver knows of each key: its state, its broker, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafka_groups.admin.key_states import OUTCOMES, TRANSITIONS, Event, State

K = TypeVar("K", bound=Hashable)


class Setbacks(NamedTuple):
    """What went wrong with a key until now. Most keys have no setbacks."""

    retries: int = 0
    lost_connections: int = 0
    # Why it was retried last, and at which broker if no lookup was to follow.
    reason: str | None = None
    broker: int | None = None
    # Why its request was given up before it was sent.
    withdrawn_because: str | None = None
    # Its response is late, so that it was requested again or others go on without it.
    is_late: bool = False
    # A change of it may have been made although the response was an error.
    maybe_made: bool = False


_NO_SETBACKS: Final = Setbacks()


class KeyRecord:
    """What is known of a key. Keys to which the same happened share a record, which is never changed.

    `broker` is the one that handles the key, as far as it is known. `requested_at` is where the key was requested last,
    None if it never was: a lookup is a request at any broker. (A dataclass would take a millisecond of each start.)
    """

    __slots__ = ("broker", "requested_at", "setbacks", "state")

    def __init__(
        self,
        state: State = State.LOOKUP_PENDING,
        broker: int | None = None,
        requested_at: int | None = None,
        setbacks: Setbacks = _NO_SETBACKS,
    ) -> None:
        self.state: Final = state
        self.broker: Final = broker
        self.requested_at: Final = requested_at
        self.setbacks: Final = setbacks

    def is_unfinished(self) -> bool:
        """Return whether the key has no outcome yet."""
        return self.state not in OUTCOMES

    def is_in_flight(self, broker: int | None) -> bool:
        """Return whether the key is in flight at a broker, or (None) in a lookup."""
        if broker is None:
            return self.state is State.LOOKUP_IN_FLIGHT
        return self.state is State.REQUEST_IN_FLIGHT and self.broker == broker

    def is_late(self) -> bool:
        """Return whether the key has no outcome yet because its response is late."""
        return self.setbacks.is_late and self.is_unfinished()

    def is_in_time(self) -> bool:
        """Return whether the key has an outcome, or its response is not late."""
        return not self.is_late()

    def after(self, event: Event, broker: int | None = None) -> KeyRecord:
        """Return the record after an event, which may show the broker."""
        return _after(self, event, broker)

    def after_send(self, broker: int) -> KeyRecord:
        """Return the record after the time of its lookup or request at a broker came."""
        record = _after(self, Event.SEND, self.broker, broker)
        return record if self.setbacks.withdrawn_because is None else record.with_setbacks(withdrawn_because=None)

    def after_withdrawal(self, reason: str) -> KeyRecord:
        """Return the record after its lookup or request was given up."""
        return self.after(Event.WITHDRAW).with_setbacks(withdrawn_because=reason)

    def after_retry(self, event: Event, reason: str, broker: int | None) -> KeyRecord:
        """Return the record after an event that causes a retry: at a broker, or (None) after a lookup."""
        setbacks = self.setbacks
        record = self.after(event)
        last = setbacks.broker if broker is None else broker
        return record.with_setbacks(retries=setbacks.retries + 1, reason=reason, broker=last)

    def has_lost(self, connections: int) -> bool:
        """Return whether the key has lost this number of connections."""
        return self.setbacks.lost_connections >= connections

    def with_lost_connections(self, weight: int) -> KeyRecord:
        """Return the record with more lost connections."""
        return self.with_setbacks(lost_connections=self.setbacks.lost_connections + weight)

    def with_setbacks(self, **changes: Any) -> KeyRecord:
        """Return the record with changed setbacks, and in the same state."""
        return KeyRecord(self.state, self.broker, self.requested_at, self.setbacks._replace(**changes))


class ImpossibleTransitionError(Exception):
    """An event that cannot happen to a key in its state: a mistake in this package."""


def _next_state(state: State, event: Event) -> State:
    if (state, event) not in TRANSITIONS:
        msg = f"{event.name} cannot happen to a key in {state.name}"
        raise ImpossibleTransitionError(msg)
    return TRANSITIONS[state, event]


# Records that are equal are one, so that keys share them even if they were requested one by one.
@lru_cache(maxsize=1_024)
def _after(record: KeyRecord, event: Event, broker: int | None, requested_at: int | None = None) -> KeyRecord:
    return KeyRecord(
        _next_state(record.state, event),
        record.broker if broker is None else broker,
        record.requested_at if requested_at is None else requested_at,
        record.setbacks,
    )


_FIRST: Final = KeyRecord()


class KeyRecords(Generic[K]):
    """The record of each key. A request may have 65,000 keys, so keys that share a record change it together."""

    def __init__(self, keys: Iterable[K]) -> None:
        self._records = dict.fromkeys(keys, _FIRST)
        # The number of keys without an outcome whose response is late.
        self.late_count = 0

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[K]:
        return iter(self._records)

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def __getitem__(self, key: K) -> KeyRecord:
        return self._records[key]

    def __setitem__(self, key: K, record: KeyRecord) -> None:
        self._records[key] = record

    def locations(self) -> dict[K, int]:
        """Return the broker of each key, as far as it is known."""
        return {key: record.broker for key, record in self._records.items() if record.broker is not None}

    def move(self, keys: Iterable[K], event: Event, broker: int | None = None) -> None:
        """Move keys to the states that follow an event, which may show their broker."""
        self.change(keys, lambda record: record.after(event, broker))

    def change(self, keys: Iterable[K], change: Callable[[KeyRecord], KeyRecord]) -> Collection[KeyRecord]:
        """Replace the records of keys by changed ones, and return those, each once."""
        records = self._records
        changed: dict[KeyRecord, KeyRecord] = {}
        before = None
        after = _FIRST
        for key in keys:
            record = records[key]
            if record is not before:
                before = record
                if record not in changed:
                    changed[record] = change(record)
                after = changed[record]
            records[key] = after
        return changed.values()

    def send(self, keys: Collection[K], broker: int) -> Collection[K]:
        """Move keys into flight at a broker, and return those that have no outcome yet."""
        sent = self.change(keys, lambda record: record.after_send(broker))
        return keys if all(map(KeyRecord.is_unfinished, sent)) else self.select(keys, KeyRecord.is_unfinished)

    def finish(self, keys: Collection[K], event: Event) -> None:
        """Move keys to the outcome that an event leads to."""
        self.late_count -= len(keys) - self.count_in_time(keys)
        self.move(keys, event)

    def mark_late(self, keys: Collection[K]) -> int:
        """Record that the response for keys is late; return the number of those in lookups that were not late yet."""
        in_time = self.select(keys, lambda record: record.is_unfinished() and not record.is_late())
        self.late_count += len(in_time)
        self.change(in_time, lambda record: record.with_setbacks(is_late=True))
        return len(self.select(in_time, lambda record: record.is_in_flight(None)))

    def count_in_time(self, keys: Collection[K]) -> int:
        """Return the number of keys whose response is not late, or that have an outcome."""
        # In nearly all calls no response is late.
        return len(self.select(keys, KeyRecord.is_in_time)) if self.late_count else len(keys)

    def retry(self, reasons: Mapping[K, str], event: Event, broker: int | None) -> int:
        """Move keys to their retry, at a broker or (None) after a lookup; return the highest number of retries."""
        retried: dict[tuple[KeyRecord, str], KeyRecord] = {}
        for key, reason in reasons.items():
            case = self._records[key], reason
            if case not in retried:
                retried[case] = case[0].after_retry(event, reason, broker)
            self._records[key] = retried[case]
        return max(record.setbacks.retries for record in retried.values())

    def select(self, keys: Collection[K], test: Callable[[KeyRecord], bool]) -> Collection[K]:
        """Return the keys whose records pass a test, in the same order."""
        records = self._records
        shared = {*map(records.__getitem__, keys)}
        selected = {record for record in shared if test(record)}
        return keys if len(selected) == len(shared) else [key for key in keys if records[key] in selected]
