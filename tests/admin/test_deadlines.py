"""Waiting: as long as a broker asks for, never past the deadline, and without spinning."""

from __future__ import annotations

import time

import pytest

from kafka_groups.admin import GroupAdmin
from tests.fakes.scripted_broker import delayed, silent, throttled
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.timed

PLACES = {"a": 1, "b": 2, "c": 2, "d": 3}


def _cluster() -> ScriptedCluster:
    return ScriptedCluster(groups={name: Group(coordinator=at) for name, at in PLACES.items()})


def test_a_throttled_client_holds_back_from_that_broker_and_from_no_other() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.script("OffsetFetch", throttled(400), brokers=[2])
        admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        asked_again = time.monotonic()
        admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()
        waited = {asked.broker: asked.at - asked_again for asked in cluster.asked("OffsetFetch")[3:]}
        assert waited[1] < 0.2
        assert waited[3] < 0.2
        assert 0.3 < waited[2] < 2
        assert time.monotonic() - asked_again < 2


def test_a_throttle_beyond_the_deadline_times_out() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", throttled(60_000), brokers=[2])
        admin.list_groups()
        answers = admin.list_groups(timeout_s=0.6)
        assert sorted(answers.succeeded) == ["a", "d"]
        assert {broker: failure.name for broker, failure in answers.failed.items()} == {2: "TIMEOUT"}


def test_waiting_for_a_full_pipeline_costs_no_processor_time() -> None:
    names = [f"g{number}" for number in range(100)]
    with ScriptedCluster(brokers=1, versions={"FindCoordinator": (0, 3)}) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("FindCoordinator", delayed(0.6), brokers=[1])
        before = time.thread_time()
        admin.list_consumer_group_offsets(dict.fromkeys(names)).all()
        assert time.thread_time() - before < 0.3


def test_one_deadline_for_all_calls_runs_from_the_first() -> None:
    with _cluster() as cluster, GroupAdmin(cluster.settings(timeout_s=0.4), one_deadline=True) as admin:
        cluster.script("ListGroups", silent, silent, brokers=[2])
        started = time.monotonic()
        assert list(admin.list_groups().failed) == [2]
        assert list(admin.list_groups(timeout_s=5.0).failed) == [1, 2, 3]
        assert time.monotonic() - started < 0.8


def test_a_deadline_of_its_own_bounds_each_call_otherwise() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=0.3) as admin:
        cluster.script("ListGroups", silent, silent, brokers=[2])
        assert list(admin.list_groups().failed) == [2]
        cluster.brokers[2].hang_up()
        assert sorted(admin.list_groups(timeout_s=5.0).all()) == ["a", "b", "c", "d"]
