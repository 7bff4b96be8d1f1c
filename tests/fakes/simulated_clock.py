"""A clock that scripted brokers and their clients share, and that moves on only while all of them wait.

Deadlines, backoffs and delays then take no time, and a slow machine changes nothing: time passes in the wait for
sockets of a client, once each broker has read what was sent to it and waits for more, or until a later time.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.admin.network.resolver import Resolve, resolve
from kafka_groups.admin.network.selector import Selector
from kafka_groups.progress import Progress
from kafka_groups.settings import ConnectionSettings

if TYPE_CHECKING:
    import pytest

# Where commands find the class of their client.
CLIENT_OF_COMMANDS = "kafka_groups.options.cluster_session.GroupAdmin"
# How long nothing may happen in truth before time passes: bytes that were sent arrive within this time.
_STILL_S = 0.001
# What a response takes, so that no two of them have the same time.
_LATENCY_S = 0.00001


class SimulatedClock:
    """The time in seconds, as `time.monotonic` returns it.

    It is the true time until `client` or `pool` is first called, so that brokers also serve clients of other kinds.
    Threads of brokers wait only with `until_readable`, `sleep` and `wait_for`.
    """

    def __init__(self) -> None:
        self._now: float | None = None
        self._changed = threading.Condition()
        # What each thread waits for: whether it still does. None while it is busy.
        self._waits: dict[threading.Thread, Callable[[], bool] | None] = {}
        self._alarms: dict[threading.Thread, float] = {}

    def __call__(self) -> float:
        """Return the time."""
        return time.monotonic() if self._now is None else self._now

    def client(
        self, settings: ConnectionSettings, *, progress: Progress | None = None, resolve: Resolve = resolve
    ) -> GroupAdmin:
        """Return a client that waits with this clock."""
        return GroupAdmin(settings, clock=self, pool=self.pool(settings, resolve=resolve), progress=progress)

    def pool(self, settings: ConnectionSettings, *, resolve: Resolve = resolve) -> BrokerPool:
        """Return connections that wait with this clock."""
        return BrokerPool(settings, clock=self, resolve=resolve, make_selector=lambda: SimulatedSelector(self))

    def serve_commands(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the clients of commands wait with this clock, in use from now on."""
        self.use()
        monkeypatch.setattr(CLIENT_OF_COMMANDS, self.client_class())

    def client_class(self) -> type[GroupAdmin]:
        """Return a class whose clients wait with this clock."""
        clock = self

        class SimulatedClient(GroupAdmin):
            def __init__(self, settings: ConnectionSettings, *, progress: Progress | None = None) -> None:
                super().__init__(settings, clock=clock, pool=clock.pool(settings), progress=progress)

        return SimulatedClient

    def start_thread(self, target: Callable[..., None], *args: Any) -> threading.Thread:
        """Start a thread of a broker, which is busy until it waits."""

        def run() -> None:
            try:
                target(*args)
            finally:
                self._waits.pop(threading.current_thread(), None)

        thread = threading.Thread(target=run, daemon=True)
        self._waits[thread] = None
        thread.start()
        return thread

    def until_readable(self, sock: socket.socket) -> None:
        """Wait until the socket has bytes, an end, or a connection to accept."""
        number = sock.fileno()
        with self._waiting(lambda: not _is_readable(number, 0)):
            _is_readable(number, None)

    def sleep(self, seconds: float) -> None:
        """Wait for some time; in a broker's thread at most until `wake`. In the client's thread, time passes."""
        end = self() + seconds
        thread = threading.current_thread()
        if thread not in self._waits:
            while self() < end:
                self.pass_time(end, _hold_still)
            return
        self._alarms[thread] = end
        with self._waiting(lambda: thread in self._alarms and self() < end), self._changed:
            while thread in self._alarms and (remaining_s := end - self()) > 0:
                self._changed.wait(remaining_s if self._now is None else None)
        self._alarms.pop(thread, None)

    def wait_for(self, event: threading.Event, longest_s: float = 60.0) -> None:
        """Wait for an event."""
        with self._waiting(lambda: not event.is_set()):
            event.wait(longest_s)

    def wake(self, threads: list[threading.Thread]) -> None:
        """End the sleep of these threads."""
        with self._changed:
            for thread in threads:
                self._alarms.pop(thread, None)
            self._changed.notify_all()

    def use(self) -> None:
        """Let the time pass only in `select` from now on."""
        with self._changed:
            self._now = self()
            self._changed.notify_all()

    def move(self, seconds: float) -> None:
        """Let some time pass."""
        with self._changed:
            self._now = self() + seconds
            self._changed.notify_all()

    def pass_time(self, until: float, is_interrupted: Callable[[], bool]) -> None:
        """Once all brokers wait, let the time pass until one of them does not, or `until`.

        `is_interrupted` takes a moment of true time, and returns whether something happened.
        """
        while not (self._all_wait() and not is_interrupted() and self._all_wait()):
            if is_interrupted():
                return
        end = min([until, *self._alarms.values()])
        assert end < float("inf"), "the client and the brokers wait for each other"
        self.move(max(0.0, end - self()))

    def _all_wait(self) -> bool:
        """Return whether no thread of a broker, and no name lookup, has anything to do at this time."""
        lookups = (thread for thread in threading.enumerate() if thread.name.startswith("resolve "))
        return all(self._waits_still(thread) for thread in [*self._waits, *lookups] if thread.is_alive())

    def _waits_still(self, thread: threading.Thread) -> bool:
        wait = self._waits.get(thread, None)
        # The thread may become busy, and read what it waits for, between the first two.
        return wait is not None and wait() and self._waits.get(thread) is wait

    @contextlib.contextmanager
    def _waiting(self, is_waiting: Callable[[], bool]) -> Iterator[None]:
        thread = threading.current_thread()
        self._waits[thread] = is_waiting
        try:
            yield
        finally:
            self._waits[thread] = None


class SimulatedSelector(Selector):
    """A selector whose timeout is of a simulated clock."""

    def __init__(self, clock: SimulatedClock) -> None:
        super().__init__()
        self.clock = clock
        clock.use()

    def select(self, timeout_s: float) -> None:
        """Return when a connection has an event, after a `wakeup`, or after the timeout."""
        until = self.clock() + max(0.0, timeout_s)
        while not (events := self._selector.select(0)) and self.clock() < until:
            self.clock.pass_time(until, lambda: bool(self._selector.select(_STILL_S)))
        self.clock.move(_LATENCY_S)
        if any(key.fileobj is self._wakeup_reader for key, _ in events):
            self._wakeup_reader.recv(64)


def _hold_still() -> bool:
    time.sleep(_STILL_S)
    return False


def _is_readable(number: int, timeout_ms: int | None) -> bool:
    if number < 0:
        return True  # The socket is closed.
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(timeout_ms))
