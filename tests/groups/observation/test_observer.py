"""The observer: which polls it keeps, what it reads once, and polls that fail as a whole."""

from __future__ import annotations

import re

import pytest

from kafka_groups.causes.diagnosis import explain
from kafka_groups.causes.evidence import LogTime, Need, OpenTransaction
from kafka_groups.errors import AdminError
from kafka_groups.groups.observation.observer import Observer
from kafka_groups.groups.observation.poll import Poll
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import Failure, TopicPartition
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Group
from tests.groups.observation.observed_cluster import AT_MS, evidence_of, observed_cluster, observer_of, poll

FIRST = TopicPartition("orders", 0)
DAY_MS = 86_400_000


def test_only_the_newest_polls_are_kept() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing", most_polls=3)
        poll(observer, admin, 5)
        evidence = observer.evidence()["billing"]
    assert [each.at_ms - AT_MS for each in evidence.polls] == [12_000, 18_000, 24_000]
    assert [each.at_ms for each in evidence.partitions[FIRST]] == [each.at_ms for each in evidence.polls]


def test_notes_of_the_first_poll_are_kept() -> None:
    cluster = observed_cluster()
    cluster.groups |= {f"other-{number}": Group(coordinator=2) for number in range(200)}
    with cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin, 3)
    assert [note.kind for note in observer.notes] == ["other_groups_sampled"]


def test_earlier_offsets_of_logs_are_ascending_and_end_with_the_first_poll() -> None:
    cluster = observed_cluster()
    # Records of 2 days, 30 minutes and 3 minutes before the first poll.
    cluster.records[FIRST] = [AT_MS - 2 * DAY_MS, AT_MS - 1_800_000, AT_MS - 180_000]
    times = evidence_of(cluster, "billing").log_times[FIRST]
    ages = [(AT_MS - at_ms) // 60_000 for at_ms, _ in times]
    assert ages == [1440, 360, 60, 15, 5, 2, 1]
    assert [offset for _, offset in times] == [1, 1, 1, 2, 2, 3, 3]
    assert times[-1] == LogTime(AT_MS - 60_000, 3)


def test_a_later_poll_that_fails_as_a_whole_has_only_its_failure() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin)
        for number in (1, 2):
            cluster.stop(number)
        poll(observer, admin, first=1)
        evidence = observer.evidence()["billing"]
    assert (len(evidence.polls), len(observer.last.failures) > 0) == (1, True)


@pytest.mark.parametrize("polls_before", [0, 1])
def test_a_group_without_its_coordinator_has_the_failure_as_evidence(polls_before: int) -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing", "checkout")
        poll(observer, admin, polls_before)
        cluster.stop(2)
        poll(observer, admin, first=polls_before)
        evidence = observer.evidence()
    failure = evidence["checkout"].coordinator_failure
    assert failure is not None
    assert failure.name in {"CONNECTION_FAILED", "TIMEOUT"}
    assert evidence["checkout"].last.group.is_described == bool(polls_before)
    assert evidence["billing"].coordinator_failure is None


def test_a_first_poll_that_fails_as_a_whole_raises_its_error() -> None:
    cluster = observed_cluster()
    cluster.close()
    with cluster.admin() as admin, pytest.raises(AdminError):
        poll(observer_of(admin, "billing"), admin)


def test_transactions_are_read_where_the_last_stable_offset_stands_still() -> None:
    cluster = observed_cluster()
    cluster.stable[FIRST] = 50
    cluster.producers[FIRST] = [
        {"producer_id": 7, "producer_epoch": 1, "last_timestamp": 99, "current_txn_start_offset": 50},
        {"producer_id": 8, "producer_epoch": 0, "last_timestamp": 98, "current_txn_start_offset": -1},
    ]
    evidence = evidence_of(cluster, "billing", polls=2)
    assert evidence.transactions == {FIRST: (OpenTransaction(7, 1, 50, 99),)}
    assert cluster.requests()["DescribeProducers"] == 1


def test_no_producer_is_described_without_a_standstill() -> None:
    cluster = observed_cluster()
    assert evidence_of(cluster, "billing", polls=2).transactions == {}
    assert cluster.requests()["DescribeProducers"] == 0


def test_transactions_that_the_user_may_not_see_are_unseen_evidence() -> None:
    cluster = observed_cluster()
    cluster.stable[FIRST] = 50
    denied = {"partition_index": 0, "error_code": 29, "active_producers": []}
    cluster.script("DescribeProducers", changed(topics=[{"name": "orders", "partitions": [denied]}]), brokers=[1])
    evidence = evidence_of(cluster, "billing", polls=2)
    assert "TOPIC_AUTHORIZATION_FAILED" in evidence.unseen[Need.TRANSACTIONS]


def test_brokers_without_describe_producers_leave_transactions_unseen() -> None:
    cluster = observed_cluster(versions={"DescribeProducers": (-1, -1)})
    cluster.stable[FIRST] = 50
    assert Need.TRANSACTIONS in evidence_of(cluster, "billing", polls=2).unseen


def test_a_selector_that_matches_nothing_selects_no_group() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = Observer(admin, Selectors(match=re.compile("x.*")), most_polls=6, interval_ms=1)
        poll(observer, admin)
    assert (observer.anything_selected, observer.anything_listed, observer.evidence()) == (False, True, {})


def test_partitions_of_a_deleted_topic_stay_known_after_a_failed_poll() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin)
        cluster.groups["billing"] = Group(coordinator=1, state="Empty")
        del cluster.topics["orders"]
        observer._polls.append(Poll(AT_MS + 1))
        poll(observer, admin, first=1)
        evidence = observer.evidence()["billing"]
    assert [each.exists for each in evidence.topics["orders"]] == [True, False]
    assert evidence.partitions[FIRST][-1].committed is None


def test_partitions_that_no_kept_poll_saw_in_use_are_forgotten() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing", most_polls=2)
        poll(observer, admin)
        cluster.groups["billing"] = Group(coordinator=1, state="Empty")
        del cluster.topics["orders"]
        poll(observer, admin, 1, first=1)
        assert observer.evidence()["billing"].partitions
        poll(observer, admin, 2, first=2)
        assert not observer.evidence()["billing"].partitions


def test_the_failure_of_a_coordinator_is_evidence() -> None:
    failure = Failure(15, "COORDINATOR_NOT_AVAILABLE", "The coordinator is not available.", group="billing")
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin)
        assert observer.evidence()["billing"].coordinator_failure is None
        observer._polls.append(Poll(AT_MS + 1, failures=(failure,)))
        evidence = observer.evidence()["billing"]
    assert evidence.coordinator_failure == failure
    assert "coordinator_trouble" in [each.cause.name for each in explain(evidence).found]
