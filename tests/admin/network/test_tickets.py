"""Kerberos tickets of a pool: the tickets of a keytab are got once at a time, into one cache."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka_groups.admin.network.authentication_step import AuthenticationStep
from kafka_groups.admin.network.tickets import Tickets
from kafka_groups.settings import KerberosCredentials
from tests.fakes.kerberos_library import FakeLibrary


def tickets(library: FakeLibrary, keytab: Path) -> Tickets:
    keytab.write_bytes(b"\x05\x02")
    credentials = KerberosCredentials(keytab=str(keytab))
    return Tickets(credentials, timeout_s=10.0, wakeup=lambda: None, load=lambda: library)


def result_of(step: AuthenticationStep[Any]) -> Any:
    until = time.monotonic() + 10
    while (result := step.result()) is None:
        assert time.monotonic() < until
        time.sleep(0.005)
    return result


def test_connections_wait_for_one_another_with_the_ticket_of_a_keytab(tmp_path: Path) -> None:
    running = threading.Semaphore(1)
    overlaps: list[bool] = []

    def acquire(_options: Mapping[str, Any]) -> None:
        overlaps.append(not running.acquire(blocking=False))
        time.sleep(0.02)
        running.release()

    library = FakeLibrary(acquire=acquire)
    source = tickets(library, tmp_path / "k")
    steps = [source.request(f"b{number}") for number in range(4)]
    assert [result_of(step).service for step in steps] == ["kafka@b0", "kafka@b1", "kafka@b2", "kafka@b3"]
    assert overlaps == [False] * 4
    assert len({options["store"]["ccache"] for options in library.acquired}) == 1


def test_each_pool_has_a_cache_of_its_own(tmp_path: Path) -> None:
    library = FakeLibrary()
    for _ in range(2):
        result_of(tickets(library, tmp_path / "k").request("b"))
    caches = [options["store"]["ccache"] for options in library.acquired]
    assert len(set(caches)) == 2
    assert all(cache.startswith("MEMORY:kafka-groups-") for cache in caches)


def test_a_step_describes_what_it_waits_for(tmp_path: Path) -> None:
    step = tickets(FakeLibrary(), tmp_path / "k").request("b")
    assert step.describe() == "waits for a Kerberos ticket from the KDC"
    result_of(step)
