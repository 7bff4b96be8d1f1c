"""`lag` of several profiles: the rows of all clusters, the worst first, conditions and metrics."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.rendering.screen import Screen, inspect_streams
from kafka_groups.rendering.views import view_schemas
from tests.commands.several_clusters import west_cluster
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.reactions import delayed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

BOTH = ("--profile", "east,west")


@pytest.fixture
def west() -> Iterator[ScriptedCluster]:
    with west_cluster() as cluster:
        cluster.groups["slow"] = Group(state="Empty", commits={("t", 0): 3})
        yield cluster


def test_the_worst_rows_of_all_clusters_come_first(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("lag", *BOTH, "--format", "csv")
    rows = [line.split(",")[:2] for line in outcome.stdout.splitlines()]
    assert rows[0] == ["CLUSTER", "GROUP"]
    assert rows[1:] == [["west", "slow"], ["east", "billing"], ["east", "orders"], ["west", "billing"]]


@pytest.mark.parametrize("by", ["group", "partition"])
def test_top_counts_the_rows_of_all_clusters(profiles: ClusterProfiles, by: str) -> None:
    arguments = ("lag", *BOTH, "--by", by, "--top", "2", "--format")
    lines = map(json.loads, profiles.run(*arguments, "ndjson").stdout.splitlines())
    groups = json.loads(profiles.run(*arguments, "json").stdout)["groups"]
    worst = [("west", "id-west", "slow", 97), ("east", "id-east", "billing", 95)]
    for found in (lines, groups):
        assert [(each["cluster"], each["cluster_id"], each["group"], each["lag"]) for each in found] == worst


def test_the_document_of_several_clusters_conforms_to_the_schema(profiles: ClusterProfiles) -> None:
    document = json.loads(profiles.run("lag", "--all-profiles", "--by", "topic", "--format", "json").stdout)
    assert list(Draft202012Validator(view_schemas()["lag"]).iter_errors(document)) == []
    assert [error["cluster"] for error in document["errors"]] == ["dead"]
    assert document["status"] == "partial"


def test_one_note_names_the_command_for_the_worst_group_of_all_clusters(
    profiles: ClusterProfiles, mocker: MockerFixture
) -> None:
    def look(_colour: str) -> Screen:
        return inspect_streams("never")._replace(err_is_terminal=True)

    mocker.patch("kafka_groups.options.several_clusters.inspect_streams", side_effect=look)
    mocker.patch("kafka_groups.options.cluster_outcomes.ProgressBar")
    command = "kafka-groups why slow --profile west"
    text = f"Group 'slow' has a lag and no members (3 more groups have trouble). To see why: {command}"
    assert profiles.run("lag", *BOTH).stderr == f"west: {text}\n"


def test_a_condition_judges_the_rows_of_all_clusters(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("lag", *BOTH, "--top", "1", "--fail-if", "lag>90 and group==billing")
    text = "Error: the condition of --fail-if holds for 'billing' of east\n"
    assert (outcome.exit_code, outcome.stderr) == (4, text)
    assert profiles.run("lag", *BOTH, "--fail-if", "lag>97").exit_code == 0


def test_a_held_condition_beats_a_dead_cluster(profiles: ClusterProfiles) -> None:
    assert profiles.run("lag", "--profile", "east,dead").exit_code == 3
    assert profiles.run("lag", "--profile", "east,dead", "--fail-if", "lag>90").exit_code == 4


def test_a_condition_without_groups_is_not_checked(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("lag", "--match", "nope", *BOTH, "--fail-if", "lag>90")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.splitlines()[-1] == "The condition of --fail-if was not checked."


def test_metrics_have_the_label_of_the_cluster(profiles: ClusterProfiles, tmp_path: Path) -> None:
    file = tmp_path / "metrics"
    several = profiles.run("lag", *BOTH, "--format", "openmetrics", "--metrics-file", str(file)).stdout
    series = [line for line in several.splitlines() if line.startswith("kafka_groups_group_lag_messages{")]
    assert 'kafka_groups_group_lag_messages{cluster="east",group="billing",type="Classic"} 95' in series
    assert 'kafka_groups_group_lag_messages{cluster="west",group="billing",type="Classic"} 5' in series
    assert set(series) <= set(file.read_text().splitlines())
    one = profiles.run("lag", "--profile", "west", "--format", "openmetrics").stdout
    assert 'kafka_groups_group_lag_messages{cluster="west",group="billing",type="Classic"} 5' in one.splitlines()


@pytest.mark.parametrize("command", ["lag", "list"])
def test_a_signal_writes_what_ended(profiles: ClusterProfiles, west: ScriptedCluster, command: str) -> None:
    west.script("ListGroups", delayed(20.0))
    process = profiles.start(command, *BOTH, "--format", "json")
    while not west.requests_of("ListGroups") and process.poll() is None:
        time.sleep(0.05)
    # The other cluster has ended by then.
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=15)
    document = json.loads(stdout)
    assert {group["cluster"] for group in document["groups"]} == {"east"}
    assert [(error["cluster"], error["name"]) for error in document["errors"]] == [("west", "INTERRUPTED")]
    assert (process.returncode, document["status"]) == (130, "partial")
    assert [line.split(":")[0] for line in stderr.splitlines()] == ["west", "Error"]
