"""One poll of selected groups: its requests, what it observes, and what stays unseen."""

from __future__ import annotations

from kafka_groups.causes.evidence import Need
from kafka_groups.model import TopicPartition
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Commit, Group
from tests.groups.observation.observed_cluster import AT_MS, evidence_of, observed_cluster, observer_of, poll

FIRST = TopicPartition("orders", 0)
SECOND = TopicPartition("orders", 1)


def test_a_later_poll_costs_a_request_per_coordinator_and_three_per_leader() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing", "checkout")
        poll(observer, admin)
        before = cluster.requests()
        poll(observer, admin, first=1)
        after = cluster.requests()
    # Two coordinators of the selected groups, and one of the other group; two leaders.
    assert after - before == {"DescribeGroups": 2, "OffsetFetch": 3, "Metadata": 1, "ListOffsets": 6}


def test_the_first_poll_lists_groups_and_reads_seven_earlier_times() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        poll(observer_of(admin, "billing", "checkout"), admin)
        requests = cluster.requests()
    assert (requests["ListGroups"], requests["FindCoordinator"], requests["ListOffsets"]) == (2, 0, 6 + 7 * 2)


def test_a_partition_has_its_commit_and_the_offsets_of_its_log() -> None:
    cluster = observed_cluster()
    cluster.groups["billing"] = Group(state="Empty", commits={FIRST: Commit(5, epoch=3)})
    cluster.starts[FIRST] = 2
    cluster.stable[FIRST] = 90
    (seen,) = evidence_of(cluster, "billing").partitions[FIRST]
    assert (seen.at_ms, seen.committed, seen.leader_epoch, seen.leader) == (AT_MS, 5, 3, 1)
    assert (seen.log_start, seen.stable_end, seen.log_end, seen.lag) == (2, 90, 100, 95)


def test_a_topic_that_does_not_exist_is_evidence_and_no_failure() -> None:
    with observed_cluster(topics={}) as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin)
        evidence = observer.evidence()["billing"]
    assert [each.exists for each in evidence.topics["orders"]] == [False]
    assert evidence.partitions[FIRST][0].log_end is None
    assert (observer.last.failures, evidence.unseen) == ((), {})


def test_a_topic_that_is_deleted_with_its_commits_stays_in_the_evidence() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin)
        cluster.groups["billing"] = Group(coordinator=1, state="Empty")
        del cluster.topics["orders"]
        poll(observer, admin, first=1)
        evidence = observer.evidence()["billing"]
    assert [each.exists for each in evidence.topics["orders"]] == [True, False]
    assert [each.committed for each in evidence.partitions[FIRST]] == [5, None]


def test_a_topic_has_its_id_and_the_number_of_its_partitions() -> None:
    cluster = observed_cluster()
    (seen,) = evidence_of(cluster, "billing").topics["orders"]
    assert (seen.topic_id, seen.partitions, seen.exists) == (str(cluster.topic_id("orders")), 2, True)


def test_a_partition_without_a_leader_is_a_failure_that_waits_for_nobody() -> None:
    with observed_cluster(topics={"orders": {0: 1, 1: -1}, "payments": {0: 1}}) as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin)
        evidence = observer.evidence()["billing"]
    (failure,) = observer.last.failures
    assert (failure.name, failure.partition) == ("LEADER_NOT_AVAILABLE", 1)
    assert (evidence.partitions[SECOND][0].leader, evidence.partitions[SECOND][0].lag) == (None, None)
    assert Need.LOG_ENDS in evidence.unseen


def test_a_denied_topic_is_unseen_evidence_and_a_failure() -> None:
    cluster = observed_cluster()
    denied = {"error_code": 29, "name": "orders", "topic_id": cluster.topic_id("orders"), "partitions": []}
    with cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        for broker in cluster.brokers.values():
            broker.script("Metadata", *[changed(topics=[denied])] * 3)
        poll(observer, admin)
        evidence = observer.evidence()["billing"]
    assert "TOPIC_AUTHORIZATION_FAILED" in evidence.unseen[Need.TOPICS]
    assert "TOPIC_AUTHORIZATION_FAILED" in evidence.unseen[Need.LOG_ENDS]
    assert {failure.name for failure in observer.last.failures} == {"TOPIC_AUTHORIZATION_FAILED"}


def test_a_broker_that_does_not_respond_is_named_with_the_reason() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing")
        poll(observer, admin)
        cluster.stop(2)
        poll(observer, admin, first=1)
        evidence = observer.evidence()["billing"]
    assert "CONNECTION_FAILED" in evidence.unanswering_brokers[2]
    assert [each.lag for each in evidence.partitions[SECOND]] == [93, None]
    assert [failure.broker for failure in observer.last.failures] == [2]


def test_a_group_that_fails_is_missing_from_the_poll_and_the_others_are_there() -> None:
    with observed_cluster() as cluster, cluster.admin() as admin:
        observer = observer_of(admin, "billing", "checkout")
        poll(observer, admin)
        cluster.groups["checkout"].error = 30
        poll(observer, admin, first=1)
        evidence = observer.evidence()
    assert [len(evidence[name].polls) for name in ("billing", "checkout")] == [2, 1]
    assert {failure.group for failure in observer.last.failures} == {"checkout"}


def test_the_lag_of_a_share_group_is_that_of_its_coordinator() -> None:
    cluster = observed_cluster()
    cluster.groups["billing"] = Group(type="Share", protocol_type="share", commits={FIRST: 5}, lags={FIRST: 7})
    (seen,) = evidence_of(cluster, "billing").partitions[FIRST]
    assert (seen.committed, seen.log_end, seen.lag) == (5, 100, 7)
