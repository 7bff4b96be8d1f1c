"""`wait` for several profiles: the condition must hold in all clusters at one time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.several_clusters import NO_BROKER, west_cluster
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.scripted_cluster import Group, ScriptedCluster

BOTH = ("--profile", "east,west")
UNTIL = ("wait", "billing", "--until", "lag<=10")


@pytest.fixture
def profiles(tmp_path: Path, east: ScriptedCluster) -> Iterator[ClusterProfiles]:
    profiles = ClusterProfiles(tmp_path)
    profiles.add("east", east)
    profiles.add("dead", NO_BROKER)
    with west_cluster() as west:
        profiles.add("west", west)
        yield profiles


@pytest.mark.slow
def test_the_condition_must_hold_in_each_cluster(profiles: ClusterProfiles) -> None:
    outcome = profiles.run(*UNTIL, *BOTH, "--for", "1s")
    text = "Error: the condition of --until does not hold for 'billing' of east"
    assert (outcome.exit_code, outcome.stderr.splitlines()) == (4, [text])
    rows = [line.split()[:2] for line in outcome.stdout.splitlines()]
    assert rows == [["CLUSTER", "GROUP"], ["east", "billing"], ["west", "billing"]]


def test_the_wait_ends_when_it_holds_in_all(profiles: ClusterProfiles, east: ScriptedCluster) -> None:
    east.groups["billing"] = Group(state="Empty", commits={("t", 0): 99})
    outcome = profiles.run(*UNTIL, *BOTH, "--format", "json")
    document = json.loads(outcome.stdout)
    found = [(group["cluster"], group["cluster_id"], group["lag"]) for group in document["groups"]]
    assert found == [("west", "id-west", 5), ("east", "id-east", 1)]
    assert (outcome.exit_code, document["status"]) == (0, "complete")


@pytest.mark.slow
def test_a_dead_cluster_is_a_failure_of_a_wait_for_the_others(profiles: ClusterProfiles) -> None:
    outcome = profiles.run(*UNTIL, "--profile", "west,dead")
    assert (outcome.exit_code, outcome.stderr.count("dead: Error: ")) == (3, 1)
    assert profiles.run(*UNTIL, "--profile", "dead,dead,dead").exit_code == 1


@pytest.mark.slow
def test_a_group_that_is_absent_in_one_cluster_does_not_fulfil_it(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("wait", "orders", "--until", "lag>=0", *BOTH, "--for", "1s")
    assert outcome.exit_code == 4
    assert "does not hold for 'orders' of west" in outcome.stderr
    assert "west: Waiting for group 'orders'" in outcome.stderr


def test_no_group_in_any_cluster_is_a_condition_that_was_not_checked(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("wait", "--match", "nope", "--until", "lag>=0", *BOTH)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.splitlines()[-1] == "The condition of --until was not checked."
