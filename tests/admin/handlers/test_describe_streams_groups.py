"""Streams groups are described by StreamsGroupDescribe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafka_groups.members import StreamsMember, Subtopology, SubtopologyTasks, TaskAssignment, Topology, TopologyNode
from kafka_groups.model import Assignment, GroupDescription, Member
from kafka_groups.protocol import Struct
from tests.fakes.kind_members import streams_member, task_offset, topology, word_count, word_count_nodes
from tests.fakes.reactions import ReceivedRequest, changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

WITH_NODES = {"StreamsGroupDescribe": (0, 1)}


def application(**values: Any) -> Group:
    return Group(**{"type": "Streams", "protocol_type": "streams", "assignor": "", "topology": word_count(), **values})


def describe(group: Group, *, with_nodes: bool = False, **versions: tuple[int, int]) -> GroupDescription:
    """Return the description of one group, as the client reads it."""
    with ScriptedCluster(groups={"app": group}, versions=versions) as cluster, cluster.admin() as admin:
        return admin.describe_streams_groups(["app"], topology=with_nodes).all()["app"]


def streams_of(member: Struct) -> StreamsMember:
    (found,) = describe(application(members=[member])).members
    assert found.streams is not None
    return found.streams


def test_a_streams_group_has_epochs_and_its_topology() -> None:
    description = describe(application(coordinator=2))
    assert (description.type, description.protocol_type, description.state) == ("Streams", "streams", "Stable")
    assert (description.assignor, description.group_epoch, description.target_assignment_epoch) == (None, 4, 4)
    assert description.topology == Topology(
        epoch=1,
        subtopologies=(
            Subtopology("0", ("lines",), (), ("app-repartition",), ()),
            Subtopology("1", (), ("app-repartition",), (), ("app-changelog",)),
        ),
    )


def test_a_member_owns_the_partitions_that_its_active_tasks_read() -> None:
    member = streams_member("m-1", active={"1": (1, 0), "0": (2,)}, standby={"1": (2,)})
    (found,) = describe(application(members=[member])).members
    owned = (Assignment("app-repartition", (0, 1)), Assignment("lines", (2,)))
    tasks = TaskAssignment(
        active=(SubtopologyTasks("0", (2,)), SubtopologyTasks("1", (0, 1))), standby=(SubtopologyTasks("1", (2,)),)
    )
    assert found == Member(
        member_id="m-1",
        group_instance_id=None,
        client_id="app-m-1",
        host="/10.0.0.2",
        assignment=owned,
        epoch=4,
        target_epoch=4,
        target_assignment=owned,
        streams=StreamsMember("process-m-1", 1, tasks, tasks),
    )
    assert tasks.task_count == 4


def test_targets_instance_endpoint_and_the_classic_protocol_are_those_of_the_member() -> None:
    target = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": [{"subtopology_id": "0", "partitions": [1]}]}
    endpoint = {"host": "h", "port": 65_535}
    member = streams_member(
        "m-1", instance_id="i", target_assignment=target, user_endpoint=endpoint, is_classic=True, active={"0": (0,)}
    )
    (found,) = describe(application(members=[member])).members
    assert (found.group_instance_id, found.target_assignment) == ("i", ())
    assert found.streams is not None
    assert found.streams.target_tasks == TaskAssignment(warmup=(SubtopologyTasks("0", (1,)),))
    assert (found.streams.endpoint, found.streams.is_classic) == (("h", 65_535), True)


@pytest.mark.parametrize("invalid", [None, topology(None)], ids=["no topology", "no subtopologies"])
def test_tasks_without_a_valid_topology_read_no_known_partition(invalid: Struct | None) -> None:
    members = [streams_member("m-1", active={"0": (0,)})]
    description = describe(application(state="NotReady", topology=invalid, members=members))
    assert description.state == "NotReady"
    assert description.topology == (None if invalid is None else Topology(1, None))
    assert description.members[0].assignment == ()


@pytest.mark.parametrize(
    ("standby", "read", "ends", "lag"),
    [
        ((), [], [], None),
        ((), [("1", 0, 5)], [("1", 0, 9)], None),
        ((0,), [], [], None),
        ((0,), [("1", 0, 5)], [], None),
        ((0,), [], [("1", 0, 9)], None),
        ((0, 1), [("1", 0, 5), ("1", 1, 5)], [("1", 0, 9)], None),
        ((0,), [("1", 0, 5)], [("1", 0, 9)], 4),
        ((0, 1), [("1", 0, 5), ("1", 1, 7)], [("1", 1, 8), ("1", 0, 9)], 5),
        # A standby task that has read everything was seen one record beyond its end (Kafka 4.4.0).
        ((0, 1), [("1", 0, 175), ("1", 1, 7)], [("1", 0, 174), ("1", 1, 8)], 1),
    ],
)
def test_the_restoration_lag_is_known_if_the_offsets_of_all_copies_are(
    standby: Sequence[int], read: Sequence[tuple[str, int, int]], ends: Sequence[tuple[str, int, int]], lag: int | None
) -> None:
    offsets: dict[str, Any] = {
        "task_offsets": [task_offset(*row) for row in read],
        "task_end_offsets": [task_offset(*r) for r in ends],
    }
    assert streams_of(streams_member("m", standby={"1": standby}, **offsets)).restoration_lag == lag


@pytest.mark.parametrize(("read", "end"), [(0, 2**63 - 1), (-4, 10), (0, -1), (2**63 - 1, 10)])
def test_an_offset_that_the_client_does_not_know_is_no_number(read: int, end: int) -> None:
    offsets: dict[str, Any] = {
        "task_offsets": [task_offset("0", 2, read)],
        "task_end_offsets": [task_offset("0", 2, end)],
    }
    assert streams_of(streams_member("m", standby={"0": (2,)}, **offsets)).restoration_lag is None


def test_warm_up_tasks_count_for_the_restoration_lag() -> None:
    offsets: dict[str, Any] = {
        "task_offsets": [task_offset("0", 2, 1)],
        "task_end_offsets": [task_offset("0", 2, 1_000_001)],
    }
    assert streams_of(streams_member("m", warmup={"0": (2,)}, **offsets)).restoration_lag == 1_000_000


def test_the_nodes_of_a_topology_are_those_of_its_subtopologies_and_global_stores() -> None:
    found = describe(application(nodes=word_count_nodes()), with_nodes=True, **WITH_NODES).topology
    assert found is not None
    assert found.description == "available"
    assert found.nodes == (
        ("0", (TopologyNode("lines", "source", source_topics=("lines",), successors=("split",)),)),
        (
            "1",
            (
                TopologyNode("count", "processor", stores=("counts",)),
                TopologyNode("to-table", "sink", sink_topic="counts-by-word"),
            ),
        ),
    )
    assert found.global_nodes == (
        (
            TopologyNode("rates-in", "source", source_topics=("rates",)),
            TopologyNode("rates", "processor", stores=("rates",)),
        ),
    )


def test_a_node_of_an_unknown_type_has_its_number() -> None:
    nodes = word_count_nodes()
    nodes["subtopologies"][0]["nodes"][0]["node_type"] = 9
    found = describe(application(nodes=nodes), with_nodes=True, **WITH_NODES).topology
    assert found is not None
    assert found.nodes is not None
    assert found.nodes[1][1][0].type == "unknown (9)"


@pytest.mark.parametrize(
    ("with_nodes", "newest", "description"),
    [(False, 0, "not_requested"), (False, 1, "not_requested"), (True, 0, "unsupported"), (True, 1, "not_stored")],
)
def test_the_reason_why_there_are_no_nodes_is_known(with_nodes: bool, newest: int, description: str) -> None:
    found = describe(application(), with_nodes=with_nodes, StreamsGroupDescribe=(0, newest)).topology
    assert found is not None
    assert (found.description, found.nodes, found.global_nodes) == (description, None, None)


def test_a_topology_that_the_broker_failed_to_read_is_an_error() -> None:
    def fail(_request: ReceivedRequest, response: Struct) -> Struct:
        return {"groups": [{**row, "topology_description_status": 2} for row in response["groups"]]}

    versions = {"StreamsGroupDescribe": (0, 1)}
    with ScriptedCluster(groups={"app": application()}, versions=versions) as cluster, cluster.admin() as admin:
        cluster.script("StreamsGroupDescribe", fail)
        found = admin.describe_streams_groups(["app"], topology=True).all()["app"].topology
    assert found is not None
    assert (found.description, found.nodes) == ("error", None)


@pytest.mark.parametrize(("code", "lookups"), [(14, 1), (15, 2), (16, 2)])
def test_a_streams_group_whose_coordinator_is_not_ready_is_requested_again(code: int, lookups: int) -> None:
    with ScriptedCluster(groups={"app": application()}) as cluster, cluster.admin() as admin:
        row = {"group_id": "app", "error_code": code, "group_state": "", "members": []}
        cluster.script("StreamsGroupDescribe", changed(groups=[row]), brokers=[1])
        assert admin.describe_streams_groups(["app"]).all()["app"].state == "Stable"
        assert cluster.requests() == {"FindCoordinator": lookups, "StreamsGroupDescribe": 2}


@pytest.mark.parametrize("code", [30, 29, 24, 42, -1])
def test_the_error_of_a_streams_group_is_its_failure_and_hides_no_other(code: int) -> None:
    groups = {"secret": application(error=code), "app": application()}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        results = admin.describe_streams_groups(groups)
    assert (list(results.succeeded), results.failed["secret"].code) == (["app"], code)


def test_a_group_that_is_absent_or_of_another_type_is_no_streams_group() -> None:
    with ScriptedCluster(groups={"clicks": Group(type="Share")}) as cluster, cluster.admin() as admin:
        failed = admin.describe_streams_groups(["absent", "clicks"]).failed
    assert {group: (failure.code, failure.message) for group, failure in failed.items()} == {
        "absent": (69, "Group absent not found."),
        "clicks": (69, "Group clicks is not a streams group."),
    }


def test_a_cluster_without_the_feature_has_not_enabled_streams_groups() -> None:
    with ScriptedCluster(groups={"app": application()}) as cluster, cluster.admin() as admin:
        cluster.switched_off = frozenset({"Streams"})
        failure = admin.describe_streams_groups(["app"]).failed["app"]
    assert (failure.code, failure.name) == (35, "UNSUPPORTED_VERSION")
    assert failure.message == "streams groups are not enabled on this cluster (feature streams.version)"
