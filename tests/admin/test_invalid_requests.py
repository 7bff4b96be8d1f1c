"""Requests that cannot be encoded and responses that are too large: only the items that cause them fail."""

from __future__ import annotations

import pytest

from kafka_groups.admin.network import channel
from tests.fakes.scripted_cluster import Group, ScriptedCluster


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    groups = {name: Group(coordinator=at) for name, at in {"a": 1, "b": 2, "c": 2, "d": 3}.items()}
    return ScriptedCluster(groups=groups, topics={"t": {0: 1, 1: 2}}, versions=versions)


INVALID_NAMES = pytest.mark.parametrize("name", ["not utf-8 \udcff", "x" * 40_000], ids=["not utf-8", "too long"])


@INVALID_NAMES
def test_a_group_id_that_no_request_can_encode_fails_alone(name: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        wanted = dict.fromkeys(["a", "b", name, "c", "d"])
        offsets = admin.list_consumer_group_offsets(wanted)
        described = admin.describe_consumer_groups(wanted)
        assert (sorted(offsets.succeeded), sorted(described.succeeded)) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])
        assert (list(offsets.failed), list(described.failed)) == ([name], [name])
        assert (offsets.failed[name].group, offsets.failed[name].name) == (name, "INVALID_REQUEST")
        assert offsets.failed[name].message.startswith("cannot encode the request: ")


@INVALID_NAMES
def test_a_topic_that_no_request_can_encode_fails_alone(name: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert list(admin.describe_topics(["t", name]).succeeded) == ["t"]
        assert list(admin.list_offsets([("t", 0), (name, 0), ("t", 1)]).failed) == [(name, 0)]
        named = admin.list_consumer_group_offsets({"a": [("t", 0)], "b": [(name, 0)], "c": [("t", 0)]})
        assert (sorted(named.succeeded), list(named.failed)) == (["a", "c"], ["b"])


@INVALID_NAMES
def test_a_group_id_that_no_old_request_can_encode_fails_alone(name: str) -> None:
    with _cluster(FindCoordinator=(0, 3), OffsetFetch=(0, 7)) as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets(dict.fromkeys(["a", name, "d"]))
        assert (sorted(results.succeeded), list(results.failed)) == (["a", "d"], [name])


def test_the_groups_of_a_response_that_is_too_large_are_requested_by_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    commits = {("payments", partition): 5 for partition in range(20)}
    groups = {f"g{number}": Group(commits=commits) for number in range(8)}
    with ScriptedCluster(brokers=1, groups=groups) as cluster, cluster.admin() as admin:
        admin.brokers()
        monkeypatch.setattr(channel, "_LARGEST_FRAME", 2_000)
        results = admin.list_consumer_group_offsets(dict.fromkeys(groups))
        partitions = {
            group: [len(found) for _, found in offsets.partitions()] for group, offsets in results.all().items()
        }
        assert partitions == {group: [20] for group in groups}
        sizes = [len(request.body["groups"]) for request in cluster.requests_of("OffsetFetch")]
        assert sizes[0] == 8
        assert max(sizes[-2:]) < 8


def test_a_group_whose_response_alone_is_too_large_fails_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    large = Group(commits={("payments", partition): 5 for partition in range(200)})
    groups = {"large": large, "small": Group(commits={("payments", 0): 5})}
    with ScriptedCluster(brokers=1, groups=groups) as cluster, cluster.admin() as admin:
        admin.brokers()
        monkeypatch.setattr(channel, "_LARGEST_FRAME", 2_000)
        results = admin.list_consumer_group_offsets(dict.fromkeys(groups))
        assert list(results.succeeded) == ["small"]
        failure = results.failed["large"]
        assert failure.name == "MALFORMED_RESPONSE"
        assert "more than the 2,000 that this tool reads" in failure.message


def test_a_long_group_id_is_described_in_a_request_of_its_own() -> None:
    # A broker's message on it does not fit into the response, and fails every group of the request.
    long = "x" * 32_700
    with ScriptedCluster(brokers=1, groups={"a": Group(), "b": Group()}) as cluster, cluster.admin() as admin:
        results = admin.describe_consumer_groups(["a", long, "b"])
        assert (sorted(results.succeeded), list(results.failed)) == (["a", "b"], [long])
        for api, field in (("DescribeGroups", "groups"), ("ConsumerGroupDescribe", "group_ids")):
            assert [request.body[field] for request in cluster.requests_of(api)] == [["a", "b"], [long]]
