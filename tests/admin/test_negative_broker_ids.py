"""Brokers that return a negative id for a coordinator or a leader: no broker has it, and it is not any broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kafka_groups.admin import GroupAdmin, MemberIdentity
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.handlers import DeleteConsumerGroupsHandler
from kafka_groups.errors import ConnectionFailedError
from kafka_groups.model import CommittedOffset, Failure
from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest, drops
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.timeout(30)

START = CommittedOffset(0, None, "")
Change = Callable[[GroupAdmin], Mapping[str, Failure]]

CHANGES = pytest.mark.parametrize(
    ("api", "change"),
    [
        ("OffsetCommit", lambda admin: admin.alter_consumer_group_offsets({"a": {("t", 0): START}}).failed),
        ("OffsetDelete", lambda admin: admin.delete_consumer_group_offsets({"a": [("t", 0)]}).failed),
        ("DeleteGroups", lambda admin: admin.delete_consumer_groups(["a"]).failed),
        (
            "LeaveGroup",
            lambda admin: admin.remove_members_from_consumer_group({"a": [MemberIdentity("m", None)]}).failed,
        ),
    ],
    ids=["OffsetCommit", "OffsetDelete", "DeleteGroups", "LeaveGroup"],
)


def _cluster(find_coordinator: int = 4) -> ScriptedCluster:
    groups = {"a": Group(coordinator=2, state="Empty", commits={("t", 0): 5})}
    return ScriptedCluster(groups=groups, topics={"t": {0: 1}}, versions={"FindCoordinator": (0, find_coordinator)})


def _without_coordinator(node: int) -> Callable[[ReceivedRequest, Struct], Struct]:
    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        absent = {"node_id": node, "host": "", "port": -1}
        rows = [{**row, **absent} for row in response.get("coordinators", ())]
        return {**response, **absent, "coordinators": rows}

    return react


@CHANGES
def test_a_change_waits_for_a_coordinator_with_an_id(api: str, change: Change) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", _without_coordinator(-1), _without_coordinator(-7))
        assert "a" not in change(admin)
        assert [request.broker for request in cluster.requests_of(api)] == [2]
        assert cluster.requests()["FindCoordinator"] == 3


@CHANGES
@pytest.mark.parametrize("find_coordinator", [3, 4])
def test_a_change_without_a_coordinator_is_never_sent(api: str, change: Change, find_coordinator: int) -> None:
    with _cluster(find_coordinator) as cluster, cluster.admin(timeout_s=1.0) as admin:
        cluster.script("FindCoordinator", *[_without_coordinator(-1)] * 50)
        cluster.script(api, *[drops] * 9)
        failure = change(admin)["a"]
        assert cluster.requests_of(api) == []
    assert failure.name == "TIMEOUT"
    assert "last: no coordinator is available for this group" in failure.message


def test_a_read_waits_for_a_coordinator_with_an_id() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", _without_coordinator(-1))
        assert list(admin.list_consumer_group_offsets({"a": None}).succeeded) == ["a"]
        assert [request.broker for request in cluster.requests_of("OffsetFetch")] == [2]


@pytest.mark.parametrize("broker", [-1, 1])
def test_a_lost_change_is_not_sent_again_at_whichever_broker_it_was_sent_to(broker: int) -> None:
    driver: ApiDriver[str, None] = ApiDriver(
        ["a"], handler=DeleteConsumerGroupsHandler({}), lookup=None, known={"a": broker}
    )
    (spec,) = driver.ready(0.0)
    driver.on_failure(spec, spec.keys, ConnectionFailedError("closed the connection"), 0.0, was_sent=True)
    assert driver.failed["a"].name == "OUTCOME_UNKNOWN"
    assert driver.ready(99.0) == []


@pytest.mark.parametrize("broker", [-1, 1])
def test_a_response_without_the_change_leaves_its_outcome_unknown(broker: int) -> None:
    driver: ApiDriver[str, None] = ApiDriver(
        ["a"], handler=DeleteConsumerGroupsHandler({}), lookup=None, known={"a": broker}
    )
    (spec,) = driver.ready(0.0)
    driver.on_response(spec, ApiResult(), 0.0)
    assert driver.failed["a"].name == "OUTCOME_UNKNOWN"


@pytest.mark.parametrize("leader", [-1, -2])
def test_a_partition_with_a_negative_leader_has_none(leader: int) -> None:
    with ScriptedCluster(topics={"t": {0: 1, 1: leader}}) as cluster, cluster.admin() as admin:
        for _ in range(2):
            results = admin.list_offsets([("t", 0), ("t", 1)])
            assert [key.partition for key in results.succeeded] == [0]
            assert [failure.name for failure in results.failed.values()] == ["LEADER_NOT_AVAILABLE"]
        assert {
            row["partition_index"]
            for request in cluster.requests_of("ListOffsets")
            for row in request.body["topics"][0]["partitions"]
        } == {0}
