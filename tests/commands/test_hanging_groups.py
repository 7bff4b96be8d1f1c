"""A group that hangs its broker: the other groups are described, and its own offsets are printed without members."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fakes.command_line import Outcome, run
from tests.fakes.hanging_requests import HangingRequests
from tests.fakes.scripted_cluster import Group, ScriptedCluster

HANGING = "g07"
NAMES = [f"g{number:02}" for number in range(12)]
MEMBER = {
    "member_id": "m",
    "client_id": "c",
    "client_host": "/10.0.0.1",
    "member_assignment": bytes.fromhex("0000 00000001 0001 74 00000001 00000000 ffffffff"),
}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    """Yield a cluster in which one group hangs each request for its description."""
    groups = {name: Group(coordinator=2, commits={("t", 0): 60}, members=[MEMBER]) for name in NAMES}
    cluster = ScriptedCluster(groups=groups, topics={"t": {0: 2}})
    with cluster, HangingRequests(cluster, "DescribeGroups", [HANGING]):
        cluster.clock.serve_commands(monkeypatch)
        yield cluster


def _run(cluster: ScriptedCluster, *arguments: str) -> Outcome:
    return run(*arguments, "--timeout", "3s", bootstrap=str(cluster.addresses[1]))


def _errors(outcome: Outcome) -> list[str]:
    return [line for line in outcome.stderr.splitlines() if line.startswith("Error:")]


@pytest.mark.parametrize("selection", [["--all-groups"], NAMES], ids=["all", "named"])
def test_its_rows_have_offsets_and_lag_without_a_member(cluster: ScriptedCluster, selection: list[str]) -> None:
    outcome = _run(cluster, "describe", *selection, "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == [
        f"{name},t,0,60,100,40,{',,' if name == HANGING else 'm,/10.0.0.1,c'}" for name in NAMES
    ]
    [error] = _errors(outcome)
    assert error.startswith(f"Error: group '{HANGING}': no response within ")
    assert f"broker 2 ({cluster.addresses[2]})" in error
    assert error.endswith(" (TIMEOUT)")
    assert outcome.exit_code == 3


def test_json_has_its_offsets_and_an_error_and_its_state_is_unknown(cluster: ScriptedCluster) -> None:
    outcome = _run(cluster, "describe", *NAMES, "--format", "json")
    document = json.loads(outcome.stdout)
    groups = {group["group"]: group for group in document["groups"]}
    assert list(groups) == NAMES
    assert (groups["g01"]["state"], len(groups["g01"]["members"])) == ("Stable", 1)
    hanging = groups[HANGING]
    assert (hanging["state"], hanging["members"]) == (None, [])
    assert [(row["lag"], row["member_id"]) for row in hanging["offsets"]] == [(40, None)]
    assert [(error["group"], error["name"], error["broker"]) for error in document["errors"]] == [
        (HANGING, "TIMEOUT", 2)
    ]
    assert (document["status"], outcome.exit_code) == ("partial", 3)


@pytest.mark.parametrize("view", ["--state", "--members"])
@pytest.mark.parametrize("form", ["csv", "ndjson", "json"])
def test_its_state_and_its_members_are_only_an_error(cluster: ScriptedCluster, view: str, form: str) -> None:
    outcome = _run(cluster, "describe", *NAMES, view, "--format", form)
    found = {name for name in NAMES if f'"{name}"' in outcome.stdout or f"{name}," in outcome.stdout}
    if form == "json":
        found = {group["group"] for group in json.loads(outcome.stdout)["groups"]}
    assert found == {*NAMES} - {HANGING}
    assert len(_errors(outcome)) == 1 or form == "json"
    assert outcome.exit_code == 3


def test_lag_has_its_total_and_does_not_claim_that_it_has_no_members(cluster: ScriptedCluster) -> None:
    outcome = _run(cluster, "lag", *NAMES, "--format", "ndjson")
    rows = {row["group"]: row for row in map(json.loads, outcome.stdout.splitlines())}
    assert {name: row["lag"] for name, row in rows.items()} == dict.fromkeys(NAMES, 40)
    assert (rows["g01"]["state"], rows["g01"]["members"]) == ("Stable", 1)
    assert (rows[HANGING]["state"], rows[HANGING]["members"]) == (None, None)
    assert outcome.exit_code == 3


@pytest.mark.parametrize("by", ["topic", "partition", "member"])
def test_lag_by_parts_has_the_parts_of_the_hanging_group(cluster: ScriptedCluster, by: str) -> None:
    outcome = _run(cluster, "lag", *NAMES, "--by", by, "--format", "ndjson")
    rows = [row for row in map(json.loads, outcome.stdout.splitlines()) if row["group"] == HANGING]
    assert [(row["lag"], row.get("member_id")) for row in rows] == [(40, None)]
    assert outcome.exit_code == 3


def test_a_condition_on_its_members_does_not_hold(cluster: ScriptedCluster) -> None:
    outcome = _run(cluster, "lag", HANGING, "g01", "--fail-if", "members == 0")
    assert outcome.exit_code == 3


def test_a_group_that_is_described_alone_shows_its_offsets_too(cluster: ScriptedCluster) -> None:
    outcome = _run(cluster, "describe", HANGING, "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == [f"{HANGING},t,0,60,100,40,,,"]
    assert outcome.exit_code == 3


def test_orphans_of_a_deleted_topic_are_found_although_the_members_are_unknown(cluster: ScriptedCluster) -> None:
    cluster.groups[HANGING].commits = {("gone", 0): 5, ("t", 0): 60}
    outcome = _run(cluster, "orphans", *NAMES, "--format", "csv")
    assert [line.split(",")[:3] for line in outcome.stdout.splitlines()[1:]] == [[HANGING, "gone", "0"]]
    assert outcome.exit_code == 3


def test_a_group_whose_offsets_hang_hides_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {name: Group(coordinator=2, state="Empty", commits={("t", 0): 60}) for name in NAMES}
    cluster = ScriptedCluster(groups=groups, topics={"t": {0: 2}})
    cluster.clock.serve_commands(monkeypatch)
    with cluster, HangingRequests(cluster, "OffsetFetch", [HANGING]):
        described = _run(cluster, "describe", "--all-groups", "--format", "csv")
        offsets = _run(cluster, "offsets", *NAMES, "--format", "csv")
    others = [name for name in NAMES if name != HANGING]
    assert [line.split(",")[0] for line in described.stdout.splitlines()[1:]] == others
    assert [line.split(",")[0] for line in offsets.stdout.splitlines()[1:]] == others
    assert (described.exit_code, offsets.exit_code) == (3, 3)
    assert f"group '{HANGING}'" in _errors(offsets)[0]


def test_groups_of_a_topic_include_it_without_a_number_of_members(cluster: ScriptedCluster) -> None:
    outcome = _run(cluster, "list", "--topic", "t", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == [
        f"{HANGING},Classic,,consumer,,1" if name == HANGING else f"{name},Classic,Stable,consumer,1,1"
        for name in NAMES
    ]
    assert [error.partition(":")[2].partition(":")[0] for error in _errors(outcome)] == [f" group '{HANGING}'"]
    assert outcome.exit_code == 3
