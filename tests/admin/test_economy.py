"""The number of requests of each operation, counted by the brokers that received them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import GroupAdmin, OffsetSpec, Topic, event_loop
from kafka_groups.admin.handlers import group_batches, list_consumer_group_offsets
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

if TYPE_CHECKING:
    from tests.fakes.reactions import ReceivedRequest

TOPICS = {"payments": {0: 1, 1: 2, 2: 3}, "refunds": {0: 1}}
PLACES = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}


def _groups(kind: str = "Classic") -> dict[str, Group]:
    return {name: Group(coordinator=at, type=kind, commits={("payments", 0): 5}) for name, at in PLACES.items()}


def _group_ids(requests: Sequence[ReceivedRequest]) -> Mapping[int, list[str]]:
    return {request.broker: [group["group_id"] for group in request.body["groups"]] for request in requests}


def test_offsets_of_named_groups_need_one_lookup_and_one_fetch_per_coordinator() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcde"))
        assert sorted(results.succeeded) == ["a", "b", "c", "d", "e"]
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetFetch": 3}
        assert cluster.requests_of("FindCoordinator")[0].body["coordinator_keys"] == ["a", "b", "c", "d", "e"]
        assert _group_ids(cluster.requests_of("OffsetFetch")) == {1: ["a", "b"], 2: ["c", "d"], 3: ["e"]}


def test_connection_set_up_is_one_api_versions_per_broker_and_one_metadata_without_topics() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        admin.list_consumer_group_offsets(dict.fromkeys("abcde"))
        assert sorted(request.broker for request in cluster.requests_of("ApiVersions")) == [1, 2, 3]
        assert [request.body["topics"] for request in cluster.requests_of("Metadata")] == [[]]
        assert sorted(admin.requests_sent.elements()) == [
            ("ApiVersions", 3),
            ("ApiVersions", 3),
            ("ApiVersions", 3),
            ("FindCoordinator", 6),
            ("Metadata", 13),
            ("OffsetFetch", 9),
            ("OffsetFetch", 9),
            ("OffsetFetch", 9),
        ]


def test_a_listing_is_one_request_per_broker() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        assert list(admin.list_groups().succeeded) == ["a", "b", "c", "d", "e"]
        assert cluster.requests() == {"ListGroups": 3}
        assert sorted(request.broker for request in cluster.requests_of("ListGroups")) == [1, 2, 3]


def test_groups_that_were_listed_need_no_lookup() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        admin.list_consumer_group_offsets(dict.fromkeys(admin.list_groups().succeeded))
        assert cluster.requests() == {"ListGroups": 3, "OffsetFetch": 3}


def test_only_groups_that_were_not_listed_are_looked_up() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        admin.list_groups()
        admin.list_consumer_group_offsets({"a": None, "stranger": None, "c": None})
        assert [request.body["coordinator_keys"] for request in cluster.requests_of("FindCoordinator")] == [
            ["stranger"]
        ]


def test_coordinators_are_kept_for_later_operations() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        admin.list_consumer_group_offsets(dict.fromkeys("abcde"))
        admin.describe_consumer_groups([*"abcde"])
        assert cluster.requests()["FindCoordinator"] == 1


def test_a_group_that_moved_since_it_was_listed_is_looked_up_alone() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.groups["a"].coordinator = 3
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcde"))
        assert sorted(results.succeeded) == ["a", "b", "c", "d", "e"]
        assert [request.body["coordinator_keys"] for request in cluster.requests_of("FindCoordinator")] == [["a"]]
        assert cluster.requests()["OffsetFetch"] == 4


def test_groups_of_unknown_type_are_described_by_both_apis_once_per_coordinator() -> None:
    with ScriptedCluster(groups=_groups()) as cluster, cluster.admin() as admin:
        admin.describe_consumer_groups([*"abcde"])
        assert cluster.requests() == {"FindCoordinator": 1, "ConsumerGroupDescribe": 3, "DescribeGroups": 3}


@pytest.mark.parametrize(("kind", "api"), [("Classic", "DescribeGroups"), ("Consumer", "ConsumerGroupDescribe")])
def test_groups_of_known_type_are_described_by_one_api(kind: str, api: str) -> None:
    with ScriptedCluster(groups=_groups(kind)) as cluster, cluster.admin() as admin:
        results = admin.describe_consumer_groups(admin.list_groups().succeeded)
        assert {group.type for group in results.succeeded.values()} == {kind}
        assert cluster.requests() == {"ListGroups": 3, api: 3}


def test_the_type_of_a_description_is_kept_for_later_descriptions() -> None:
    with ScriptedCluster(groups=_groups("Consumer")) as cluster, cluster.admin() as admin:
        admin.describe_consumer_groups(["a"])
        admin.describe_consumer_groups(["a"])
        assert cluster.requests() == {"FindCoordinator": 1, "ConsumerGroupDescribe": 2, "DescribeGroups": 1}


def test_log_end_offsets_need_one_metadata_and_one_request_per_leader() -> None:
    partitions = [("payments", 0), ("payments", 1), ("payments", 2), ("refunds", 0)]
    with ScriptedCluster(topics=TOPICS) as cluster, cluster.admin() as admin:
        assert len(admin.list_offsets(partitions).succeeded) == 4
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 3}
        topics = [topic["name"] for topic in cluster.requests_of("Metadata")[-1].body["topics"]]
        assert topics == ["payments", "refunds"]


def test_leaders_are_kept_for_log_start_offsets() -> None:
    with ScriptedCluster(topics=TOPICS) as cluster, cluster.admin() as admin:
        admin.list_offsets([("payments", 0), ("payments", 1)])
        admin.list_offsets([("payments", 0), ("payments", 1)], spec=OffsetSpec.earliest())
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 4}


def test_many_topics_are_described_in_one_request() -> None:
    with ScriptedCluster(topics=TOPICS) as cluster, cluster.admin() as admin:
        assert admin.describe_topics(["payments", "refunds"]).succeeded == {
            "payments": Topic(
                "payments", topic_id("payments"), internal=False, partitions=(0, 1, 2), leaders={0: 1, 1: 2, 2: 3}
            ),
            "refunds": Topic("refunds", topic_id("refunds"), internal=False, partitions=(0,), leaders={0: 1}),
        }
        assert cluster.requests() == {"Metadata": 1}


def test_calls_without_keys_send_no_request() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        assert admin.list_consumer_group_offsets({}).succeeded == {}
        assert admin.describe_consumer_groups([]).succeeded == {}
        assert admin.list_offsets([]).succeeded == {}
        assert cluster.requests() == {}


def test_more_groups_than_the_maximum_of_one_fetch_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_consumer_group_offsets, "MAX_GROUPS", 2)
    groups = {f"g{number}": Group() for number in range(5)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys(groups)).succeeded) == [
            "g0",
            "g1",
            "g2",
            "g3",
            "g4",
        ]
        sizes = [len(request.body["groups"]) for request in cluster.requests_of("OffsetFetch")]
        assert sizes == [2, 2, 1]


def test_more_named_partitions_than_the_maximum_of_one_fetch_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_consumer_group_offsets, "MAX_NAMED_PARTITIONS", 3)
    wanted = {name: [("payments", 0), ("payments", 1)] for name in ("a", "b", "huge")}
    wanted["huge"] = [("payments", partition) for partition in range(9)]
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        assert sorted(admin.list_consumer_group_offsets(wanted).succeeded) == ["a", "b", "huge"]
        groups = [[group["group_id"] for group in each.body["groups"]] for each in cluster.requests_of("OffsetFetch")]
        assert groups == [["a"], ["b"], ["huge"]]


def test_more_groups_than_the_maximum_of_one_describe_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_batches, "MAX_GROUPS", 2)
    groups = {f"g{number}": Group() for number in range(5)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        assert len(admin.describe_consumer_groups(groups).succeeded) == 5
        assert [len(request.body["groups"]) for request in cluster.requests_of("DescribeGroups")] == [2, 2, 1]
        assert [len(request.body["group_ids"]) for request in cluster.requests_of("ConsumerGroupDescribe")] == [2, 2, 1]


def test_a_very_large_lookup_is_spread_over_the_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MAX_LOOKUP_KEYS", 2)
    groups = {f"g{number}": Group(coordinator=1) for number in range(9)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        assert len(admin.list_consumer_group_offsets(dict.fromkeys(groups)).succeeded) == 9
        lookups = {
            request.broker: len(request.body["coordinator_keys"]) for request in cluster.requests_of("FindCoordinator")
        }
        assert lookups == {1: 3, 2: 3, 3: 3}
        assert cluster.requests()["OffsetFetch"] <= 3


def test_a_poll_after_a_coordinator_moved_looks_it_up_once() -> None:
    groups = {name: Group(coordinator=at) for name, at in PLACES.items()}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        admin.describe_with_offsets(PLACES, dict.fromkeys(PLACES))
        cluster.groups["a"].coordinator = 3
        for _ in range(3):
            descriptions, offsets = admin.describe_with_offsets(PLACES, dict.fromkeys(PLACES))
            assert (list(descriptions.failed), list(offsets.failed)) == ([], [])
        # One for the first call, and one for each API that found the coordinator moved.
        assert cluster.requests()["FindCoordinator"] == 3
        last = admin.describe_consumer_groups(["a"]).all()["a"].coordinator
        assert last is not None
        assert last.id == 3
        assert cluster.requests()["FindCoordinator"] == 3


def test_a_group_that_moved_and_changed_its_type_is_described_without_another_lookup() -> None:
    groups = {"a": Group(coordinator=1)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        admin.describe_consumer_groups(["a"]).all()
        cluster.groups["a"].coordinator, cluster.groups["a"].type = 3, "Consumer"
        assert admin.describe_consumer_groups(["a"]).all()["a"].type == "Consumer"
        # One for the first call, and one after DescribeGroups found that the coordinator moved.
        assert cluster.requests()["FindCoordinator"] == 2
        assert [request.broker for request in cluster.requests_of("ConsumerGroupDescribe")] == [1, 3]


def test_a_lookup_uses_the_connection_that_exists_already() -> None:
    with ScriptedCluster(groups={"a": Group(coordinator=2)}) as cluster:
        with GroupAdmin(cluster.brokers[2].settings()) as admin:
            admin.list_consumer_group_offsets({"a": None}).all()
        assert {request.broker for broker in cluster.brokers.values() for request in broker.received} == {2}
