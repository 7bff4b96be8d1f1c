"""`kafka-groups describe --topology`: the nodes of streams groups, or the reason why brokers lack them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import dedent

import pytest

from kafka_groups.protocol import Struct
from tests.fakes.cluster_of_kinds import WITH_NODES, kinds_cluster, run_on, streams_group
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return the cluster with a group of each kind, at brokers of Kafka 4.4."""
    with kinds_cluster(**WITH_NODES) as running:
        yield running


def fail_to_read(_request: ReceivedRequest, response: Struct) -> Struct:
    """Return the response of a broker whose plugin fails."""
    rows = [{**row, "topology_description": None, "topology_description_status": 2} for row in response["groups"]]
    return {"groups": rows}


def test_each_node_has_a_row_and_those_of_global_stores_are_last(cluster: ScriptedCluster) -> None:
    screen = dedent("""\

        GROUP  SUBTOPOLOGY  NODE      TYPE       TOPICS          STORES  SUCCESSORS
        app    0            lines     source     lines           -       split
        app    1            count     processor  -               counts  -
        app    1            to-table  sink       counts-by-word  -       -
        app    -            rates-in  source     rates           -       -
        app    -            rates     processor  -               rates   -
        """)
    assert run_on(cluster, "describe", "app", "--topology") == (0, screen, "")
    assert cluster.requests()["OffsetFetch"] == 0


def test_csv_and_ndjson_have_the_same_nodes(cluster: ScriptedCluster) -> None:
    csv = run_on(cluster, "describe", "app", "--topology", "--format", "csv").stdout.splitlines()
    assert csv[:2] == ["GROUP,SUBTOPOLOGY,NODE,TYPE,TOPICS,STORES,SUCCESSORS", "app,0,lines,source,lines,,split"]
    lines = run_on(cluster, "describe", "app", "--topology", "--format", "ndjson").stdout.splitlines()
    assert json.loads(lines[0]) == {
        "cluster": "scripted",
        "cluster_id": "scripted",
        "group": "app",
        "subtopology": "0",
        "name": "lines",
        "type": "source",
        "topics": ["lines"],
        "stores": [],
        "successors": ["split"],
    }
    assert len(lines) == len(csv) - 1 == 5


def test_the_document_has_the_nodes_beside_everything_else(cluster: ScriptedCluster) -> None:
    (group,) = json.loads(run_on(cluster, "describe", "app", "--topology", "--format", "json").stdout)["groups"]
    assert group["topology"]["description"] == "available"
    assert [(node["subtopology"], node["name"]) for node in group["topology"]["nodes"]] == [
        ("0", "lines"),
        ("1", "count"),
        ("1", "to-table"),
        (None, "rates-in"),
        (None, "rates"),
    ]
    assert (len(group["offsets"]), len(group["members"])) == (4, 2)


def test_a_broker_that_has_not_stored_it_is_the_failure_of_the_group(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].nodes = None
    outcome = run_on(cluster, "describe", "app", "--topology")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert outcome.stderr == (
        "Error: group 'app': the broker has not stored the topology; brokers need "
        "group.streams.topology.description.plugin.class, and clients topology.description.push.enabled "
        "(MISSING_FROM_RESPONSE)\n"
    )


def test_a_broker_before_4_4_is_the_failure_of_the_group() -> None:
    with kinds_cluster() as cluster:
        outcome = run_on(cluster, "describe", "app", "--topology")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert outcome.stderr == (
        "Error: group 'app': the broker has no descriptions of topologies; this needs Kafka 4.4 or newer "
        "(UNSUPPORTED_VERSION)\n"
    )


def test_a_broker_that_failed_to_read_it_is_the_failure_of_the_group(cluster: ScriptedCluster) -> None:
    cluster.script("StreamsGroupDescribe", fail_to_read, brokers=[1])
    outcome = run_on(cluster, "describe", "app", "--topology")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert "the broker failed to read the topology; see the broker's log (UNKNOWN_SERVER_ERROR)" in outcome.stderr


def test_a_group_without_a_topology_is_a_failure_that_says_so(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].topology = None
    outcome = run_on(cluster, "describe", "app", "--topology")
    assert outcome.exit_code == 3
    assert "group 'app': the group has no topology: none of its members has sent one" in outcome.stderr


def test_one_missing_topology_hides_no_other(cluster: ScriptedCluster) -> None:
    cluster.groups["app-2"] = streams_group()
    cluster.groups["app-2"].nodes = None
    outcome = run_on(cluster, "describe", "--match", "app.*", "--topology", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    assert [(group["group"], group["topology"]["description"]) for group in document["groups"]] == [
        ("app", "available"),
        ("app-2", "not_stored"),
    ]
    assert [(error["group"], error["name"]) for error in document["errors"]] == [("app-2", "MISSING_FROM_RESPONSE")]


@pytest.mark.parametrize(
    ("name", "plural"), [("clicks-sampler", "Share"), ("workers", "Connect"), ("orders", "Consumer")]
)
def test_a_named_group_of_another_kind_has_no_topology(cluster: ScriptedCluster, name: str, plural: str) -> None:
    for output in ("table", "csv", "json"):
        outcome = run_on(cluster, "describe", name, "--topology", "--format", output)
        assert outcome.exit_code == 1
        assert f"group '{name}': {plural} groups have no topology (INCONSISTENT_GROUP_PROTOCOL)" in outcome.stderr


def test_groups_of_other_kinds_that_were_not_named_are_skipped_with_a_note(cluster: ScriptedCluster) -> None:
    outcome = run_on(cluster, "describe", "--all-groups", "--topology", "--format", "csv")
    assert {line.split(",")[0] for line in outcome.stdout.splitlines()[1:]} == {"app"}
    assert (outcome.exit_code, outcome.stderr) == (
        0,
        "3 groups of other kinds are skipped (connect, consumer, share).\n",
    )


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_group_that_cannot_be_described_has_no_topology_to_show(cluster: ScriptedCluster, output: str) -> None:
    cluster.groups["app"].error = 29
    outcome = run_on(cluster, "describe", "app", "--topology", "--format", output)
    assert outcome.exit_code == 1
    assert "TOPIC_AUTHORIZATION_FAILED" in outcome.stderr


def test_the_format_of_kafkas_tools_has_no_topology(cluster: ScriptedCluster) -> None:
    outcome = run_on(cluster, "describe", "app", "--topology", "--format", "kafka")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--topology contradicts --format kafka" in outcome.stderr
    assert cluster.requests() == {}
