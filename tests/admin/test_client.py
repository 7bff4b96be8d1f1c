"""The client as a library: it connects at the first call, closes its connections, and returns `Results`."""

from __future__ import annotations

import pytest

from kafka_groups.admin import GroupAdmin, Topic
from kafka_groups.errors import ConnectionFailedError, UnsupportedVersionError
from kafka_groups.model import TopicPartition
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

GROUPS = {"orders": Group(coordinator=2, commits={("t", 0): 5}), "billing": Group(coordinator=1, error=30)}
TOPIC = Topic("t", topic_id("t"), internal=False, partitions=(0,), leaders={0: 1})


def test_no_request_is_sent_before_the_first_call() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        assert admin.requests_sent == {}
        assert cluster.requests_of("ApiVersions") == []


def test_brokers_are_returned_by_id() -> None:
    with ScriptedCluster(brokers=2) as cluster, cluster.admin() as admin:
        brokers = admin.brokers()
        assert {number: broker.port for number, broker in brokers.items()} == {
            1: cluster.brokers[1].endpoint.port,
            2: cluster.brokers[2].endpoint.port,
        }


def test_each_key_either_succeeds_or_fails() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets(dict.fromkeys(["orders", "billing"]))
        assert (list(results.succeeded), list(results.failed)) == (["orders"], ["billing"])


def test_the_example_of_the_readme_works() -> None:
    with ScriptedCluster(groups=GROUPS, topics={"t": {0: 3}}) as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets({"orders": None, "absent": [("t", 0)]})
        assert results.all()["orders"][TopicPartition("t", 0)] == (5, None, "")
        assert admin.list_offsets([("t", 0)]).all() == {("t", 0): 100}


def test_progress_is_reported_for_each_operation_up_to_the_last_key() -> None:
    steps: list[tuple[str, int, int]] = []
    with ScriptedCluster(groups=GROUPS) as cluster:
        admin = GroupAdmin(cluster.settings(), progress=lambda *step: steps.append(step))
        with admin:
            admin.list_groups()
            admin.list_consumer_group_offsets(dict.fromkeys(["orders", "billing"]))
            admin.describe_consumer_groups(["orders"])
    last = {operation: (done, total) for operation, done, total in steps}
    # Both groups were listed as classic, so only one of the two describe APIs is used, for one group.
    assert last == {"listing groups": (3, 3), "fetching offsets": (2, 2), "describing groups": (1, 1)}


def test_every_request_has_the_client_id() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin(client_id="audit-7") as admin:
        admin.list_groups()
        assert {request.client_id for broker in cluster.brokers.values() for request in broker.received} == {"audit-7"}


def test_every_call_accepts_its_own_timeout() -> None:
    with ScriptedCluster(groups=GROUPS, topics={"t": {0: 1}}) as cluster, cluster.admin(timeout_s=0.001) as admin:
        assert sorted(admin.list_groups(timeout=5.0).all()) == ["billing", "orders"]
        assert list(admin.describe_consumer_groups(["orders"], timeout=5.0).all()) == ["orders"]
        assert list(admin.list_consumer_group_offsets({"orders": None}, timeout=5.0).all()) == ["orders"]
        assert admin.list_offsets([("t", 0)], timeout=5.0).all() == {("t", 0): 100}
        assert admin.describe_topics(["t"], timeout=5.0).all() == {"t": TOPIC}


def test_a_group_that_is_passed_twice_is_requested_and_returned_once() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        assert list(admin.describe_consumer_groups(["orders", "orders"]).all()) == ["orders"]
        assert cluster.requests_of("DescribeGroups")[0].body["groups"] == ["orders"]


def test_unusual_group_ids_are_listed_and_fetched_like_others() -> None:
    names = ["", " ", "naïve-ünï", "日本", "a/b:c", "x" * 32_767]
    with (
        ScriptedCluster(groups={name: Group(commits={("t", 0): 1}) for name in names}) as cluster,
        cluster.admin() as admin,
    ):
        assert sorted(admin.list_groups().succeeded) == sorted(names)
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys(names)).all()) == sorted(names)


def test_all_raises_errors_without_a_kafka_code_too() -> None:
    with (
        ScriptedCluster(versions={"ListGroups": (9, 9)}) as cluster,
        cluster.admin() as admin,
        pytest.raises(UnsupportedVersionError, match="supports ListGroups versions 9 to 9"),
    ):
        admin.list_groups().all()


def test_a_closed_client_sends_no_more_requests() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster:
        admin = cluster.admin()
        admin.list_groups()
        sent = admin.requests_sent
        admin.close()
        assert admin.requests_sent == sent


def test_a_call_on_a_closed_client_is_an_error() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster:
        admin = cluster.admin()
        admin.list_groups()
        admin.close()
        with pytest.raises(ConnectionFailedError, match="the client is closed"):
            admin.list_groups()
