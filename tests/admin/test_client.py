"""The door as a library: opened when first asked, closed without remains, one shape of answer for every handler."""

from __future__ import annotations

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import UnsupportedVersionError
from kafka_groups.model import TopicPartition
from tests.fakes.scripted_cluster import Group, ScriptedCluster

GROUPS = {"orders": Group(coordinator=2, commits={("t", 0): 5}), "billing": Group(coordinator=1, error=30)}


def test_nothing_is_asked_before_the_first_question() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        assert admin.requests_sent == {}
        assert cluster.requests_of("ApiVersions") == []


def test_the_brokers_of_the_cluster_are_told_by_id() -> None:
    with ScriptedCluster(brokers=2) as cluster, cluster.admin() as admin:
        brokers = admin.brokers()
        assert {number: broker.port for number, broker in brokers.items()} == {
            1: cluster.brokers[1].endpoint.port,
            2: cluster.brokers[2].endpoint.port,
        }


def test_each_item_is_either_found_or_failed() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        answers = admin.list_consumer_group_offsets(dict.fromkeys(["orders", "billing"]))
        assert (list(answers.succeeded), list(answers.failed)) == (["orders"], ["billing"])


def test_the_readmes_example_works_as_it_stands() -> None:
    with ScriptedCluster(groups=GROUPS, topics={"t": {0: 3}}) as cluster, GroupAdmin(cluster.settings()) as admin:
        answers = admin.list_consumer_group_offsets({"orders": None, "absent": [("t", 0)]})
        assert answers.all()["orders"][TopicPartition("t", 0)] == (5, None, "")
        assert admin.list_offsets([("t", 0)]).all() == {("t", 0): 100}


def test_progress_is_told_by_kind_of_question_up_to_the_last_item() -> None:
    told: list[tuple[str, int, int]] = []
    with ScriptedCluster(groups=GROUPS) as cluster:
        admin = GroupAdmin(cluster.settings(), progress=lambda *step: told.append(step))
        with admin:
            admin.list_groups()
            admin.list_consumer_group_offsets(dict.fromkeys(["orders", "billing"]))
            admin.describe_consumer_groups(["orders"])
    last = {what: (done, total) for what, done, total in told}
    # Both groups were listed as classic, so one of the two describes is asked about one group.
    assert last == {"listing groups": (3, 3), "fetching offsets": (2, 2), "describing groups": (1, 1)}


def test_a_client_id_travels_with_every_request() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin(client_id="audit-7") as admin:
        admin.list_groups()
        assert {asked.client_id for broker in cluster.brokers.values() for asked in broker.received} == {"audit-7"}


def test_every_call_takes_a_timeout_of_its_own_and_is_quick_when_all_is_well() -> None:
    with ScriptedCluster(groups=GROUPS, topics={"t": {0: 1}}) as cluster, cluster.admin(timeout_s=0.001) as admin:
        assert sorted(admin.list_groups(timeout=5.0).all()) == ["billing", "orders"]
        assert list(admin.describe_consumer_groups(["orders"], timeout=5.0).all()) == ["orders"]
        assert list(admin.list_consumer_group_offsets({"orders": None}, timeout=5.0).all()) == ["orders"]
        assert admin.list_offsets([("t", 0)], timeout=5.0).all() == {("t", 0): 100}
        assert admin.list_partitions(["t"], timeout=5.0).all() == {"t": (0,)}


def test_a_group_that_was_asked_about_twice_is_answered_once() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        assert list(admin.describe_consumer_groups(["orders", "orders"]).all()) == ["orders"]
        assert cluster.requests_of("DescribeGroups")[0].body["groups"] == ["orders"]


def test_odd_group_ids_are_ids_like_any_other() -> None:
    odd = ["", " ", "naïve-ünï", "日本", "a/b:c", "x" * 32_767]
    with (
        ScriptedCluster(groups={name: Group(commits={("t", 0): 1}) for name in odd}) as cluster,
        cluster.admin() as admin,
    ):
        assert sorted(admin.list_groups().succeeded) == sorted(odd)
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys(odd)).all()) == sorted(odd)


def test_all_raises_our_own_kind_of_error_too() -> None:
    with (
        ScriptedCluster(versions={"ListGroups": (9, 9)}) as cluster,
        cluster.admin() as admin,
        pytest.raises(UnsupportedVersionError, match="supports ListGroups versions 9 to 9"),
    ):
        admin.list_groups().all()


def test_closing_hangs_up_on_every_broker() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster:
        admin = cluster.admin()
        admin.list_groups()
        sent = admin.requests_sent
        admin.close()
        assert admin.requests_sent == sent
