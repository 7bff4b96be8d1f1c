"""`kafka-groups describe` of share groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.protocol import Struct
from tests.fakes.cluster_of_kinds import kinds_cluster, run_on
from tests.fakes.fake_terminal import pretend_terminal
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NAME = "clicks-sampler"


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return the cluster with a group of each kind."""
    with kinds_cluster() as running:
        yield running


def document_of(cluster: ScriptedCluster, *arguments: str) -> dict[str, Any]:
    """Return the JSON object of the share group."""
    outcome = run_on(cluster, "describe", NAME, "--format", "json", *arguments)
    (group,) = json.loads(outcome.stdout)["groups"]
    return dict(group)


def test_offsets_are_start_offsets_with_the_lag_of_the_coordinator(cluster: ScriptedCluster) -> None:
    screen = dedent("""\

        GROUP           TOPIC   PARTITION  START-OFFSET  LAG
        clicks-sampler  clicks          0            40   50
        clicks-sampler  clicks          1            70    -
        """)
    assert run_on(cluster, "describe", NAME) == (0, screen, "")
    assert cluster.requests()["ListOffsets"] == 0


def test_verbose_offsets_have_log_offsets_and_delivered_records(cluster: ScriptedCluster) -> None:
    header, *rows = run_on(cluster, "describe", NAME, "--verbose").stdout.split("\n", 2)[1:]
    assert header.split()[3:] == [
        "LEADER-EPOCH",
        "START-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "DELIVERED",
        "LOG-START-OFFSET",
    ]
    assert [row.split()[3:] for row in rows[0].splitlines()] == [
        ["0", "40", "100", "50", "10", "0"],
        ["0", "70", "100", "-", "-", "0"],
    ]


def test_a_terminal_shows_the_same_cells(cluster: ScriptedCluster, mocker: MockerFixture) -> None:
    plain = run_on(cluster, "describe", NAME, "--members").stdout
    pretend_terminal(mocker)
    shown = run_on(cluster, "describe", NAME, "--members").stdout
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in plain.splitlines()]


def test_csv_has_empty_cells_for_what_is_unknown(cluster: ScriptedCluster) -> None:
    assert run_on(cluster, "describe", NAME, "--verbose", "--format", "csv").stdout == dedent("""\
        GROUP,TOPIC,PARTITION,LEADER-EPOCH,START-OFFSET,LOG-END-OFFSET,LAG,DELIVERED,LOG-START-OFFSET
        clicks-sampler,clicks,0,0,40,100,50,10,0
        clicks-sampler,clicks,1,0,70,100,,,0
        """)


def test_ndjson_needs_no_log_end_offset_and_its_lag_is_null_if_unknown(cluster: ScriptedCluster) -> None:
    lines = run_on(cluster, "describe", NAME, "--format", "ndjson").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "cluster": "scripted",
            "cluster_id": "scripted",
            "group": NAME,
            "topic": "clicks",
            "partition": partition,
            "leader_epoch": 0,
            "start_offset": start,
            "log_end_offset": None,
            "lag": lag,
            "delivered": None,
            "log_start_offset": None,
        }
        for partition, start, lag in [(0, 40, 50), (1, 70, None)]
    ]
    assert cluster.requests()["ListOffsets"] == 0


def test_json_has_offsets_members_and_state_in_every_view(cluster: ScriptedCluster) -> None:
    documents = [document_of(cluster, view) for view in ("--offsets", "--members", "--state")]
    assert documents[0] == documents[1] == documents[2]
    (document, *_) = documents
    assert document["offsets"][0] == {
        "topic": "clicks",
        "partition": 0,
        "leader_epoch": 0,
        "start_offset": 40,
        "log_end_offset": 100,
        "lag": 50,
        "delivered": 10,
        "log_start_offset": None,
    }
    assert document["members"][1] == {
        "member_id": "m-2",
        "host": "/10.0.0.1",
        "client_id": "sampler",
        "epoch": 3,
        "subscription": ["clicks"],
        "assignment": [{"topic": "clicks", "partitions": [1]}],
    }
    assert (document["type"], document["state"], document["group_epoch"], document["topology"]) == (
        "Share",
        "Stable",
        4,
        None,
    )


def test_members_have_their_assignment_and_with_verbose_their_subscription(cluster: ScriptedCluster) -> None:
    members = run_on(cluster, "describe", NAME, "--members").stdout.splitlines()
    assert [line.split() for line in members[1:]] == [
        ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"],
        [NAME, "m-1", "/10.0.0.1", "sampler", "2", "clicks:0,1"],
        [NAME, "m-2", "/10.0.0.1", "sampler", "1", "clicks:1"],
    ]
    verbose = run_on(cluster, "describe", NAME, "--members", "--verbose").stdout.splitlines()
    assert verbose[1].split()[-4:] == ["#PARTITIONS", "MEMBER-EPOCH", "SUBSCRIPTION", "ASSIGNMENT"]
    assert verbose[2].split()[-4:] == ["2", "3", "clicks", "clicks:0,1"]


def test_members_share_partitions_by_design_and_without_a_note(cluster: ScriptedCluster) -> None:
    assert run_on(cluster, "describe", NAME, "--members").stderr == ""


def test_the_state_has_the_assignor_and_epochs(cluster: ScriptedCluster) -> None:
    header, row = (
        line.split("  ") for line in run_on(cluster, "describe", NAME, "--state", "--verbose").stdout.splitlines()[1:]
    )
    assert [cell.strip() for cell in header if cell] == [
        "GROUP",
        "COORDINATOR (ID)",
        "ASSIGNMENT-STRATEGY",
        "STATE",
        "GROUP-EPOCH",
        "TARGET-ASSIGNMENT-EPOCH",
        "#MEMBERS",
    ]
    assert [cell.strip() for cell in row if cell.strip()][2:] == ["(2)", "simple", "Stable", "4", "4", "2"]


def test_an_empty_share_group_has_its_start_offsets_and_a_note(cluster: ScriptedCluster) -> None:
    cluster.groups[NAME].state, cluster.groups[NAME].members = "Empty", ()
    outcome = run_on(cluster, "describe", NAME)
    assert [line.split()[-2:] for line in outcome.stdout.splitlines()[2:]] == [["40", "50"], ["70", "-"]]
    assert (outcome.exit_code, outcome.stderr) == (0, f"Share group '{NAME}' has no active members.\n")


def test_a_share_group_without_start_offsets_has_a_note(cluster: ScriptedCluster) -> None:
    cluster.groups[NAME].commits = {}
    assert run_on(cluster, "describe", NAME) == (0, "", f"Share group '{NAME}' has no start offsets.\n")


def test_many_share_groups_without_start_offsets_are_one_note(cluster: ScriptedCluster) -> None:
    for number in range(21):
        cluster.groups[f"s{number:02}"] = Group(coordinator=1, type="Share", protocol_type="share")
    assert run_on(cluster, "describe", "--match", "s.*").stderr == "21 share groups have no start offsets.\n"


def test_an_unknown_start_offset_is_a_dash_and_null_with_an_unknown_lag(cluster: ScriptedCluster) -> None:
    cluster.groups[NAME].commits = {("clicks", 0): -1}
    cluster.groups[NAME].lags = {("clicks", 0): 0}
    assert run_on(cluster, "describe", NAME).stdout.splitlines()[-1].split()[-3:] == ["0", "-", "-"]
    (offset,) = document_of(cluster)["offsets"]
    assert (offset["start_offset"], offset["lag"], offset["delivered"], offset["leader_epoch"]) == (None,) * 4


def test_a_broker_before_4_2_has_unknown_lags() -> None:
    with kinds_cluster(DescribeShareGroupOffsets=(0, 0)) as cluster:
        rows = document_of(cluster)["offsets"]
    assert [(row["start_offset"], row["lag"], row["delivered"]) for row in rows] == [(40, None, None), (70, None, None)]


@pytest.mark.parametrize(("end", "delivered"), [(90, 0), (89, None), (91, 1)])
def test_a_negative_number_of_delivered_records_is_unknown(
    cluster: ScriptedCluster, end: int, delivered: int | None
) -> None:
    cluster.ends["clicks", 0] = end
    assert document_of(cluster)["offsets"][0]["delivered"] == delivered


@pytest.mark.parametrize("selector", [(NAME,), ("--type", "share", "--all-groups"), ("--match", "clicks.*")])
def test_listed_share_groups_cost_one_request_per_api(cluster: ScriptedCluster, selector: tuple[str, ...]) -> None:
    assert run_on(cluster, "describe", *selector).exit_code == 0
    requests = cluster.requests()
    assert (requests["ShareGroupDescribe"], requests["DescribeShareGroupOffsets"]) == (1, 1)
    assert requests["OffsetFetch"] == (1 if selector == (NAME,) else 0)


def hide_members(request: ReceivedRequest, _response: Struct) -> Struct:
    """Return the response to a user who may not describe a topic of the group."""
    return {
        "groups": [
            {"group_id": name, "error_code": 29, "group_state": "", "members": []} for name in request.body["group_ids"]
        ]
    }


@pytest.mark.parametrize("selector", [(NAME,), ("--match", "clicks.*")])
def test_a_share_group_with_a_denied_topic_has_its_visible_start_offsets(
    cluster: ScriptedCluster, selector: tuple[str, ...]
) -> None:
    cluster.script("ShareGroupDescribe", hide_members, brokers=[2])
    outcome = run_on(cluster, "describe", *selector)
    assert [line.split() for line in outcome.stdout.splitlines()[1:]] == [
        ["GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"],
        [NAME, "clicks", "0", "40", "50"],
        [NAME, "clicks", "1", "70", "-"],
    ]
    assert outcome.exit_code == 3
    assert "TOPIC_AUTHORIZATION_FAILED" in outcome.stderr


def test_a_share_group_with_a_denied_topic_has_no_known_members(cluster: ScriptedCluster) -> None:
    cluster.script("ShareGroupDescribe", hide_members, brokers=[2])
    outcome = run_on(cluster, "describe", NAME, "--members")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "TOPIC_AUTHORIZATION_FAILED" in outcome.stderr


def test_a_cluster_without_share_groups_names_the_feature(cluster: ScriptedCluster) -> None:
    cluster.switched_off = frozenset({"Share"})
    outcome = run_on(cluster, "describe", "--type", "share", "--all-groups")
    assert outcome.exit_code == 1
    assert "share groups are not enabled on this cluster (feature share.version)" in outcome.stderr
