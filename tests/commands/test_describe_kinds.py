"""`kafka-groups describe` of groups of several kinds in one command."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fakes.cluster_of_kinds import kinds_cluster, run_on
from tests.fakes.scripted_cluster import Group, ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return the cluster with a group of each kind."""
    with kinds_cluster() as running:
        yield running


HEADERS = {
    "--offsets": [
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID",
        "GROUP TOPIC PARTITION START-OFFSET LAG",
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID",
        "GROUP URL LEADER CONFIG-OFFSET CONNECTORS TASKS DELAY-MS",
    ],
    "--members": [
        "GROUP MEMBER PROCESS CLIENT-ID ACTIVE STANDBY WARMUP RESTORE-LAG",
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT",
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS",
        "GROUP URL LEADER CONFIG-OFFSET CONNECTORS TASKS DELAY-MS",
    ],
    "--state": ["GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS"] * 4,
}


@pytest.mark.parametrize("view", HEADERS)
def test_each_group_has_a_block_with_the_columns_of_its_kind(cluster: ScriptedCluster, view: str) -> None:
    outcome = run_on(cluster, "describe", "--all-groups", view)
    blocks = outcome.stdout.removeprefix("\n").split("\n\n")
    assert [" ".join(block.splitlines()[0].split()) for block in blocks] == HEADERS[view]
    assert outcome.exit_code == 0


def test_one_document_has_groups_of_all_kinds(cluster: ScriptedCluster) -> None:
    outcome = run_on(cluster, "describe", "--all-groups", "--format", "json")
    document = json.loads(outcome.stdout)
    assert [(group["group"], group["type"], group["protocol_type"]) for group in document["groups"]] == [
        ("app", "Streams", "streams"),
        ("clicks-sampler", "Share", "share"),
        ("orders", "Classic", "consumer"),
        ("workers", "Classic", "connect"),
    ]
    assert {tuple(group) for group in document["groups"]} == {tuple(document["groups"][0])}
    assert (document["status"], document["errors"]) == ("complete", [])


def test_named_groups_of_all_kinds_are_the_same_as_listed_ones(cluster: ScriptedCluster) -> None:
    listed = json.loads(run_on(cluster, "describe", "--all-groups", "--format", "json").stdout)
    names = [group["group"] for group in listed["groups"]]
    named = json.loads(run_on(cluster, "describe", *names, "--format", "json").stdout)
    assert named["groups"] == listed["groups"]


def test_an_absent_group_beside_others_is_its_own_failure(cluster: ScriptedCluster) -> None:
    outcome = run_on(cluster, "describe", "clicks-sampler", "ghost")
    assert (outcome.exit_code, "clicks-sampler" in outcome.stdout) == (3, True)
    assert "group 'ghost'" in outcome.stderr
    assert "GROUP_ID_NOT_FOUND" in outcome.stderr


def test_ndjson_has_lines_of_all_kinds(cluster: ScriptedCluster) -> None:
    lines = [
        json.loads(line)
        for line in run_on(cluster, "describe", "--all-groups", "--format", "ndjson").stdout.splitlines()
    ]
    assert [line["group"] for line in lines] == [*["app"] * 4, *["clicks-sampler"] * 2, "orders", *["workers"] * 2]
    assert [key for key in lines[4] if key in {"start_offset", "committed_offset"}] == ["start_offset"]


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        (("--offsets",), "streams groups, share groups and Connect groups"),
        (("--members",), "streams groups, share groups, consumer groups and Connect groups"),
        (("clicks-sampler", "orders"), "share groups and consumer groups"),
    ],
)
def test_a_csv_of_several_kinds_is_a_usage_error_that_names_type(
    cluster: ScriptedCluster, arguments: tuple[str, ...], kinds: str
) -> None:
    selector = () if arguments[0] == "clicks-sampler" else ("--all-groups",)
    outcome = run_on(cluster, "describe", *selector, *arguments, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert f"CSV has one set of columns, and {kinds} have different ones" in outcome.stderr
    assert "--type" in outcome.stderr


@pytest.mark.parametrize("arguments", [("--state",), ("--match", "app|orders")])
def test_a_csv_of_kinds_with_the_same_columns_is_written(cluster: ScriptedCluster, arguments: tuple[str, ...]) -> None:
    selector = () if arguments[0] == "--match" else ("--all-groups",)
    outcome = run_on(cluster, "describe", *selector, *arguments, "--format", "csv")
    assert outcome.exit_code == 0
    assert {"app", "orders"} <= {line.split(",")[0] for line in outcome.stdout.splitlines()}


@pytest.mark.parametrize(
    ("group_type", "names"),
    [("share", ["clicks-sampler"]), ("streams", ["app"]), ("Share,Streams", ["app", "clicks-sampler"])],
)
def test_a_type_selects_the_groups_of_a_kind(cluster: ScriptedCluster, group_type: str, names: list[str]) -> None:
    outcome = run_on(cluster, "describe", "--all-groups", "--type", group_type, "--format", "json")
    assert [group["group"] for group in json.loads(outcome.stdout)["groups"]] == names


def test_empty_groups_of_several_kinds_are_one_note_if_there_are_many(cluster: ScriptedCluster) -> None:
    for number in range(11):
        cluster.groups[f"s{number:02}"] = Group(type="Share", protocol_type="share", state="Empty")
        cluster.groups[f"t{number:02}"] = Group(type="Streams", protocol_type="streams", state="Empty")
    outcome = run_on(cluster, "describe", "--match", "[st]\\d+", "--state")
    assert outcome.stderr == "22 groups have no active members.\n"


def test_all_kinds_together_cost_one_request_per_api_and_coordinator(cluster: ScriptedCluster) -> None:
    assert run_on(cluster, "describe", "--all-groups").exit_code == 0
    requests = cluster.requests()
    assert {api: number for api, number in requests.items() if api not in {"Metadata", "ListGroups"}} == {
        "DescribeGroups": 1,
        "ShareGroupDescribe": 1,
        "StreamsGroupDescribe": 1,
        "OffsetFetch": 1,
        "DescribeShareGroupOffsets": 1,
        "ListOffsets": 2,
    }


@pytest.mark.parametrize(("output", "leaders"), [("table", 0), ("csv", 0), ("ndjson", 0), ("kafka", 0), ("json", 2)])
def test_log_end_offsets_of_share_groups_are_read_for_json_only(
    cluster: ScriptedCluster, output: str, leaders: int
) -> None:
    assert run_on(cluster, "describe", "--type", "share", "--all-groups", "--format", output).exit_code == 0
    assert cluster.requests()["ListOffsets"] == leaders


@pytest.mark.parametrize(("output", "requests"), [("table", 4), ("csv", 4), ("kafka", 0)])
def test_log_offsets_of_share_groups_are_read_for_verbose_tables(
    cluster: ScriptedCluster, output: str, requests: int
) -> None:
    arguments = ("--type", "share", "--all-groups", "--verbose", "--format", output)
    assert run_on(cluster, "describe", *arguments).exit_code == 0
    assert cluster.requests()["ListOffsets"] == requests


def test_log_start_offsets_are_read_for_kafkas_lag_without_a_commit_only(cluster: ScriptedCluster) -> None:
    assert run_on(cluster, "describe", "--type", "streams", "--all-groups", "--format", "kafka").exit_code == 0
    starts = [
        (topic["name"], row["partition_index"])
        for request in cluster.requests_of("ListOffsets")
        for topic in request.body["topics"]
        for row in topic["partitions"]
        if row["timestamp"] == -2
    ]
    assert starts == [("lines", 1)]
