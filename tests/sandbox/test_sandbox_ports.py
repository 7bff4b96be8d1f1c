"""Ports that a sandbox asks for, and ports that it chooses."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.ports import broker_ports, free_ports, is_free


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_that_somebody_listens_on_is_not_free(taken: int) -> None:
    assert not is_free(taken)


def test_a_port_in_use_is_named_with_what_to_do(taken: int) -> None:
    with pytest.raises(SandboxError) as caught:
        broker_ports(taken - 1, 3)

    assert str(caught.value) == (
        f"port {taken} on 127.0.0.1 is in use; give another --port, or --port 0 for free ones"
    ) or str(caught.value).startswith(f"port {taken - 1} on")


def test_ports_that_are_chosen_are_free_and_never_the_same_twice() -> None:
    chosen = [*free_ports(5), *broker_ports(0, 5)]

    assert len(set(chosen)) == 10
    assert all(map(is_free, chosen))


@pytest.mark.parametrize("first", [-1, 65534, 70000])
def test_ports_that_do_not_exist_are_refused(first: int) -> None:
    with pytest.raises(SandboxError, match="do not fit into the ports 1 to 65535"):
        broker_ports(first, 3)
