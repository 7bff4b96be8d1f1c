"""Resolution of host names to addresses, and of aliases to canonical names, which never blocks the event loop."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kafka_groups.admin.network.channel import Address, addresses_of
from kafka_groups.errors import NameNotResolvedError
from kafka_groups.settings import Endpoint

Resolve: TypeAlias = Callable[[Endpoint], list[Address]]


def resolve(endpoint: Endpoint) -> list[Address]:
    """Return all addresses of a host, in the system's order. NameNotResolvedError if it has none."""
    if not endpoint.host:
        # The system resolves an empty name to this machine.
        raise NameNotResolvedError("its address has no host name")
    try:
        infos = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        msg = f"cannot resolve the host name '{endpoint.host}': {reason}"
        raise NameNotResolvedError(msg) from error
    return addresses_of(infos)


class Resolution:
    """One name lookup in a thread of its own, because the system's resolver may take minutes.

    That thread calls `wakeup` when the lookup has ended. The thread is a daemon: a resolver
    that hangs does not keep the process alive past its deadline.
    """

    def __init__(self, endpoint: Endpoint, *, resolve: Resolve, wakeup: Callable[[], None]) -> None:
        self._endpoint = endpoint
        self._resolve = resolve
        self._wakeup = wakeup
        self.addresses: list[Address] | None = None
        self.error: NameNotResolvedError | None = None
        threading.Thread(target=self._run, name=f"resolve {endpoint}", daemon=True).start()

    def is_done(self) -> bool:
        """Return whether the lookup has ended, with addresses or with an error."""
        return self.addresses is not None or self.error is not None

    def _run(self) -> None:
        try:
            self.addresses = self._resolve(self._endpoint)
        except NameNotResolvedError as error:
            self.error = error
        self._wakeup()


class CanonicalNames:
    """The canonical names of bootstrap servers, for `client.dns.lookup=resolve_canonical_bootstrap_servers_only`.

    An alias may have the addresses of several servers, whose certificates have the names of the servers and not the
    alias (KIP-235). Each lookup has a thread of its own, and calls `wakeup` at its end.
    """

    def __init__(self, servers: Sequence[Endpoint], *, wakeup: Callable[[], None]) -> None:
        self._servers = servers
        self._found: dict[Endpoint, list[Endpoint]] = {}
        self._lookups = [Resolution(each, resolve=self._look_up, wakeup=wakeup) for each in servers]

    def are_known(self) -> bool:
        """Return whether all lookups have ended."""
        return all(lookup.is_done() for lookup in self._lookups)

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return the canonical names of all servers; a server whose lookup failed or takes long has its own name."""
        return tuple(dict.fromkeys(name for each in self._servers for name in self._found.get(each, [each])))

    def _look_up(self, server: Endpoint) -> list[Address]:
        addresses = resolve(server)
        self._found[server] = [Endpoint(host=canonical_name(address), port=server.port) for _, address in addresses]
        return addresses


def canonical_name(address: tuple[str, int] | tuple[str, int, int, int]) -> str:
    """Return the name of an address if that name has the address, too; else the address, as Java's client does."""
    host = address[0]
    try:
        name = socket.getnameinfo(address, socket.NI_NAMEREQD)[0]
        known = resolve(Endpoint(host=name, port=address[1]))
    except (OSError, UnicodeError, NameNotResolvedError):
        return host
    return name if host in {known_address[0] for _, known_address in known} else host
