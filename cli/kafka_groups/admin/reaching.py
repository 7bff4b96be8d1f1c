"""A cluster at the other end: reached when first asked, and every call with a deadline."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from kafka_groups.admin.driver import ApiDriver, ApiHandler
from kafka_groups.admin.event_loop import run_until_complete
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.errors import AdminError, MalformedResponseError
from kafka_groups.model import Broker, TopicPartition

if TYPE_CHECKING:
    from types import TracebackType

    from kafka_groups.settings import ConnectionSettings

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")
Progress = Callable[[str, int, int], None]
# Calls that follow each other closely are one handler; a watch that comes back is another.
_FRESH_S: Final = 1.0


class Reaching:
    """What every handler needs: brokers, a deadline, the loop, and what earlier answers taught. See GroupAdmin."""

    def __init__(
        self,
        settings: ConnectionSettings,
        *,
        one_deadline: bool = False,
        progress: Progress = lambda _what, _done, _total: None,
        clock: Callable[[], float] = time.monotonic,
        pool: BrokerPool | None = None,
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._clock = clock
        self._pool = pool or BrokerPool(settings, clock=clock)
        self._is_open = False
        self._looked_at = 0.0
        self._one_deadline = one_deadline
        self._deadline_of_all: float | None = None
        self._coordinators: dict[str, int] = {}
        self._types: dict[str, str | None] = {}
        self._leaders: dict[TopicPartition, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @property
    def requests_sent(self) -> Counter[tuple[str, int]]:
        """The number of requests sent so far by (API name, version), connection set-up included."""
        return self._pool.sent

    def brokers(self, *, timeout_s: float | None = None) -> Mapping[int, Broker]:
        """The brokers of the cluster, by id."""
        self._reach(self._deadline(timeout_s))
        return self._pool.brokers

    def cluster_id(self, *, timeout_s: float | None = None) -> str:
        """Kafka's id of the cluster, as each of its brokers tells it. MalformedResponseError if they tell none."""
        self._reach(self._deadline(timeout_s))
        if self._pool.cluster_id is None:
            raise MalformedResponseError("the broker's answer to Metadata names no cluster id")
        return self._pool.cluster_id

    def _reach(self, deadline: float) -> None:
        if not self._is_open:
            self._pool.open(deadline)
            self._is_open = True
            self._looked_at = self._clock()

    def _look_around(self, deadline: float) -> None:
        """Learn of brokers that came or went a while ago: each one lists its own groups."""
        if self._clock() - self._looked_at < _FRESH_S:
            return
        self._looked_at = self._clock()
        try:
            self._pool.refresh(deadline)
        except AdminError:
            # The brokers known so far are asked; what is wrong with them, their failures say.
            return

    def _deadline(self, timeout_s: float | None, share: float = 1.0) -> float:
        now = self._clock()
        end = now + (self._settings.timeout_s if timeout_s is None else timeout_s)
        if self._one_deadline:
            if self._deadline_of_all is None:
                self._deadline_of_all = now + self._settings.timeout_s
            end = min(end, self._deadline_of_all)
        return now + (end - now) * share

    def _ask(
        self,
        what: str,
        handler: ApiHandler[K, A],
        keys: Iterable[K],
        known: Mapping[K, int],
        deadline: float,
        *,
        lookup: ApiHandler[K, int] | None = None,
    ) -> ApiDriver[K, A]:
        driver = ApiDriver(keys, handler=handler, lookup=lookup, known=known)
        self._run(what, [driver], deadline)
        return driver

    def _run(self, what: str, drivers: Sequence[ApiDriver[Any, Any]], deadline: float) -> None:
        run_until_complete(
            self._pool,
            drivers,
            deadline=deadline,
            clock=self._clock,
            progress=lambda done, total: self._progress(what, done, total),
        )
