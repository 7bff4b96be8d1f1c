"""The clock of scripted brokers: it stands still while one of them is busy, however slow the machine is."""

from __future__ import annotations

import math
import socket
import threading
import time

import pytest

from kafka_groups.admin.network.channel import Address
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.reactions import ReceivedRequest, delayed, silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.timeout(20)


def _busy(_request: ReceivedRequest, response: Struct) -> Struct:
    """Respond after a time that is spent in truth, as on a busy machine."""
    time.sleep(0.3)
    return response


def test_a_deadline_does_not_pass_while_a_broker_is_busy() -> None:
    with ScriptedCluster(brokers=2, groups={"g": Group(coordinator=2)}) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", _busy)
        cluster.script("FindCoordinator", _busy)
        assert list(admin.list_groups(timeout=0.1).all()) == ["g"]
        assert list(admin.list_consumer_group_offsets({"g": None}, timeout=0.1).all()) == ["g"]


@pytest.mark.parametrize(("delay_s", "failed"), [(0.9, []), (1.1, [2])])
def test_a_delay_is_compared_with_the_deadline_and_takes_no_time(delay_s: float, failed: list[int]) -> None:
    with ScriptedCluster(brokers=2) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("ListGroups", delayed(delay_s * 60), brokers=[2])
        started = cluster.clock()
        assert list(admin.list_groups(timeout=60).failed) == failed
        assert cluster.clock() - started == pytest.approx(min(delay_s, 1.0) * 60, abs=0.1)


def test_a_name_lookup_is_awaited() -> None:
    def look_up(_endpoint: Endpoint) -> list[Address]:
        time.sleep(0.2)
        return [(socket.AF_INET, (address.host, address.port))]

    with ScriptedCluster(brokers=1) as cluster:
        address = cluster.brokers[1].endpoint
        name = Endpoint(host="kafka.example", port=address.port)
        settings = ConnectionSettings(bootstrap=(name,), connect_timeout_s=0.1)
        with cluster.clock.client(settings, resolve=look_up) as admin:
            assert list(admin.brokers()) == [1]


def test_a_wait_for_nothing_is_an_error_and_no_hang() -> None:
    with ScriptedCluster(brokers=1) as cluster, cluster.admin(timeout_s=math.inf) as admin:
        admin.brokers()
        cluster.script("ListGroups", silent)
        with pytest.raises(AssertionError, match="wait for each other"):
            admin.list_groups()


def test_a_broker_that_is_closed_ends_its_delay() -> None:
    cluster = ScriptedCluster(brokers=1)
    with cluster.admin() as admin:
        cluster.script("ListGroups", delayed(3_600))
        assert list(admin.list_groups(timeout=1).failed) == [1]
    before = threading.active_count()
    cluster.close()
    assert threading.active_count() < before
