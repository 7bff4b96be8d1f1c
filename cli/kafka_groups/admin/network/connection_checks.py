"""Connections to all servers and brokers of a cluster at once, to find out which of them work, and where others end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from math import ceil
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.bootstrap import Bootstrap, endpoint_of
from kafka_groups.admin.network.channel_factory import ChannelFactory
from kafka_groups.admin.network.connection_check import ConnectionCheck
from kafka_groups.admin.network.connection_evidence import ClusterEvidence, ConnectionEvidence
from kafka_groups.admin.network.handshake import Handshakes

if TYPE_CHECKING:
    from kafka_groups.admin.network.resolver import Resolve
    from kafka_groups.admin.network.selector import Selector
    from kafka_groups.settings import ConnectionSettings, Endpoint

# Connections at the same time; systems limit the open files of a process, often to 1,024.
_MAX_OPEN: Final = 64


class ConnectionChecks:
    """The checks of one run: each address gets one connection, and three requests more than its set-up.

    Connections go to the bootstrap servers at once, and to the brokers as soon as a server has returned them.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        clock: Callable[[], float],
        resolve: Resolve,
        make_selector: Callable[[], Selector],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._resolve = resolve
        self._selector = make_selector()
        self._handshakes = Handshakes(settings, wakeup=self._selector.wakeup, clock=clock)
        self._make_channel = ChannelFactory(settings)
        self._waiting: deque[Endpoint] = deque()
        self._open: dict[Endpoint, ConnectionCheck] = {}
        self._evidence: dict[Endpoint, ConnectionEvidence] = {}

    def run(self, until: float) -> ClusterEvidence:
        """Check all addresses, until a time of the clock at most. SettingsError for a file of TLS that is not valid."""
        selector = self._selector
        bootstrap = Bootstrap(self._settings)
        try:
            servers = bootstrap.canonical_servers(clock=self._clock, wakeup=selector.wakeup, select=selector.select)
            self._add(servers)
            while self._waiting or self._open:
                self._start(until)
                if not self._advance():
                    self._wait()
            return ClusterEvidence(
                servers=tuple(dict.fromkeys(servers)), connections=self._evidence, settings=self._settings
            )
        finally:
            for check in self._open.values():
                check.close()
            self._handshakes.close()
            selector.close()

    def _start(self, until: float) -> None:
        """Begin as many connections as may be open; those that have to wait keep an equal share of the time."""
        now = self._clock()
        rounds = ceil((len(self._open) + len(self._waiting)) / _MAX_OPEN)
        while self._waiting and len(self._open) < _MAX_OPEN:
            endpoint = self._waiting.popleft()
            handshake = self._handshakes.create(endpoint, is_first=True)
            check = ConnectionCheck(
                endpoint,
                self._settings,
                handshake=handshake,
                clock=self._clock,
                until=now + max(0.0, until - now) / rounds,
            )
            self._open[endpoint] = check
            if now >= until:
                check.skip()
                continue
            check.connect(make_channel=self._make_channel, resolve=self._resolve, wakeup=self._selector.wakeup)

    def _advance(self) -> bool:
        """Continue all connections as far as possible without waiting; return whether one of them has ended."""
        for check in self._open.values():
            check.advance(self._clock())
            if not check.is_done and self._clock() >= check.until:
                check.expire(self._clock())
        ended = [check for check in self._open.values() if check.is_done]
        for check in ended:
            self._finish(check)
        for check in self._open.values():
            if check.connection is not None:
                self._selector.register(check.connection)
        return bool(ended)

    def _finish(self, check: ConnectionCheck) -> None:
        del self._open[check.endpoint]
        if check.connection is not None:
            self._selector.unregister(check.connection)
        check.close()
        evidence = check.evidence()
        self._evidence[check.endpoint] = evidence
        if evidence.metadata is not None:
            self._add(endpoint_of(broker) for broker in evidence.metadata.brokers.values())

    def _add(self, endpoints: Iterable[Endpoint]) -> None:
        known = {*self._evidence, *self._open, *self._waiting}
        self._waiting.extend(endpoint for endpoint in dict.fromkeys(endpoints) if endpoint not in known)

    def _wait(self) -> None:
        connections = [check.connection for check in self._open.values() if check.connection is not None]
        wakes = [wake for connection in connections if (wake := connection.wakes_at()) is not None]
        ends = [check.until for check in self._open.values()]
        self._selector.select(min([*ends, *wakes]) - self._clock())
