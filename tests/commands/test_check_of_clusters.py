"""`kafka-groups check` with several profiles: the rows of each cluster, its failures, and exit codes."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.rendering.views import view_schemas
from tests.commands.several_clusters import NO_BROKER
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.reactions import changed, delayed, drops, plain
from tests.fakes.rights_cluster import RightsCluster
from tests.fakes.scripted_cluster import Group

BOTH = ("--profile", "east,west")
ALL = ("--profile", "east,dead,west")


@pytest.fixture
def east() -> Iterator[RightsCluster]:
    with rights_cluster("id-east", brokers=2) as cluster:
        yield cluster


@pytest.fixture
def west() -> Iterator[RightsCluster]:
    with rights_cluster("id-west", brokers=1) as cluster:
        yield cluster


def rights_cluster(cluster_id: str, brokers: int) -> RightsCluster:
    groups = {"billing": Group(state="Empty", commits={("t", 0): 5})}
    cluster = RightsCluster(brokers=brokers, groups=groups, topics={"t": {0: 1}})
    cluster.cluster_id = cluster_id
    return cluster


@pytest.fixture
def profiles(tmp_path: Path, east: RightsCluster, west: RightsCluster) -> ClusterProfiles:
    profiles = ClusterProfiles(tmp_path)
    profiles.add("east", east)
    profiles.add("west", west)
    profiles.add("dead", NO_BROKER)
    return profiles


def rows_of(stdout: str) -> list[dict[str, str]]:
    return list(csv.DictReader(stdout.splitlines()))


def test_each_cluster_has_its_rows_with_the_cluster_first(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("check", *BOTH)
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    header, *lines = [line.split()[:2] for line in outcome.stdout.splitlines()]
    assert header == ["CLUSTER", "SUBJECT"]
    # Eight steps of the bootstrap server, and a row for each broker.
    assert [name for name, _ in lines] == ["east"] * 10 + ["west"] * 9


def test_the_rights_are_those_of_each_cluster(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("check", "billing", *BOTH, "--format", "csv")
    rights = [(row["CLUSTER"], row["SUBJECT"]) for row in rows_of(outcome.stdout) if row["CHECK"] == "rights"]
    subjects = ("cluster", "group billing", "topic t")
    assert rights == [(name, subject) for name in ("east", "west") for subject in subjects]


def test_a_dead_cluster_is_its_rows_and_one_line_on_stderr(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("check", *ALL, "--format", "csv")
    failed = [(row["CLUSTER"], row["CHECK"]) for row in rows_of(outcome.stdout) if row["STATUS"] == "failed"]
    assert (outcome.exit_code, failed) == (3, [("dead", "address")])
    assert outcome.stderr.startswith("dead: Error: cannot connect to 127.0.0.1:1: connection refused; ")
    assert {row["CLUSTER"] for row in rows_of(outcome.stdout)} == {"east", "dead", "west"}


@pytest.mark.parametrize("arguments", [(), ("billing", "absent")])
def test_the_document_names_each_cluster_and_follows_its_schema(
    profiles: ClusterProfiles, arguments: tuple[str, ...]
) -> None:
    profiles.add("broken", NO_BROKER, {"security.protocol": "TSL"})
    outcome = profiles.run("check", *arguments, "--all-profiles", "--format", "json")
    document = json.loads(outcome.stdout)
    assert list(Draft202012Validator(view_schemas()["check"]).iter_errors(document)) == []
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    ids = {check["cluster"]: check["cluster_id"] for check in document["checks"]}
    assert ids == {"east": "id-east", "west": "id-west", "dead": None, "broken": None}
    assert {"dead", "broken"} <= {error["cluster"] for error in document["errors"]}


def test_settings_that_cannot_be_used_are_a_row_of_their_cluster(profiles: ClusterProfiles) -> None:
    profiles.add("broken", NO_BROKER, {"security.protocol": "TSL"})
    outcome = profiles.run("check", "--profile", "broken,west", "--format", "csv")
    row, *others = rows_of(outcome.stdout)
    assert [row["CLUSTER"], row["SUBJECT"], row["CHECK"], row["STATUS"]] == ["broken", "cluster", "settings", "failed"]
    assert row["DETAIL"].startswith("profile 'broken': security.protocol=TSL is unknown")
    assert (outcome.exit_code, {other["CLUSTER"] for other in others}) == (3, {"west"})
    assert outcome.stderr.startswith("broken: Error: profile 'broken': security.protocol=TSL is unknown")
    # It may be an option that cannot be used.
    assert profiles.run("check", *BOTH, "--timeout", "5").exit_code == 2


def test_clusters_that_are_not_reached_are_a_failed_result(profiles: ClusterProfiles) -> None:
    profiles.add("gone", NO_BROKER)
    outcome = profiles.run("check", "--profile", "dead,gone")
    assert (outcome.exit_code, len(outcome.stderr.splitlines())) == (1, 2)


def test_stderr_has_the_first_failure_of_each_cluster(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("check", "absent", "gone", *BOTH, "--format", "json")
    assert [line.split(":")[0] for line in outcome.stderr.splitlines()] == ["east", "west"]
    assert len(json.loads(outcome.stdout)["errors"]) == 4


def test_a_silent_cluster_does_not_delay_the_lines_of_others(profiles: ClusterProfiles, east: RightsCluster) -> None:
    east.script("Metadata", delayed(3.0))
    started = time.monotonic()
    outcome = profiles.run("check", *BOTH, "--format", "ndjson", "--timeout", "500ms")
    assert time.monotonic() - started < 2.5
    names = [json.loads(line)["cluster"] for line in outcome.stdout.splitlines()]
    assert (outcome.exit_code, names[0], names[-1]) == (3, "west", "east")


def test_a_denied_listing_leaves_the_rows_of_the_connection(profiles: ClusterProfiles, east: RightsCluster) -> None:
    east.script("ListGroups", changed(error_code=31))
    outcome = profiles.run("check", "--all-groups", *BOTH, "--format", "csv")
    failed = [row for row in rows_of(outcome.stdout) if row["STATUS"] == "failed"]
    assert {(row["CLUSTER"], row["CHECK"]) for row in failed} == {("east", "rights")}
    assert outcome.exit_code == 3


@pytest.mark.parametrize("arguments", [("--profile", "east"), BOTH])
def test_a_failed_request_for_rights_is_a_row(
    profiles: ClusterProfiles, east: RightsCluster, arguments: tuple[str, ...]
) -> None:
    # The first request is that of the connection's check.
    east.script("Metadata", plain, *[drops] * 20, brokers=[1])
    east.stop(2)
    outcome = profiles.run("check", "--all-groups", *arguments, "--format", "csv", "--timeout", "2s")
    rights = [row for row in rows_of(outcome.stdout) if row["CHECK"] == "rights"]
    assert (outcome.exit_code, rights[0]["SUBJECT"], rights[0]["STATUS"]) == (3, "cluster", "failed")
    assert {row["STATUS"] for row in rows_of(outcome.stdout) if row["CHECK"] == "cluster"} == {"ok"}


def test_two_profiles_of_one_cluster_are_a_note_of_check(profiles: ClusterProfiles, east: RightsCluster) -> None:
    profiles.add("again", east)
    outcome = profiles.run("check", "--profile", "east,again")
    assert (outcome.exit_code, outcome.stderr) == (0, "The profiles 'east' and 'again' are one cluster, id-east.\n")
