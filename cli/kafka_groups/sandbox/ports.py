"""Ports on the loopback address, checked or chosen before a broker starts."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

from kafka_groups.errors import SandboxError

HOST = "127.0.0.1"
# Below the ports that Linux and macOS assign to outgoing connections (from 32768 and 49152), so that no connection
# takes a port between the check and the start of the broker.
_RANGE = range(20000, 32000)
_LAST = 65535
_assigned: set[int] = set()


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket() as probe:
        # As in Java's server sockets: a port whose last connections are in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def broker_ports(first: int, count: int) -> tuple[int, ...]:
    """Return `count` consecutive ports from `first`, or free ports if `first` is 0.

    Raises SandboxError if a port is in use or does not exist.
    """
    if first == 0:
        return free_ports(count)
    ports = tuple(range(first, first + count))
    if ports[0] < 1 or ports[-1] > _LAST:
        msg = f"{count} brokers from port {first} on do not fit into the ports 1 to {_LAST}; give another --port"
        raise SandboxError(msg)
    for port in ports:
        if not is_free(port):
            msg = f"port {port} on {HOST} is in use; give another --port, or --port 0 for free ones"
            raise SandboxError(msg)
    return ports


def free_ports(count: int, *, exclude: Collection[int] = ()) -> tuple[int, ...]:
    """Return `count` ports that no server listens on and that are not in `exclude`.

    Raises SandboxError if there are not enough.
    """
    candidates = random.sample(_RANGE, len(_RANGE))
    ports: list[int] = []
    for port in candidates:
        if len(ports) == count:
            return tuple(ports)
        # Each port is assigned once per process, so that sandboxes that start at the same time do not collide.
        if port not in exclude and port not in _assigned and is_free(port):
            _assigned.add(port)
            ports.append(port)
    msg = f"fewer than {count} ports are free on {HOST} between {_RANGE[0]} and {_RANGE[-1]}; end other servers"
    raise SandboxError(msg)
