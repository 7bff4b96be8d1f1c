"""`why` of several profiles: each cluster is polled for itself, and conditions hold over all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.several_clusters import NO_BROKER, east_cluster, west_cluster
from tests.fakes.cluster_profiles import ClusterProfiles

BOTH = ("--profile", "east,west", "--samples", "1")


@pytest.fixture
def profiles(tmp_path: Path) -> Iterator[ClusterProfiles]:
    with east_cluster() as east, west_cluster() as west:
        profiles = ClusterProfiles(tmp_path)
        profiles.add("east", east)
        profiles.add("west", west)
        profiles.add("dead", NO_BROKER)
        yield profiles


def test_the_groups_of_each_cluster_are_judged(profiles: ClusterProfiles) -> None:
    groups = json.loads(profiles.run("why", "billing", *BOTH, "--format", "json").stdout)["groups"]
    assert [(group["cluster"], group["lag"], len(group["findings"])) for group in groups] == [
        ("east", 95, 1),
        ("west", 5, 1),
    ]


def test_the_text_names_the_cluster_of_each_group(profiles: ClusterProfiles) -> None:
    lines = profiles.run("why", "billing", *BOTH).stdout.splitlines()
    assert [line for line in lines if line.startswith("Cluster ")] == ["Cluster east:", "Cluster west:"]


def test_a_condition_holds_for_a_group_of_any_cluster(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("why", "orders", *BOTH, "--fail-if", "certainty>=strong")
    assert outcome.exit_code == 4
    assert "the condition of --fail-if holds for 'orders'" in outcome.stderr


def test_a_condition_that_no_cluster_could_check_fails(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("why", "--match", "x.*", *BOTH, "--fail-if", "certainty>=strong")
    assert outcome.exit_code == 1


def test_a_cluster_that_fails_is_one_error_beside_the_others(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("why", "billing", "--profile", "east,dead", "--samples", "1")
    assert outcome.exit_code == 3
    assert "dead: Error: " in outcome.stderr
    assert "Cluster east:" in outcome.stdout


def test_a_watch_takes_one_cluster(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("why", "billing", "--profile", "east,west", "--watch", "30s")
    assert (outcome.exit_code, "--watch contradicts several profiles" in outcome.stderr) == (2, True)
