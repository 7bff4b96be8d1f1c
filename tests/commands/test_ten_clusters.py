"""Ten profiles, of which one cluster is dead, one responds after the deadline, and one denies all."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.several_clusters import NO_BROKER
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.command_line import Outcome
from tests.fakes.reactions import changed, delayed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.timed
GOOD = [f"c{number}" for number in range(7)]
BAD = ["dead", "denied", "slow"]
COMMANDS = [("list",), ("describe", "--all-groups"), ("offsets", "--all-groups"), ("orphans",)]
TIMEOUT_S = 3.0
# The start of a process and ten clusters with their brokers share the cores with other tests.
_SLACK_S = 3.0


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, ScriptedCluster]]:
    clusters = {name: cluster_of(name) for name in (*GOOD, "denied", "slow")}
    yield clusters
    for cluster in clusters.values():
        cluster.close()


def cluster_of(name: str) -> ScriptedCluster:
    cluster = ScriptedCluster(brokers=1, topics={"t": {0: 1}})
    cluster.cluster_id = f"id-{name}"
    return cluster


@pytest.fixture
def profiles(tmp_path: Path, clusters: dict[str, ScriptedCluster], command: tuple[str, ...]) -> ClusterProfiles:
    topic = "deleted" if command == ("orphans",) else "t"
    profiles = ClusterProfiles(tmp_path)
    profiles.add("dead", NO_BROKER)
    for name, cluster in clusters.items():
        profiles.add(name, cluster)
        cluster.groups = {"billing": Group(state="Empty", commits={(topic, 0): 95})}
    clusters["denied"].script("ListGroups", changed(error_code=31))
    clusters["slow"].script("ListGroups", delayed(2 * TIMEOUT_S))
    return profiles


@pytest.mark.parametrize("command", COMMANDS)
def test_in_ndjson_the_other_seven_are_written_first(profiles: ClusterProfiles, command: tuple[str, ...]) -> None:
    process = profiles.start(*command, "--all-profiles", "--format", "ndjson", "--timeout", f"{TIMEOUT_S}s")
    assert process.stdout is not None
    found: set[str] = set()
    while found != {*GOOD}:
        found.add(json.loads(process.stdout.readline())["cluster"])
    is_running = process.poll() is None
    rest, errors = process.communicate(timeout=60)
    assert is_running, "the slow cluster had ended before"
    assert {json.loads(line)["cluster"] for line in rest.splitlines()} <= {*GOOD}
    assert (process.returncode, failed_clusters(errors)) == (3, BAD)


def failed_clusters(stderr: str) -> list[str]:
    """Return the cluster of each error; notes have other lines."""
    return sorted(line.split(": ")[0] for line in stderr.splitlines() if ": Error: " in line)


def run_in_time(profiles: ClusterProfiles, *arguments: str) -> Outcome:
    """Run a command, which ends by its deadline."""
    started = time.monotonic()
    outcome = profiles.run(*arguments, "--all-profiles", "--timeout", f"{TIMEOUT_S}s")
    assert time.monotonic() - started < TIMEOUT_S + _SLACK_S
    assert outcome.exit_code == 3
    assert failed_clusters(outcome.stderr) == BAD
    return outcome


@pytest.mark.parametrize("command", COMMANDS[:2])
def test_a_table_ends_by_the_deadline_with_the_other_seven(profiles: ClusterProfiles, command: tuple[str, ...]) -> None:
    lines = run_in_time(profiles, *command).stdout.splitlines()
    assert {line.split()[0] for line in lines if line} == {"CLUSTER", *GOOD}


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_csv_ends_by_the_deadline_with_the_other_seven(profiles: ClusterProfiles, command: tuple[str, ...]) -> None:
    rows = csv.DictReader(run_in_time(profiles, *command, "--format", "csv").stdout.splitlines())
    assert list(dict.fromkeys(row["CLUSTER"] for row in rows)) == GOOD


@pytest.mark.parametrize("command", COMMANDS)
def test_json_ends_by_the_deadline_with_the_other_seven(profiles: ClusterProfiles, command: tuple[str, ...]) -> None:
    document = json.loads(run_in_time(profiles, *command, "--format", "json").stdout)
    assert [group["cluster"] for group in document["groups"]] == GOOD
    errors = {error["cluster"]: error["name"] for error in document["errors"]}
    assert (sorted(errors), document["status"]) == (BAD, "partial")
    assert (errors["denied"], errors["slow"]) == ("CLUSTER_AUTHORIZATION_FAILED", "TIMEOUT")
