"""The quick check of bootstrap addresses."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import NoReturn

import pytest

from kafka_groups.pipeline.facts.source.addresses import unreachable_reason


def test_one_reachable_address_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert unreachable_reason(f"127.0.0.1:1,PLAINTEXT://127.0.0.1:{port}", 5) is None


def test_an_inconclusive_address_is_left_to_librdkafka() -> None:
    assert unreachable_reason("", 5) is None
    assert unreachable_reason("not:an:address", 5) is None
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as clients:
        for _ in range(4):
            client = clients.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        assert unreachable_reason(f"127.0.0.1:{full.getsockname()[1]}", 0.3) is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (socket.EAI_NONAME, "the host name 'kafka' has no address"),
        (socket.EAI_AGAIN, "the host name 'kafka' cannot be resolved now"),
    ],
)
def test_an_unavailable_resolver_is_no_unknown_name(monkeypatch: pytest.MonkeyPatch, code: int, reason: str) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(code, "no")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert unreachable_reason("kafka:9092", 5) == reason
