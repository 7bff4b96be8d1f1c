"""Brokers without the batched requests of KIP-699 and KIP-709: one group per request, many requests in flight."""

from __future__ import annotations

import pytest

from kafka_groups.model import CommittedOffset, TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest, changed
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

NAMES = [f"g{number}" for number in range(10)]
# The versions of Kafka 2.8, the last release before both KIPs.
OLD = {"FindCoordinator": (0, 3), "OffsetFetch": (0, 7), "ConsumerGroupDescribe": (0, -1), "DescribeGroups": (0, 5)}


def _groups() -> dict[str, Group]:
    return {name: Group(coordinator=number % 2 + 1, commits={("t", 0): number}) for number, name in enumerate(NAMES)}


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    return ScriptedCluster(brokers=2, groups=_groups(), topics={"t": {0: 1}}, versions={**OLD, **versions})


def test_each_group_is_looked_up_and_fetched_by_its_own_request() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets(dict.fromkeys(NAMES))
        assert {name: dict(offsets)[TopicPartition("t", 0)] for name, offsets in results.all().items()} == {
            "g0": CommittedOffset(0, None, ""),
            "g1": CommittedOffset(1, None, ""),
            "g2": CommittedOffset(2, None, ""),
            "g3": CommittedOffset(3, None, ""),
            "g4": CommittedOffset(4, None, ""),
            "g5": CommittedOffset(5, None, ""),
            "g6": CommittedOffset(6, None, ""),
            "g7": CommittedOffset(7, None, ""),
            "g8": CommittedOffset(8, None, ""),
            "g9": CommittedOffset(9, None, ""),
        }
        assert cluster.requests() == {"FindCoordinator": 10, "OffsetFetch": 10}
        assert [request.body["key"] for request in cluster.requests_of("FindCoordinator")] == NAMES
        assert {request.version for request in cluster.requests_of("OffsetFetch")} == {7}


@pytest.mark.parametrize(("highest", "lookups"), [(3, [[name] for name in NAMES]), (4, [NAMES]), (5, [NAMES])])
def test_groups_are_looked_up_together_since_exactly_version_4_of_find_coordinator(
    highest: int, lookups: list[list[str]]
) -> None:
    with _cluster(FindCoordinator=(0, highest)) as cluster, cluster.admin() as admin:
        results = admin.describe_consumer_groups(NAMES)
        coordinators = [group.coordinator for group in results.all().values()]
        assert [coordinator and coordinator.id for coordinator in coordinators] == [1, 2] * 5
        requests = cluster.requests_of("FindCoordinator")
        assert {request.version for request in requests} == {highest}
        assert [request.body["coordinator_keys"] or [request.body["key"]] for request in requests] == lookups


@pytest.mark.parametrize("highest", [3, 4])
def test_an_error_of_a_lookup_is_of_its_group_before_and_since_version_4(highest: int) -> None:
    def refuse(_request: ReceivedRequest, response: Struct) -> Struct:
        first, *rest = response["coordinators"]
        refused = {"error_code": 30, "error_message": None}
        return {**response, **refused, "coordinators": [{**first, **refused}, *rest]}

    with _cluster(FindCoordinator=(0, highest)) as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", refuse)
        results = admin.describe_consumer_groups(NAMES)
        assert {name: failure.name for name, failure in results.failed.items()} == {"g0": "GROUP_AUTHORIZATION_FAILED"}
        assert list(results.succeeded) == NAMES[1:]


def test_many_single_requests_are_in_flight_at_once() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        # These brokers respond only after all requests have arrived, so sequential requests would never get a response.
        cluster.brokers[1].hold("FindCoordinator", until=10)
        cluster.brokers[1].hold("OffsetFetch", until=5)
        cluster.brokers[2].hold("OffsetFetch", until=5)
        assert len(admin.list_consumer_group_offsets(dict.fromkeys(NAMES)).all()) == 10


def test_no_more_than_64_requests_are_in_flight_on_a_connection() -> None:
    names = [f"g{number}" for number in range(200)]
    with ScriptedCluster(brokers=1, versions=OLD) as cluster, cluster.admin() as admin:
        cluster.brokers[1].hold("FindCoordinator", until=65)
        results = admin.list_consumer_group_offsets(dict.fromkeys(names), timeout=0.8)
        # After half of the time the rest is sent on other connections, one request at a time on each.
        assert len(cluster.requests_of("FindCoordinator")) == 64 + 10
        assert {failure.name for failure in results.failed.values()} == {"TIMEOUT"}


def test_more_requests_than_may_be_in_flight_all_get_a_response() -> None:
    names = [f"g{number}" for number in range(200)]
    with ScriptedCluster(brokers=1, versions=OLD) as cluster, cluster.admin() as admin:
        assert len(admin.list_consumer_group_offsets(dict.fromkeys(names)).all()) == 200
        assert cluster.requests() == {"FindCoordinator": 200, "OffsetFetch": 200}


def test_a_retry_has_only_the_group_that_failed() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", changed(error_code=14), brokers=[1])
        assert len(admin.list_consumer_group_offsets(dict.fromkeys(NAMES)).all()) == 10
        assert cluster.requests() == {"FindCoordinator": 10, "OffsetFetch": 11}
        first, *_, last = [
            request.body["group_id"] for request in cluster.requests_of("OffsetFetch") if request.broker == 1
        ]
        assert first == last == "g0"


def test_a_group_whose_coordinator_moved_is_looked_up_again_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", changed(error_code=16), brokers=[2])
        assert len(admin.list_consumer_group_offsets(dict.fromkeys(NAMES)).all()) == 10
        assert [request.body["key"] for request in cluster.requests_of("FindCoordinator")][10:] == ["g1"]


def test_an_error_of_a_lookup_without_batches_is_the_error_of_its_group() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", changed(error_code=30, error_message=None))
        results = admin.list_consumer_group_offsets(dict.fromkeys(NAMES))
        assert list(results.failed) == ["g0"]
        assert results.failed["g0"].name == "GROUP_AUTHORIZATION_FAILED"
        assert len(results.succeeded) == 9


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6, 7])
def test_every_version_that_supports_all_topics_is_read(version: int) -> None:
    commits: dict[tuple[str, int], int | Commit] = {
        ("t", 0): 5,
        ("t", 1): Commit(offset=7, epoch=3, metadata="by hand"),
        ("u", 0): Commit(offset=1, error=29),
    }
    groups = {"orders": Group(commits=commits)}
    versions = {**OLD, "OffsetFetch": (0, version)}
    with ScriptedCluster(brokers=1, groups=groups, versions=versions) as cluster, cluster.admin() as admin:
        offsets = admin.list_consumer_group_offsets({"orders": None}).all()["orders"]
        assert cluster.requests_of("OffsetFetch")[0].version == version
        assert cluster.requests_of("OffsetFetch")[0].body["topics"] is None
        assert {key: row and row.offset for key, row in offsets.rows()} == {("t", 0): 5, ("t", 1): 7}
        commit = offsets[TopicPartition("t", 1)]
        assert commit is not None
        assert commit.metadata == "by hand"
        assert {key: failure.code for key, failure in offsets.failed.items()} == {("u", 0): 29}


@pytest.mark.parametrize(("version", "epoch"), [(4, None), (5, 3), (6, 3)])
def test_leader_epochs_are_returned_since_version_5(version: int, epoch: int | None) -> None:
    groups = {"orders": Group(commits={("t", 0): Commit(offset=7, epoch=3)})}
    versions = {**OLD, "OffsetFetch": (0, version)}
    with ScriptedCluster(brokers=1, groups=groups, versions=versions) as cluster, cluster.admin() as admin:
        offsets = admin.list_consumer_group_offsets({"orders": None}).all()["orders"]
        assert dict(offsets) == {TopicPartition("t", 0): CommittedOffset(7, epoch, "")}


@pytest.mark.parametrize("version", [2, 7])
def test_the_top_level_error_of_an_old_response_is_the_error_of_its_group(version: int) -> None:
    with _cluster(OffsetFetch=(0, version)) as cluster, cluster.admin() as admin:
        cluster.groups["g3"].error = 30
        results = admin.list_consumer_group_offsets(dict.fromkeys(NAMES))
        assert {name: failure.name for name, failure in results.failed.items()} == {"g3": "GROUP_AUTHORIZATION_FAILED"}
        assert len(results.succeeded) == 9


def test_version_1_does_not_support_all_offsets_and_every_group_fails() -> None:
    with _cluster(OffsetFetch=(0, 1)) as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets({"g0": None, "g1": None})
        assert {name: failure.name for name, failure in results.failed.items()} == {
            "g0": "UNSUPPORTED_VERSION",
            "g1": "UNSUPPORTED_VERSION",
        }
        assert results.failed["g0"].message == (
            "all offsets of a group need OffsetFetch version 2 (Kafka 0.10.2); the broker supports up to 1"
        )
        assert cluster.requests_of("OffsetFetch") == []


def test_version_1_returns_named_partitions() -> None:
    with _cluster(OffsetFetch=(0, 1)) as cluster, cluster.admin() as admin:
        offsets = admin.list_consumer_group_offsets({"g4": [("t", 0), ("t", 1)]}).all()["g4"]
        assert dict(offsets) == {
            TopicPartition("t", 0): CommittedOffset(4, None, ""),
            TopicPartition("t", 1): None,
        }


def test_version_1_has_the_error_of_a_group_in_its_partitions() -> None:
    with _cluster(OffsetFetch=(0, 1)) as cluster, cluster.admin() as admin:
        cluster.groups["g0"].commits = {("t", 0): Commit(offset=-1, error=30)}
        cluster.groups["g2"].commits = {("t", 0): Commit(offset=-1, error=3)}
        results = admin.list_consumer_group_offsets({"g0": [("t", 0)], "g2": [("t", 0)]})
        assert {name: failure.name for name, failure in results.failed.items()} == {"g0": "GROUP_AUTHORIZATION_FAILED"}
        assert {key: failure.code for key, failure in results.succeeded["g2"].failed.items()} == {("t", 0): 3}


def test_require_stable_is_an_error_below_version_7() -> None:
    with _cluster(OffsetFetch=(0, 6)) as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets({"g0": None}, require_stable=True)
        assert results.failed["g0"].name == "UNSUPPORTED_VERSION"
        assert "OffsetFetch version 7 (Kafka 2.5)" in results.failed["g0"].message


def test_topics_are_requested_by_name_from_a_broker_that_supports_topic_ids() -> None:
    with ScriptedCluster(brokers=1, versions={"OffsetFetch": (1, 10)}) as cluster, cluster.admin() as admin:
        admin.list_consumer_group_offsets({"orders": [("t", 0)]}).all()
        assert cluster.requests_of("OffsetFetch")[0].version == 9


def test_an_api_that_the_broker_does_not_have_is_unsupported() -> None:
    with _cluster(ListGroups=(0, -1)) as cluster, cluster.admin() as admin:
        failure = admin.list_groups().failed[1]
        assert failure.name == "UNSUPPORTED_VERSION"
        assert failure.message == "the broker does not support ListGroups; this tool needs version 0 to 5"


def test_without_a_common_version_the_error_has_both_ranges() -> None:
    with _cluster(ListOffsets=(20, 22)) as cluster, cluster.admin() as admin:
        failure = admin.list_offsets([("t", 0)]).failed[TopicPartition("t", 0)]
        assert failure.name == "UNSUPPORTED_VERSION"
        assert failure.message == "the broker supports ListOffsets versions 20 to 22; this tool needs version 1 to 10"


def test_brokers_of_different_versions_get_requests_of_their_versions() -> None:
    with ScriptedCluster(brokers=2, groups=_groups()) as cluster, cluster.admin() as admin:
        cluster.brokers[2].versions.update(OLD)
        assert len(admin.list_consumer_group_offsets(dict.fromkeys(NAMES)).all()) == 10
        fetches = [(request.broker, request.version) for request in cluster.requests_of("OffsetFetch")]
        assert sorted(fetches) == [(1, 9), *[(2, 7)] * 5]


def test_a_broker_without_consumer_group_describe_gets_only_describe_groups() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.describe_consumer_groups(["g0", "absent"])
        assert results.succeeded["g0"].type == "Classic"
        assert (results.failed["absent"].name, results.failed["absent"].code) == ("GROUP_ID_NOT_FOUND", 69)
        assert cluster.requests()["DescribeGroups"] == 1
        assert cluster.requests_of("ConsumerGroupDescribe") == []


@pytest.mark.parametrize("version", [0, 1, 3, 4, 5])
def test_an_absent_group_that_an_old_broker_describes_as_dead_is_not_found(version: int) -> None:
    with _cluster(DescribeGroups=(0, version)) as cluster, cluster.admin() as admin:
        failure = admin.describe_consumer_groups(["absent"]).failed["absent"]
        assert (failure.name, failure.message) == ("GROUP_ID_NOT_FOUND", "there is no such group")


def test_a_broker_without_both_describe_apis_is_unsupported() -> None:
    with _cluster(DescribeGroups=(0, -1)) as cluster, cluster.admin() as admin:
        assert admin.describe_consumer_groups(["g0"]).failed["g0"].name == "UNSUPPORTED_VERSION"


def test_an_unsupported_api_of_a_connected_broker_fails_at_once() -> None:
    with _cluster(DescribeGroups=(0, -1)) as cluster, cluster.admin(timeout_s=10.0) as admin:
        admin.list_groups()
        started = cluster.clock()
        assert list(admin.describe_consumer_groups(["g0", "g1"]).failed) == ["g0", "g1"]
        assert cluster.clock() - started < 3
