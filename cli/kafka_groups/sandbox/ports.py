"""Ports on the loopback address: which are free, and which are to be had."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

from kafka_groups.errors import SandboxError

HOST = "127.0.0.1"
# Below the range that Linux and macOS hand out to outgoing connections (32768 and 49152), so that
# nobody takes a port between our look at it and the broker's start.
_CHOICE = range(20000, 32000)
_LAST = 65535
_given: set[int] = set()


def is_free(port: int) -> bool:
    """Say whether a server could listen on this port now."""
    with socket.socket() as probe:
        # As Java's server sockets do: a port whose last connections are still fading is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def broker_ports(first: int, count: int) -> tuple[int, ...]:
    """Return `count` ports in a row from `first`, or free ones if that is 0; SandboxError names one in use."""
    if first == 0:
        return free_ports(count)
    ports = tuple(range(first, first + count))
    if ports[0] < 1 or ports[-1] > _LAST:
        msg = f"{count} brokers from port {first} on do not fit into the ports 1 to {_LAST}"
        raise SandboxError(msg)
    for port in ports:
        if not is_free(port):
            msg = f"port {port} on {HOST} is in use; give another --port, or --port 0 for free ones"
            raise SandboxError(msg)
    return ports


def free_ports(count: int, *, besides: Collection[int] = ()) -> tuple[int, ...]:
    """Return ports that nobody listens on, none of them in `besides`."""
    candidates = random.sample(_CHOICE, len(_CHOICE))
    ports: list[int] = []
    for port in candidates:
        if len(ports) == count:
            return tuple(ports)
        # Given out once in a run, so that sandboxes that start at the same time do not meet.
        if port not in besides and port not in _given and is_free(port):
            _given.add(port)
            ports.append(port)
    msg = f"no {count} free ports were found on {HOST} between {_CHOICE[0]} and {_CHOICE[-1]}"
    raise SandboxError(msg)
