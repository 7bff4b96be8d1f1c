"""`lag --polls` and `orphans --polls` of several profiles: one file keeps the polls of each cluster apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.groups.lag.polls_file import read_section, split_file
from tests.commands.idle_polls import write_history
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.command_line import Outcome
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

BOTH = ("--profile", "east,west")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lag.polls"


def sections_of(file: Path) -> dict[str, str]:
    return split_file(file.read_text(), name=str(file))


def lags_of(outcome: Outcome) -> dict[tuple[str, str], list[int]]:
    groups = json.loads(outcome.stdout)["groups"]
    return {(group["cluster"], group["group"]): group["lags"] for group in groups}


def test_groups_of_one_id_in_two_clusters_have_polls_of_their_own(
    profiles: ClusterProfiles, east: ScriptedCluster, file: Path
) -> None:
    arguments = ("lag", *BOTH, "--polls", str(file), "--format", "json")
    profiles.run(*arguments)
    east.groups["billing"] = Group(state="Empty", commits={("t", 0): 55})
    outcome = profiles.run(*arguments)
    lags = {("east", "billing"): [95, 45], ("east", "orders"): [94, 94], ("west", "billing"): [5, 5]}
    assert (outcome.exit_code, lags_of(outcome)) == (0, lags)
    assert outcome.stderr == ""
    assert sorted(sections_of(file)) == ["id-east", "id-west"]


def test_damaged_polls_are_a_failure_of_their_cluster(profiles: ClusterProfiles, file: Path) -> None:
    arguments = ("lag", *BOTH, "--polls", str(file), "--format", "json")
    profiles.run(*arguments)
    section = sections_of(file)["id-west"]
    damaged = "\n".join([section.splitlines()[0], *('["billing", "t"]' for _ in section.splitlines()[1:])])
    file.write_text(file.read_text().replace(section.strip(), damaged))
    outcome = profiles.run(*arguments)
    assert outcome.exit_code == 3
    assert lags_of(outcome) == {("east", "billing"): [95, 95], ("east", "orders"): [94, 94]}
    (error,) = json.loads(outcome.stdout)["errors"]
    assert (error["cluster"], error["name"]) == ("west", "REFUSED")
    assert damaged in file.read_text()


def test_the_polls_of_a_cluster_that_fails_stay(profiles: ClusterProfiles, west: ScriptedCluster, file: Path) -> None:
    arguments = ("lag", *BOTH, "--polls", str(file), "--format", "json")
    profiles.run(*arguments)
    kept = sections_of(file)["id-west"]
    west.close()
    outcome = profiles.run(*arguments, "--timeout", "2s")
    assert (outcome.exit_code, len(lags_of(outcome)["east", "billing"])) == (3, 2)
    assert sections_of(file)["id-west"] == kept


def test_one_cluster_and_several_use_the_same_file(profiles: ClusterProfiles, file: Path) -> None:
    arguments = ("lag", "--polls", str(file), "--format", "json", "--profile")
    outcomes = [profiles.run(*arguments, profile) for profile in ("east", "west", "east,west", "west")]
    assert lags_of(outcomes[-1]) == {("west", "billing"): [5, 5, 5]}


def test_polls_of_another_isolation_level_are_refused_for_all_clusters(profiles: ClusterProfiles, file: Path) -> None:
    profiles.run("lag", "--profile", "east", "--polls", str(file))
    outcome = profiles.run("lag", *BOTH, "--polls", str(file), "--isolation", "committed")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "has the polls of --isolation uncommitted" in outcome.stderr


def test_a_condition_may_compare_the_verdicts_of_all_clusters(profiles: ClusterProfiles, file: Path) -> None:
    outcome = profiles.run("lag", *BOTH, "--polls", str(file), "--fail-if", "verdict==UNKNOWN and group==billing")
    text = "Error: the condition of --fail-if holds for 'billing' of east, 'billing' of west\n"
    assert (outcome.exit_code, outcome.stderr) == (4, text)


def test_a_known_reset_is_a_note_of_its_cluster(profiles: ClusterProfiles, west: ScriptedCluster, file: Path) -> None:
    profiles.run("lag", *BOTH, "--polls", str(file))
    west.groups["billing"] = Group(state="Empty", commits={("t", 0): 90})
    outcome = profiles.run("lag", *BOTH, "--polls", str(file))
    assert outcome.stderr.startswith("west: Group 'billing': its offset on t-0 from 95 to 90 was set back between ")
    assert (outcome.exit_code, outcome.stderr.count("\n"), "REWIND " in outcome.stdout) == (0, 1, False)


def test_a_watch_keeps_what_another_run_writes_of_other_clusters(
    profiles: ClusterProfiles, file: Path, mocker: MockerFixture
) -> None:
    def run_on_west(_seconds: float) -> None:
        profiles.run("lag", "--profile", "west", "--polls", str(file))

    mocker.patch("kafka_groups.commands.lag_watch.pause", side_effect=run_on_west)
    profiles.run("lag", "--profile", "east", "--watch", "1s", "--samples", "3", "--polls", str(file))
    polls = {cluster: read_section(text, name="f") for cluster, text in sections_of(file).items()}
    assert (len(polls["id-east"].lags["billing"]), len(polls["id-west"].lags["billing"])) == (3, 2)


def test_two_profiles_of_one_cluster_keep_the_polls_of_the_first(
    profiles: ClusterProfiles, east: ScriptedCluster, file: Path
) -> None:
    profiles.add("again", east)
    arguments = ("lag", "--profile", "east,again", "--polls", str(file), "--format", "json")
    profiles.run(*arguments)
    outcome = profiles.run(*arguments)
    assert (outcome.exit_code, [*sections_of(file)]) == (0, ["id-east"])
    assert lags_of(outcome)["east", "orders"] == lags_of(outcome)["again", "orders"] == [94, 94]


def test_a_file_that_cannot_be_written_is_one_error(profiles: ClusterProfiles, tmp_path: Path) -> None:
    outcome = profiles.run("lag", *BOTH, "--polls", str(tmp_path / "missing" / "polls"))
    assert (outcome.exit_code, outcome.stderr.count("cannot write the polls")) == (1, 1)
    assert len(outcome.stdout.splitlines()) == 4


def test_orphans_finds_idle_groups_by_the_polls_of_each_cluster(
    profiles: ClusterProfiles, east: ScriptedCluster, west: ScriptedCluster, file: Path
) -> None:
    for cluster in (east, west):
        cluster.groups = {"idle": Group(state="Empty", commits={("t", 0): 3})}
    sections = {}
    for cluster_id, days in (("id-east", 9), ("id-west", 1)):
        write_history(file, days, cluster_id)
        sections[cluster_id] = sections_of(file)[cluster_id]
    head = file.read_text().partition("\n")[0].replace('"clusters": 1', '"clusters": 2')
    file.write_text("".join([head, "\n", *sections.values()]))
    outcome = profiles.run("orphans", *BOTH, "--polls", str(file), "--format", "ndjson")
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert (outcome.exit_code, [(row["cluster"], row["reason"]) for row in rows]) == (0, [("east", "idle")])


def test_a_cluster_without_polls_is_one_failure_of_orphans(profiles: ClusterProfiles, file: Path) -> None:
    profiles.run("lag", "--profile", "east", "--polls", str(file))
    outcome = profiles.run("orphans", *BOTH, "--polls", str(file), "--idle", "1h")
    text = f"west: Error: {file} has the polls of cluster id-east, and this is cluster id-west"
    assert (outcome.exit_code, outcome.stderr.splitlines()[-1].startswith(text)) == (3, True)
    absent = profiles.run("orphans", *BOTH, "--polls", f"{file}.absent")
    assert (absent.exit_code, absent.stderr.count("there is no file")) == (2, 1)
