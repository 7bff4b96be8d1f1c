"""Keys that hang a broker's response: all other keys of their batches have results within the deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.handlers import list_consumer_group_offsets
from kafka_groups.admin.network.extra_connections import FIRST_EXTRA
from kafka_groups.model import Results
from kafka_groups.protocol import Struct
from tests.fakes.hanging_requests import HangingRequests, keys_of
from tests.fakes.reactions import ReceivedRequest, delayed, silent, throttled
from tests.fakes.scripted_cluster import Group, ScriptedCluster

MANY = [f"g{number:04}" for number in range(1_000)]
FEW = [f"g{number}" for number in range(6)]
OLD = {"OffsetFetch": (1, 5), "FindCoordinator": (0, 3)}


def _cluster(names: list[str], *, brokers: int = 1, kind: str = "Classic", **options: Any) -> ScriptedCluster:
    groups = {name: Group(type=kind, coordinator=brokers, commits={("t", 0): 5}) for name in names}
    return ScriptedCluster(brokers=brokers, groups=groups, topics={"t": {0: 1}}, **options)


def _describe(admin: GroupAdmin, names: list[str], timeout: float) -> Results[str, Any]:
    return admin.describe_consumer_groups(names, timeout=timeout)


def _fetch(admin: GroupAdmin, names: list[str], timeout: float) -> Results[str, Any]:
    return admin.list_consumer_group_offsets(dict.fromkeys(names), timeout=timeout)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_some_of_a_thousand_groups_hang_and_all_others_are_described(count: int) -> None:
    hanging = MANY[137 :: len(MANY) // count][:count]
    with _cluster(MANY) as cluster, cluster.admin() as admin, HangingRequests(cluster, "DescribeGroups", hanging):
        started = cluster.clock()
        results = _describe(admin, MANY, 3.0)
        assert cluster.clock() - started < 4
        assert sorted(results.succeeded) == sorted({*MANY} - {*hanging})
        assert {(failure.name, failure.broker) for failure in results.failed.values()} == {("TIMEOUT", 1)}
        assert "; broker 1 (" in results.failed[hanging[0]].message
        # Twice the binary logarithm of 1,000 for each of them.
        assert len(cluster.requests_of("DescribeGroups")) <= 1 + 22 * count


@pytest.mark.parametrize(
    ("api", "brokers", "kind", "call"),
    [
        ("ConsumerGroupDescribe", 1, "Consumer", _describe),
        ("OffsetFetch", 1, "Classic", _fetch),
        ("FindCoordinator", 1, "Classic", _fetch),
        ("FindCoordinator", 3, "Classic", _fetch),
        ("FindCoordinator", 1, "Classic", _describe),
        ("FindCoordinator", 3, "Classic", _describe),
    ],
)
def test_one_group_hangs_each_of_the_batched_requests_that_read(
    api: str, brokers: int, kind: str, call: Callable[[GroupAdmin, list[str], float], Results[str, Any]]
) -> None:
    with _cluster(MANY, brokers=brokers, kind=kind) as cluster, cluster.admin() as admin:
        with HangingRequests(cluster, api, ["g0555"]):
            results = call(admin, MANY, 4.0)
        assert (len(results.succeeded), list(results.failed)) == (999, ["g0555"])
        assert results.failed["g0555"].name == "TIMEOUT"
        assert len(cluster.requests_of(api)) <= 40


def test_a_group_whose_lookup_hangs_leaves_time_to_groups_that_were_looked_up_before() -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin, HangingRequests(cluster, "FindCoordinator", ["new"]):
        admin.describe_consumer_groups(FEW).all()
        assert sorted(_describe(admin, [*FEW, "new"], 2.0).succeeded) == FEW


@pytest.mark.parametrize("hanging", [("t", 3), ("u", 0)])
def test_one_partition_hangs_and_the_other_log_offsets_are_listed(hanging: tuple[str, int]) -> None:
    topics = {"t": dict.fromkeys(range(100), 1), "u": dict.fromkeys(range(100), 1)}
    partitions = [(topic, number) for topic in topics for number in topics[topic]]
    with ScriptedCluster(brokers=1, topics=topics) as cluster, cluster.admin() as admin:
        with HangingRequests(cluster, "ListOffsets", [hanging]):
            results = admin.list_offsets(partitions, timeout=2.0)
        assert (len(results.succeeded), list(results.failed)) == (199, [hanging])


def test_one_topic_hangs_and_the_partitions_of_the_others_are_listed() -> None:
    topics = {f"t{number}": {0: 1} for number in range(20)}
    with ScriptedCluster(brokers=1, topics=topics) as cluster, cluster.admin() as admin:
        with HangingRequests(cluster, "Metadata", ["t7"]):
            results = admin.describe_topics(topics, timeout=2.0)
        assert (len(results.succeeded), list(results.failed)) == (19, ["t7"])


def test_requests_that_wait_behind_one_that_hangs_are_sent_once_more_as_they_are() -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin, HangingRequests(cluster, "DescribeGroups", ["g3"]):
        descriptions, offsets = admin.describe_with_offsets(FEW, dict.fromkeys(FEW), timeout=2.0)
        assert sorted(descriptions.succeeded) == ["g0", "g1", "g2", "g4", "g5"]
        assert sorted(offsets.all()) == FEW
        # The broker reads the first one only after the group that hangs, which is never.
        assert [list(keys_of(request)) for request in cluster.requests_of("OffsetFetch")] == [FEW]


@pytest.mark.parametrize("api", ["OffsetFetch", "FindCoordinator"])
def test_brokers_with_a_request_for_each_group_are_no_obstacle(api: str) -> None:
    names = MANY[:100]
    with _cluster(names, versions=OLD) as cluster, cluster.admin() as admin:
        with HangingRequests(cluster, api, ["g0042"]):
            results = _fetch(admin, names, 3.0)
        assert (len(results.succeeded), list(results.failed)) == (99, ["g0042"])


def test_the_late_response_to_the_first_request_is_used() -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.script("OffsetFetch", delayed(1.3), *[silent] * 20)
        started = cluster.clock()
        assert sorted(_fetch(admin, FEW, 2.0).all()) == FEW
        assert cluster.clock() - started < 1.8
        assert len(cluster.requests_of("OffsetFetch")) > 1


@pytest.mark.parametrize("timeout", [2.5, 10.0])
def test_a_slow_broker_gets_each_request_once(timeout: float) -> None:
    with _cluster(FEW, brokers=3) as cluster, cluster.admin() as admin:
        for api in ("FindCoordinator", "ConsumerGroupDescribe", "DescribeGroups", "OffsetFetch", "ListOffsets"):
            cluster.script(api, *[delayed(0.8)] * 3)
        _fetch(admin, FEW, timeout).all()
        _describe(admin, FEW, timeout).all()
        admin.list_offsets([("t", 0)], timeout=timeout).all()
        requests = cluster.requests()
        assert requests == dict.fromkeys(requests, 1)
        assert len(cluster.requests_of("ApiVersions")) == 2


def test_a_broker_that_throttles_the_client_gets_no_repeats() -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", throttled(60_000))
        admin.list_groups()
        assert sorted(_fetch(admin, FEW, 1.0).failed) == FEW
        assert cluster.requests_of("OffsetFetch") == []


def test_requests_that_a_throttled_broker_holds_back_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_consumer_group_offsets, "MAX_GROUPS", 3)
    with _cluster(FEW) as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", throttled(60_000), *[silent] * 20)
        assert sorted(_fetch(admin, FEW, 1.0).failed) == ["g3", "g4", "g5"]
        assert len(cluster.requests_of("OffsetFetch")) == 2


def test_a_broker_that_responds_to_nothing_gets_ten_repeats_of_a_request() -> None:
    with _cluster(MANY) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.script("OffsetFetch", *[silent] * 200)
        assert len(_fetch(admin, MANY, 3.0).failed) == 1_000
        assert len(cluster.requests_of("OffsetFetch")) <= 11


def test_a_broker_that_accepts_connections_and_does_not_respond_there_gets_no_repeats() -> None:
    with _cluster(MANY) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.script("OffsetFetch", *[silent] * 200)
        cluster.script("ApiVersions", *[silent] * 200)
        assert len(_fetch(admin, MANY, 2.0).failed) == 1_000
        assert len(cluster.requests_of("OffsetFetch")) == 1


def test_the_connections_of_repeats_are_closed_and_the_blocked_one_is_not_used_again() -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin, HangingRequests(cluster, "DescribeGroups", ["g3"]):
        _describe(admin, FEW, 1.0)
        assert [number for _, number in admin._pool._connections if number < 0 or number >= FIRST_EXTRA] == []
        assert sorted(_fetch(admin, FEW, 0.5).all()) == FEW


@pytest.mark.parametrize(
    ("api", "change"),
    [
        ("DeleteGroups", lambda admin: admin.delete_consumer_groups(FEW, timeout=1.5)),
        (
            "OffsetDelete",
            lambda admin: admin.delete_consumer_group_offsets({name: [("t", 0)] for name in FEW}, timeout=1.5),
        ),
    ],
)
def test_requests_that_change_something_are_never_repeated(
    api: str, change: Callable[[GroupAdmin], Results[str, Any]]
) -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin:
        for group in cluster.groups.values():
            group.state = "Empty"
        cluster.script(api, *[silent] * 50)
        results = change(admin)
        assert {failure.name for failure in results.failed.values()} == {"OUTCOME_UNKNOWN"}
        names = [key for request in cluster.requests_of(api) for key in _changed(request.body)]
        assert sorted(names) == FEW


def _changed(body: dict[str, Any]) -> list[str]:
    return list(body["groups_names"]) if "groups_names" in body else [body["group_id"]]


def test_a_group_whose_lookup_hangs_keeps_no_other_group_from_being_deleted() -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin, HangingRequests(cluster, "FindCoordinator", ["g3"]):
        for group in cluster.groups.values():
            group.state = "Empty"
        results = admin.delete_consumer_groups(FEW, timeout=2.0)
        assert (sorted(results.succeeded), list(results.failed)) == (["g0", "g1", "g2", "g4", "g5"], ["g3"])
        names = [key for request in cluster.requests_of("DeleteGroups") for key in _changed(request.body)]
        assert sorted(names) == ["g0", "g1", "g2", "g4", "g5"]


def test_a_group_that_hangs_keeps_no_upgraded_group_from_being_described_as_its_new_type() -> None:
    with _cluster(FEW) as cluster, cluster.admin() as admin, HangingRequests(cluster, "DescribeGroups", ["g3"]):
        admin.list_groups()
        cluster.groups["g1"].type = "Consumer"
        results = _describe(admin, FEW, 2.0)
        assert results.succeeded["g1"].type == "Consumer"
        assert list(results.failed) == ["g3"]


def _drops_newer(request: ReceivedRequest, response: Struct) -> Struct | None:
    return response if request.version == 0 else None


@pytest.mark.parametrize("brokers", [1, 2])
@pytest.mark.parametrize(
    ("api", "call"),
    [
        ("DescribeGroups", _describe),
        ("OffsetFetch", _fetch),
        ("FindCoordinator", _fetch),
        ("FindCoordinator", _describe),
    ],
)
def test_one_group_hangs_at_brokers_that_close_the_connection_at_a_newer_api_versions(
    api: str, call: Callable[..., Results[str, Any]], brokers: int
) -> None:
    names = [f"g{number}" for number in range(40)]
    with _cluster(names, brokers=brokers) as cluster:
        cluster.script("ApiVersions", *[_drops_newer] * 500)
        with cluster.admin() as admin, HangingRequests(cluster, api, ["g7"]):
            results = call(admin, names, 4.0)
            assert sorted(results.succeeded) == sorted({*names} - {"g7"})
            assert {failure.name for failure in results.failed.values()} == {"TIMEOUT"}
