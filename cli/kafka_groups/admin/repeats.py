"""Repeats of requests that a broker is late with: in halves, until only the keys that hang are left without a response.

One group that hangs keeps a broker from responding to a request of thousands, and to all that follow on the connection.
So the connection is set aside, and its requests that only read are sent again on others: the first one in halves,
because one of its keys hangs, those behind it as they are. A half without a response is halved in turn; once others
have responded, it is quartered. The late response to the first request is used, too, if it arrives. Requests that
change something are never repeated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from kafka_groups.admin.api_handler import RequestSpec
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.network.extra_connections import FIRST_EXTRA
from kafka_groups.settings import Endpoint

# A broker that is slow but healthy gets half of the time that a request has: repeats would add to its load, and most
# healthy responses take a hundredth of it. The other half is enough to find one group in 1,000.
_SHARE: Final = 0.5
_SHORTEST_FIRST_S: Final = 0.25
# The pool moves a request for any broker to another one after half of the time. It is halved only if that one is late,
# too, which is soon noticed: two brokers have not responded then.
_SHARE_OF_ANY_BROKER: Final = 0.6
SHORTEST_SHARE: Final = 0.25
# Until the first repeat has a response nobody knows whether the broker still responds, or how fast.
_SHARE_OF_REPEAT: Final = 0.125
# Once one half has a response, the other one is late after twice that time, but not sooner than this.
_SHORTEST_S: Final = 0.05
_FACTOR: Final = 2.0
# Quarters find a key in half of the time, with as many requests. A broker that may be dead gets only halves.
_HALVES: Final = 2
_QUARTERS: Final = 4
# Halvings in a row without a response: enough for some ten keys that hang, and a dead broker gets ten requests.
_MOST_FRUITLESS: Final = 4
# Repeats that wait for a response of one broker, each on its own connection; and all that a broker gets in a call.
_MOST_CONNECTIONS: Final = 8
_MOST_REPEATS: Final = 256
_MOST_LOSSES: Final = 2
# Connections that wait to the end of the call for the response of a single key.
_MOST_SINGLE: Final = 16

Driver: TypeAlias = ApiDriver[Any, Any]
Spec: TypeAlias = RequestSpec[Any]


class Connections(Protocol):
    """What repeats need of the connections of a pool."""

    def endpoint_of(self, broker: int, /) -> Endpoint | None:
        """Return the address of a broker."""

    def silent_since(self, endpoint: Endpoint, number: int) -> float | None:
        """Return since when the broker owes a response and has sent nothing; None if it cannot be late."""

    def is_free(self, endpoint: Endpoint, number: int) -> bool:
        """Return whether a connection is ready and nothing is outstanding on it."""

    def set_aside(self, endpoint: Endpoint) -> None:
        """Send no further request on the first connection to an address."""

    def close(self, endpoint: Endpoint, number: int) -> None:
        """Close an extra connection."""


class SentRequest(NamedTuple):
    """A request that was sent, to a broker or to any (-1), and when."""

    driver: Driver
    spec: Spec
    broker: int
    at: float


@dataclass(eq=False)
class _Split:
    """The parts that one request was repeated in; `took_s` is how long the last response to one of them took."""

    took_s: float | None = None
    at: float = 0.0


@dataclass(eq=False)
class _Part:
    """A part of a request, to be repeated on a connection of its own."""

    driver: Driver
    spec: Spec
    split: _Split
    endpoint: Endpoint | None = None
    at: float = 0.0
    losses: int = 0


class Repeats:
    """The requests of one call that may be repeated, and their repeats."""

    def __init__(self, connections: Connections, sent: Iterable[SentRequest] = ()) -> None:
        self._connections = connections
        self._sent: defaultdict[Endpoint, list[SentRequest]] = defaultdict(list)
        self._waiting: list[_Part] = []
        self._open: list[_Part] = []
        self._numbers = count(FIRST_EXTRA)
        self._free: defaultdict[Endpoint, list[int]] = defaultdict(list)
        self._took: dict[tuple[Driver, int | None], _Split] = {}
        self._fruitless: Counter[int | None] = Counter()
        self._repeated: Counter[int | None] = Counter()
        self._single = 0
        self._wakes_at = 0.0
        for each in sent:
            self.add(each)

    def add(self, sent: SentRequest) -> None:
        """Record a request that was sent."""
        endpoint = self._connections.endpoint_of(sent.broker)
        spec = sent.spec
        self._wakes_at = 0.0
        if spec.is_repeat:
            for part in (part for part in self._open if part.spec.connection == spec.connection):
                part.endpoint = endpoint
        elif endpoint is not None and spec.connection == 0 and sent.driver.is_repeatable(spec):
            self._sent[endpoint].append(sent)

    def remove(self, spec: Spec) -> None:
        """Record that the connection of a repeat was lost. It is tried once more, and the first request remains."""
        lost = [part for part in self._open if part.spec.connection == spec.connection]
        self._open = [part for part in self._open if part not in lost]
        for part in lost:
            part.losses += 1
            self._waiting += [part] if part.losses < _MOST_LOSSES else []

    def wakes_at(self) -> float:
        """Return the time at which to call `due` again, even if no response arrives."""
        return self._wakes_at

    def due(self, now: float, limit: float) -> list[tuple[Driver, Spec]]:
        """Return the repeats to send now; `limit` is when the call ends. Call it after each response, too."""
        if now < self._wakes_at and not self._open:
            return []
        self._wakes_at = inf
        self._note_responses(now)
        for endpoint in list(self._sent):
            self._check_first(endpoint, now, limit)
        for part in list(self._open):
            self._check_part(part, now, limit)
        return self._start(now)

    def _note_responses(self, now: float) -> None:
        for part in list(self._open):
            if not part.driver.awaited(part.spec):
                self._open.remove(part)
                part.split.took_s = now - part.at
                part.split.at = now
                self._took[part.driver, part.spec.broker] = part.split
                self._fruitless[part.spec.broker] = 0
                self._release(part)

    def _release(self, part: _Part) -> None:
        """Keep the connection of a part for the next one, unless the broker owes a response there."""
        if part.endpoint is not None and self._connections.is_free(part.endpoint, part.spec.connection):
            self._free[part.endpoint].append(part.spec.connection)
        elif part.endpoint is not None:
            self._connections.close(part.endpoint, part.spec.connection)

    def _check_first(self, endpoint: Endpoint, now: float, limit: float) -> None:
        """Repeat the requests on the first connection to an address if their responses are late."""
        awaited = _awaited(self._sent[endpoint])
        self._sent[endpoint] = [each for each, _ in awaited]
        if not awaited:
            del self._sent[endpoint]
            return
        (head, keys), *blocked = awaited
        silent_since = self._connections.silent_since(endpoint, 0)
        since = now if silent_since is None else max(silent_since, head.at)
        if now < (late_at := since + max(_SHORTEST_FIRST_S, (limit - since) * _share_of(head))):
            self._wake(late_at)
            return
        del self._sent[endpoint]
        for each, late in awaited:
            each.driver.mark_late(late, now)
        # What waits for late keys no longer begins at once.
        self._wake(now)
        if len(keys) == 1 and not blocked:
            # Another request for the only key would hang as well.
            return
        self._connections.set_aside(endpoint)
        self._split(head.driver, head.spec, keys, _HALVES)
        self._waiting += [_Part(each.driver, each.spec._replace(keys=late), _Split()) for each, late in blocked]

    def _check_part(self, part: _Part, now: float, limit: float) -> None:
        """Repeat a part in halves if its response is late."""
        if part.endpoint is None:
            return
        since = self._connections.silent_since(part.endpoint, part.spec.connection)
        if since is None:
            # It is not connected yet, so the broker may not respond at all.
            self._wake(now + (limit - now) * _SHARE_OF_REPEAT)
            return
        other = part.split if part.split.took_s is not None else self._took.get((part.driver, part.spec.broker))
        if other is not None:
            assert other.took_s is not None
            late_at = max(since, other.at) + max(_SHORTEST_S, _FACTOR * other.took_s)
        elif part is not self._first_of(part):
            return
        else:
            late_at = since + (limit - since) * _SHARE_OF_REPEAT
        if now < late_at:
            self._wake(late_at)
        elif self._may_split(part):
            self._open.remove(part)
            keys = part.driver.awaited(part.spec)
            # A key that is alone has no other request; its broker may only be slow.
            self._single += len(keys) == 1
            if other is not None and (len(keys) > 1 or self._single > _MOST_SINGLE):
                self._connections.close(part.endpoint, part.spec.connection)
            self._fruitless[part.spec.broker] += len(keys) > 1 and part.split.took_s is None
            self._split(part.driver, part.spec, keys, _HALVES if other is None else _QUARTERS)

    def _first_of(self, part: _Part) -> _Part:
        """Return the part of the same driver and broker that is halved first as long as none has a response."""
        place = (part.driver, part.spec.broker)
        parts = (each for each in (*self._waiting, *self._open) if (each.driver, each.spec.broker) == place)
        return min(parts, key=lambda each: len(each.spec.keys))

    def _may_split(self, part: _Part) -> bool:
        broker = part.spec.broker
        may_continue = part.split.took_s is not None
        return (may_continue or self._fruitless[broker] < _MOST_FRUITLESS) and self._repeated[broker] < _MOST_REPEATS

    def _split(self, driver: Driver, spec: Spec, keys: Sequence[Any], parts: int) -> None:
        """Add parts of the keys before all others; none for a single key."""
        if len(keys) > 1:
            split = _Split()
            size = -(-len(keys) // parts)
            each = (tuple(keys[at : at + size]) for at in range(0, len(keys), size))
            self._waiting[:0] = [_Part(driver, spec._replace(keys=part), split) for part in each]

    def _start(self, now: float) -> list[tuple[Driver, Spec]]:
        """Return the waiting parts for which there are connections."""
        started = []
        waiting = self._waiting
        self._waiting = []
        counts = Counter(part.spec.broker for part in self._open)
        for part in waiting:
            keys = part.driver.awaited(part.spec)
            broker = part.spec.broker
            if not keys:
                continue
            if counts[broker] >= _MOST_CONNECTIONS:
                self._waiting.append(part)
                continue
            counts[broker] += 1
            self._repeated[broker] += 1
            part.spec = RequestSpec(broker, keys, connection=self._number_for(broker), is_repeat=True)
            part.at = now
            self._open.append(part)
            started.append((part.driver, part.spec))
        return started

    def _number_for(self, broker: int | None) -> int:
        # A request for any broker may go to another address than the one before.
        endpoint = self._connections.endpoint_of(broker) if broker is not None and broker >= 0 else None
        free = self._free[endpoint] if endpoint is not None else []
        return free.pop() if free else next(self._numbers)

    def _wake(self, at: float) -> None:
        self._wakes_at = min(self._wakes_at, at)


def _awaited(sent: Sequence[SentRequest]) -> list[tuple[SentRequest, tuple[Any, ...]]]:
    """Return the requests that have no response yet, and their keys; a key that was retried is in the newest one."""
    awaited: list[tuple[SentRequest, tuple[Any, ...]]] = []
    newer: defaultdict[Driver, set[Any]] = defaultdict(set)
    for each in reversed(sent):
        keys = tuple(key for key in each.driver.awaited(each.spec) if key not in newer[each.driver])
        newer[each.driver].update(keys)
        if keys:
            awaited.append((each, keys))
    return awaited[::-1]


def _share_of(sent: SentRequest) -> float:
    if sent.spec.broker is not None and sent.spec.broker >= 0:
        return _SHARE
    return SHORTEST_SHARE if sent.driver.was_retried(sent.spec) else _SHARE_OF_ANY_BROKER
