"""Throttle times and deadlines: how long a call waits, and that it waits without using the processor."""

from __future__ import annotations

import time

import pytest

from kafka_groups.admin import Deadline, GroupAdmin
from tests.fakes.reactions import delayed, silent, throttled
from tests.fakes.scripted_cluster import Group, ScriptedCluster

PLACES = {"a": 1, "b": 2, "c": 2, "d": 3}


def _cluster() -> ScriptedCluster:
    return ScriptedCluster(groups={name: Group(coordinator=at) for name, at in PLACES.items()})


def test_a_throttled_client_delays_requests_to_that_broker_only() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.script("OffsetFetch", throttled(400), brokers=[2])
        admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        second_call = cluster.clock()
        admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()
        delays = {request.broker: request.at - second_call for request in cluster.requests_of("OffsetFetch")[3:]}
        assert delays[1] < 0.2
        assert delays[3] < 0.2
        assert 0.3 < delays[2] < 2
        assert cluster.clock() - second_call < 2


def test_a_throttle_time_beyond_the_deadline_is_a_timeout() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", throttled(60_000), brokers=[2])
        admin.list_groups()
        results = admin.list_groups(timeout=0.6)
        assert sorted(results.succeeded) == ["a", "d"]
        assert {broker: failure.name for broker, failure in results.failed.items()} == {2: "TIMEOUT"}


@pytest.mark.timed
def test_waiting_with_many_requests_in_flight_uses_no_processor_time() -> None:
    names = [f"g{number}" for number in range(100)]
    cluster = ScriptedCluster(brokers=1, versions={"FindCoordinator": (0, 3)})
    # In truth, and not with the clock of the brokers.
    with cluster, GroupAdmin(cluster.settings()) as admin:
        admin.brokers()
        cluster.script("FindCoordinator", delayed(0.6), brokers=[1])
        before = time.thread_time()
        admin.list_consumer_group_offsets(dict.fromkeys(names)).all()
        assert time.thread_time() - before < 0.3


def test_a_response_that_comes_late_but_before_the_deadline_is_used_and_requested_once() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("OffsetFetch", delayed(0.8), brokers=[1])
        assert list(admin.list_consumer_group_offsets({"a": None}, timeout=1.2).all()) == ["a"]
        assert cluster.requests()["OffsetFetch"] == 1


def test_a_share_of_a_deadline_is_extended_while_nothing_succeeded() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=2.0) as admin:
        admin.brokers()
        cluster.script("OffsetFetch", delayed(1.3), brokers=[1])
        share = admin.deadline().share(0.5)
        assert list(admin.list_consumer_group_offsets({"a": None}, timeout=share).all()) == ["a"]


def test_a_share_of_a_deadline_ends_in_time_if_a_group_succeeded() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=1.0) as admin:
        admin.brokers()
        cluster.script("OffsetFetch", silent, brokers=[1])
        started = cluster.clock()
        results = admin.list_consumer_group_offsets({"a": None, "d": None}, timeout=admin.deadline().share(0.5))
        assert 0.4 < cluster.clock() - started < 0.8
        assert (list(results.succeeded), list(results.failed)) == (["d"], ["a"])


def test_a_throttled_broker_is_the_reason_of_a_timeout() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", throttled(60_000), brokers=[2])
        admin.list_groups()
        message = admin.list_groups(timeout=0.6).failed[2].message
        assert message.startswith("no response within 0.6 s; broker 2 (")
        assert "throttles this client for another 5" in message


def test_a_silent_broker_is_the_reason_of_a_timeout() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", silent, brokers=[2])
        message = admin.list_groups(timeout=0.4).failed[2].message
        assert message.startswith("no response within 0.4 s; broker 2 (")
        assert message.endswith(") has sent nothing for 0.4 s")


def test_calls_that_share_a_deadline_end_at_it() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=0.4) as admin:
        cluster.script("ListGroups", silent, silent, brokers=[2])
        started = cluster.clock()
        deadline = admin.deadline()
        assert list(admin.list_groups(timeout=deadline).failed) == [2]
        assert list(admin.list_groups(timeout=deadline).failed) == [1, 2, 3]
        assert cluster.clock() - started < 0.8


def test_a_poll_with_a_renewed_deadline_keeps_connections_coordinators_and_leaders() -> None:
    topics = {"payments": {0: 1, 1: 2}}
    groups = {name: Group(coordinator=at, commits={("payments", 0): 5}) for name, at in PLACES.items()}
    with ScriptedCluster(groups=groups, topics=topics) as cluster, cluster.admin() as admin:
        deadline = Deadline.after(0.4, cluster.clock)
        for poll in range(3):
            admin.list_consumer_group_offsets(dict.fromkeys(PLACES), timeout=deadline).all()
            admin.list_offsets([("payments", 0), ("payments", 1)], timeout=deadline).all()
            assert cluster.requests() == {
                "FindCoordinator": 1,
                "OffsetFetch": 3 * (poll + 1),
                "Metadata": 1,
                "ListOffsets": 2 * (poll + 1),
            }
            assert len(cluster.requests_of("ApiVersions")) == 3
            cluster.clock.sleep(max(0.0, deadline.at - cluster.clock()))
            assert list(admin.list_consumer_group_offsets({"a": None}, timeout=deadline).failed) == ["a"]
            deadline = deadline.renew()


def test_without_a_shared_deadline_each_call_has_its_own() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=0.3) as admin:
        cluster.script("ListGroups", silent, brokers=[2])
        assert list(admin.list_groups().failed) == [2]
        cluster.brokers[2].close_connections()
        assert sorted(admin.list_groups(timeout=5.0).all()) == ["a", "b", "c", "d"]
