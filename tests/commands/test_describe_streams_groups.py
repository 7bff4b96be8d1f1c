"""`kafka-groups describe` of streams groups: offsets, members and state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.fakes.cluster_of_kinds import kinds_cluster, run_on
from tests.fakes.fake_terminal import pretend_terminal
from tests.fakes.kind_members import streams_member, topology
from tests.fakes.scripted_cluster import ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return the cluster with a group of each kind."""
    with kinds_cluster() as running:
        yield running


def test_offsets_are_those_of_the_partitions_that_active_tasks_read(cluster: ScriptedCluster) -> None:
    screen = dedent("""\

        GROUP  TOPIC            PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST       CLIENT-ID
        app    app-repartition          0             100             100    0  s-1          /10.0.0.2  app-s-1
        app    lines                    0              95             100    5  s-1          /10.0.0.2  app-s-1
        app    app-repartition          1              60             100   40  s-2          /10.0.0.2  app-s-2
        app    lines                    1               -             100    -  s-2          /10.0.0.2  app-s-2
        """)
    assert run_on(cluster, "describe", "app") == (0, screen, "")


def test_a_terminal_shows_the_same_cells(cluster: ScriptedCluster, mocker: MockerFixture) -> None:
    plain = run_on(cluster, "describe", "app", "--members", "--verbose").stdout
    pretend_terminal(mocker, width=300)
    shown = run_on(cluster, "describe", "app", "--members", "--verbose").stdout
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in plain.splitlines()]


def test_an_empty_streams_group_shows_its_commits(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].state, cluster.groups["app"].members = "Empty", ()
    outcome = run_on(cluster, "describe", "app", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == [
        "app,app-repartition,0,100,100,0,,,",
        "app,app-repartition,1,60,100,40,,,",
        "app,lines,0,95,100,5,,,",
    ]
    assert (outcome.exit_code, outcome.stderr) == (0, "Streams group 'app' has no active members.\n")


def test_members_have_their_tasks_and_their_restoration_lag(cluster: ScriptedCluster) -> None:
    screen = dedent("""\

        GROUP  MEMBER  PROCESS      CLIENT-ID  ACTIVE   STANDBY  WARMUP  RESTORE-LAG
        app    s-1     process-s-1  app-s-1    0:0;1:0  1:1      -                 3
        app    s-2     process-s-2  app-s-2    0:1;1:1  1:0      -                 -
        """)
    assert run_on(cluster, "describe", "app", "--members") == (0, screen, "")


def test_verbose_members_have_epochs_and_target_tasks(cluster: ScriptedCluster) -> None:
    header, first, _ = run_on(cluster, "describe", "app", "--members", "--verbose").stdout.splitlines()[1:]
    cells = dict(zip(header.split(), first.split(), strict=True))
    assert list(cells)[:3] == ["GROUP", "MEMBER", "GROUP-INSTANCE-ID"]
    assert {name: cells[name] for name in list(cells)[9:]} == {
        "RESTORE-LAG": "3",
        "TOPOLOGY-EPOCH": "1",
        "MEMBER-EPOCH": "4",
        "TARGET-ACTIVE": "0:0;1:0",
        "TARGET-STANDBY": "1:1",
        "TARGET-WARMUP": "-",
    }


def test_ndjson_members_have_tasks_by_role(cluster: ScriptedCluster) -> None:
    line = run_on(cluster, "describe", "app", "--members", "--format", "ndjson").stdout.splitlines()[0]
    tasks = {
        "active": [{"subtopology": "0", "partitions": [0]}, {"subtopology": "1", "partitions": [0]}],
        "standby": [{"subtopology": "1", "partitions": [1]}],
        "warmup": [],
    }
    assert json.loads(line) == {
        "cluster": "scripted",
        "cluster_id": "scripted",
        "group": "app",
        "member_id": "s-1",
        "group_instance_id": None,
        "process_id": "process-s-1",
        "host": "/10.0.0.2",
        "client_id": "app-s-1",
        "restoration_lag": 3,
        "topology_epoch": 1,
        "epoch": 4,
        "tasks": tasks,
        "target_tasks": tasks,
        "endpoint": None,
        "is_classic": False,
    }


def test_json_has_the_endpoint_and_the_topology_without_its_nodes(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].members = [streams_member("s", user_endpoint={"host": "h", "port": 7070})]
    (group,) = json.loads(run_on(cluster, "describe", "app", "--format", "json").stdout)["groups"]
    assert group["members"][0]["endpoint"] == {"host": "h", "port": 7070}
    assert group["topology"] == {
        "epoch": 1,
        "subtopologies": [
            {
                "id": "0",
                "source_topics": ["lines"],
                "repartition_source_topics": [],
                "repartition_sink_topics": ["app-repartition"],
                "changelog_topics": [],
            },
            {
                "id": "1",
                "source_topics": [],
                "repartition_source_topics": ["app-repartition"],
                "repartition_sink_topics": [],
                "changelog_topics": ["app-changelog"],
            },
        ],
        "description": "not_requested",
        "nodes": None,
    }


def test_the_state_has_the_epochs_of_the_group(cluster: ScriptedCluster) -> None:
    row = run_on(cluster, "describe", "app", "--state", "--verbose", "--format", "csv").stdout.splitlines()[1]
    port = cluster.brokers[1].endpoint.port
    assert row == f"app,127.0.0.1:{port}  (1),,Stable,4,4,2"


@pytest.mark.parametrize("state", ["Assigning", "Reconciling"])
def test_a_rebalancing_streams_group_has_a_warning(cluster: ScriptedCluster, state: str) -> None:
    cluster.groups["app"].state = state
    assert run_on(cluster, "describe", "app", "--state").stderr == "Warning: Streams group 'app' is rebalancing.\n"


def test_a_group_that_is_not_ready_shows_its_commits_and_no_assigned_partition(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].state = "NotReady"
    cluster.groups["app"].topology = topology(None)
    outcome = run_on(cluster, "describe", "app", "--format", "csv")
    assert [line.split(",")[:3] for line in outcome.stdout.splitlines()[1:]] == [
        ["app", "app-repartition", "0"],
        ["app", "app-repartition", "1"],
        ["app", "lines", "0"],
    ]
    (group,) = json.loads(run_on(cluster, "describe", "app", "--format", "json").stdout)["groups"]
    assert (group["state"], group["topology"]["subtopologies"]) == ("NotReady", None)


def test_a_topic_with_fewer_partitions_than_tasks_has_no_row_for_the_others(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].topology = topology({"0": ("lines", "rates"), "1": ("app-repartition",)})
    cluster.topics = {**cluster.topics, "rates": {0: 1}}
    outcome = run_on(cluster, "describe", "app", "--format", "csv")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    rows = [line.split(",")[1:3] for line in outcome.stdout.splitlines()[1:]]
    assert rows == [
        ["app-repartition", "0"],
        ["lines", "0"],
        ["rates", "0"],
        ["app-repartition", "1"],
        ["lines", "1"],
    ]


def test_a_deleted_topic_of_a_topology_is_a_failure(cluster: ScriptedCluster) -> None:
    cluster.topics = {name: leaders for name, leaders in cluster.topics.items() if name != "lines"}
    outcome = run_on(cluster, "describe", "app", "--format", "json")
    assert outcome.exit_code == 3
    document = json.loads(outcome.stdout)
    assert {(error["name"], error["topic"]) for error in document["errors"]} == {
        ("UNKNOWN_TOPIC_OR_PARTITION", "lines")
    }
    rows = {(row["topic"], row["partition"]): row["log_end_offset"] for row in document["groups"][0]["offsets"]}
    assert rows["lines", 0] is None


def test_a_partition_with_a_commit_that_does_not_exist_is_a_failure(cluster: ScriptedCluster) -> None:
    cluster.topics = {**cluster.topics, "lines": {0: 1}}
    cluster.groups["app"].commits = {("lines", 1): 5}
    outcome = run_on(cluster, "describe", "app")
    assert outcome.exit_code == 3
    assert "lines-1" in outcome.stderr


@pytest.mark.parametrize("selector", [("--type", "streams", "--all-groups"), ("--match", "app")])
def test_listed_streams_groups_cost_one_request_per_api(cluster: ScriptedCluster, selector: tuple[str, ...]) -> None:
    assert run_on(cluster, "describe", *selector).exit_code == 0
    requests = cluster.requests()
    assert (requests["StreamsGroupDescribe"], requests["OffsetFetch"], requests["ListOffsets"]) == (1, 1, 2)
    assert requests["DescribeShareGroupOffsets"] == 0
