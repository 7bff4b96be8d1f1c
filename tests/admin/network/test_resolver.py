"""Host names to addresses: IP addresses need no lookup, names are resolved in a thread that nobody waits for."""

from __future__ import annotations

import socket
import threading

import pytest

from kafka_groups.admin.network.channel import Address, numeric_addresses
from kafka_groups.admin.network.resolver import Resolution, resolve
from kafka_groups.errors import NameNotResolvedError
from kafka_groups.settings import Endpoint

pytestmark = pytest.mark.timeout(20)

ADDRESS: Address = (socket.AF_INET, ("10.0.0.1", 9092))


def test_an_ipv4_literal_needs_no_lookup() -> None:
    assert numeric_addresses(Endpoint(host="127.0.0.1", port=9092)) == [(socket.AF_INET, ("127.0.0.1", 9092))]


def test_an_ipv6_literal_needs_no_lookup() -> None:
    assert numeric_addresses(Endpoint(host="::1", port=9092)) == [(socket.AF_INET6, ("::1", 9092, 0, 0))]


@pytest.mark.parametrize("host", ["localhost", "broker-1.example", "999.1.1.1", "a" * 70, "x..y"])
def test_a_host_name_is_not_an_ip_address(host: str) -> None:
    assert numeric_addresses(Endpoint(host=host, port=9092)) is None


@pytest.mark.parametrize("host", ["kafka-groups.invalid", "a" * 70 + ".invalid", "x..invalid"])
def test_a_host_name_without_an_address_is_an_error(host: str) -> None:
    with pytest.raises(NameNotResolvedError, match=f"cannot resolve the host name '{host}'"):
        resolve(Endpoint(host=host, port=9092))


def test_localhost_is_resolved_with_the_port_of_the_endpoint() -> None:
    assert {address[1] for _family, address in resolve(Endpoint(host="localhost", port=4711))} == {4711}


def _resolution(outcome: object) -> tuple[Resolution, threading.Event]:
    woken = threading.Event()

    def resolve_host(_endpoint: Endpoint) -> list[Address]:
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, list)
        return outcome

    return Resolution(Endpoint(host="broker", port=9092), resolve=resolve_host, wakeup=woken.set), woken


def test_a_lookup_that_ends_calls_wakeup() -> None:
    resolution, woken = _resolution([ADDRESS])
    assert woken.wait(30)
    assert resolution.is_done()
    assert resolution.addresses == [ADDRESS]
    assert resolution.error is None


def test_a_lookup_that_fails_calls_wakeup_too() -> None:
    error = NameNotResolvedError("cannot resolve the host name 'broker'")
    resolution, woken = _resolution(error)
    assert woken.wait(30)
    assert resolution.is_done()
    assert resolution.error is error


def test_a_lookup_that_hangs_is_not_done_and_delays_nothing() -> None:
    release = threading.Event()

    def hang(_endpoint: Endpoint) -> list[Address]:
        release.wait(10)
        return [ADDRESS]

    resolution = Resolution(Endpoint(host="broker", port=9092), resolve=hang, wakeup=lambda: None)
    assert not resolution.is_done()
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "resolve broker:9092")
    release.set()
