"""Requested ports and chosen ports of a sandbox."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.ports import broker_ports, free_ports, is_free


@pytest.fixture
def used() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_with_a_server_is_not_free(used: int) -> None:
    assert not is_free(used)


def test_the_error_names_the_port_in_use_and_the_next_step(used: int) -> None:
    with pytest.raises(SandboxError) as caught:
        broker_ports(used - 1, 3)

    assert str(caught.value) == (
        f"port {used} on 127.0.0.1 is in use; give another --port, or --port 0 for free ones"
    ) or str(caught.value).startswith(f"port {used - 1} on")


def test_chosen_ports_are_free_and_distinct() -> None:
    chosen = [*free_ports(5), *broker_ports(0, 5)]

    assert len(set(chosen)) == 10
    assert all(map(is_free, chosen))


@pytest.mark.parametrize("first", [-1, 65534, 70000])
def test_ports_that_do_not_exist_are_refused(first: int) -> None:
    with pytest.raises(SandboxError, match="do not fit into the ports 1 to 65535"):
        broker_ports(first, 3)
