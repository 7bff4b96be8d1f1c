"""Several profiles in one command: list, describe, offsets and orphans."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.rendering.views import view_schemas
from tests.commands.several_clusters import NO_BROKER, west_cluster
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.reactions import changed, delayed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

BOTH = ("--profile", "east,west")
DEAD = "dead: Error: cannot connect to 127.0.0.1:1: connection refused; see bootstrap.servers of profile 'dead' "


@pytest.fixture
def profiles(tmp_path: Path, east: ScriptedCluster, west: ScriptedCluster) -> ClusterProfiles:
    profiles = ClusterProfiles(tmp_path)
    profiles.add("east", east)
    profiles.add("west", west)
    return profiles


@pytest.fixture
def with_dead(profiles: ClusterProfiles) -> ClusterProfiles:
    profiles.add("dead", NO_BROKER)
    return profiles


def document_of(profiles: ClusterProfiles, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(profiles.run(*arguments, "--format", "json").stdout)
    return document


def test_a_piped_list_has_a_header_and_the_cluster_first(profiles: ClusterProfiles) -> None:
    lines = ["CLUSTER  GROUP", "east     billing", "east     orders", "west     billing", ""]
    assert profiles.run("list", *BOTH) == (0, "\n".join(lines), "")


def test_clusters_are_in_the_order_of_the_profiles_each_once(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("list", "--profile", "west", "--profile", "east,west", "--format", "csv", "--state")
    rows = [line.split(",")[:2] for line in outcome.stdout.splitlines()]
    assert rows == [["CLUSTER", "GROUP"], ["west", "billing"], ["east", "billing"], ["east", "orders"]]


def test_all_profiles_are_all_tables_of_the_file(profiles: ClusterProfiles) -> None:
    assert profiles.run("list", "--all-profiles") == profiles.run("list", *BOTH)


def test_the_only_profile_of_all_has_the_form_of_several(tmp_path: Path, west: ScriptedCluster) -> None:
    profiles = ClusterProfiles(tmp_path)
    profiles.add("west", west)
    assert profiles.run("list", "--all-profiles").stdout == "CLUSTER  GROUP\nwest     billing\n"
    assert profiles.run("list", "--profile", "west,west").stdout == "billing\n"


@pytest.mark.parametrize("command", ["describe", "offsets"])
def test_a_group_of_the_same_id_is_a_group_of_each_cluster(profiles: ClusterProfiles, command: str) -> None:
    groups = document_of(profiles, command, "billing", *BOTH)["groups"]
    found = [(each["cluster"], each["cluster_id"], each["offsets"][0]["committed_offset"]) for each in groups]
    assert found == [("east", "id-east", 5), ("west", "id-west", 95)]


@pytest.mark.parametrize(
    "arguments", [("list",), ("list", "--topic", "t"), ("describe", "billing"), ("offsets", "billing"), ("orphans",)]
)
@pytest.mark.parametrize("output_format", ["json", "ndjson"])
def test_documents_conform_to_their_schemas(
    with_dead: ClusterProfiles, east: ScriptedCluster, arguments: tuple[str, ...], output_format: str
) -> None:
    east.groups["gone"] = Group(state="Empty", commits={("deleted", 0): 5})
    text = with_dead.run(*arguments, "--profile", "east,dead,west", "--format", output_format).stdout
    if output_format == "json":
        schema = view_schemas()[arguments[0]]
        assert list(Draft202012Validator(schema).iter_errors(json.loads(text))) == []
    else:
        rows = [json.loads(line) for line in text.splitlines()]
        assert {"east"} <= {row["cluster"] for row in rows} <= {"east", "west"}


def test_describe_names_the_cluster_in_each_row_and_note(profiles: ClusterProfiles) -> None:
    outcome = profiles.run("describe", "billing", *BOTH)
    rows = [line.split()[:3] for line in outcome.stdout.splitlines() if line]
    header = ["CLUSTER", "GROUP", "TOPIC"]
    assert rows == [header, ["east", "billing", "t"], header, ["west", "billing", "t"]]
    note = "Consumer group 'billing' has no active members."
    assert outcome.stderr.splitlines() == [f"east: {note}", f"west: {note}"]


def test_a_cluster_costs_the_requests_that_it_costs_alone(profiles: ClusterProfiles, east: ScriptedCluster) -> None:
    profiles.run("describe", "--all-groups", "--profile", "east")
    alone = east.requests()
    profiles.run("describe", "--all-groups", *BOTH)
    assert east.requests() == alone + alone


def test_a_dead_cluster_is_one_failure_beside_the_others(with_dead: ClusterProfiles) -> None:
    arguments = ("list", "--profile", "east,dead,west")
    outcome = with_dead.run(*arguments)
    assert (outcome.exit_code, outcome.stderr) == (3, f"{DEAD}(CONNECTION_FAILED)\n")
    assert len(outcome.stdout.splitlines()) == 4
    document = document_of(with_dead, *arguments)
    assert (document["status"], len(document["groups"])) == ("partial", 3)
    assert [(error["cluster"], error["name"]) for error in document["errors"]] == [("dead", "CONNECTION_FAILED")]


def test_dead_clusters_alone_are_a_failed_result(with_dead: ClusterProfiles) -> None:
    with_dead.add("gone", NO_BROKER)
    outcome = with_dead.run("list", "--profile", "dead,gone")
    assert (outcome.exit_code, outcome.stdout, len(outcome.stderr.splitlines())) == (1, "", 2)


@pytest.fixture
def ten(tmp_path: Path) -> Iterator[ClusterProfiles]:
    """Return ten clusters: `c0` is slow, `c1` denies the listing, and `dead` has no broker."""
    profiles = ClusterProfiles(tmp_path)
    clusters = {f"c{number}": west_cluster(f"id-{number}") for number in range(9)}
    clusters["c0"].script("ListGroups", delayed(2.0))
    clusters["c1"].script("ListGroups", changed(error_code=31))
    for name, cluster in clusters.items():
        profiles.add(name, cluster)
    profiles.add("dead", NO_BROKER)
    yield profiles
    for cluster in clusters.values():
        cluster.close()


@pytest.mark.slow
@pytest.mark.parametrize("command", [("list",), ("describe", "--all-groups"), ("lag",)])
def test_dead_slow_and_denied_clusters_do_not_delay_the_others(ten: ClusterProfiles, command: tuple[str, ...]) -> None:
    outcome = ten.run(*command, "--all-profiles", "--format", "ndjson")
    names = [json.loads(line)["cluster"] for line in outcome.stdout.splitlines()]
    assert (sorted(names[:7]), names[7:]) == ([f"c{number}" for number in range(2, 9)], ["c0"])
    failed = sorted(line.split(":")[0] for line in outcome.stderr.splitlines() if ": Error: " in line)
    assert (outcome.exit_code, failed) == (3, ["c1", "dead"])


@pytest.mark.parametrize("command", [("list",), ("describe", "--all-groups"), ("lag",)])
def test_other_formats_end_within_the_deadline(ten: ClusterProfiles, command: tuple[str, ...]) -> None:
    document = document_of(ten, *command, "--all-profiles", "--timeout", "700ms")
    assert [group["cluster"] for group in document["groups"]] == [f"c{number}" for number in range(2, 9)]
    errors = {error["cluster"]: error["name"] for error in document["errors"]}
    assert (errors["c0"], sorted(errors)) == ("TIMEOUT", ["c0", "c1", "dead"])


def test_rows_in_ndjson_are_written_before_a_slow_cluster_ends(
    profiles: ClusterProfiles, west: ScriptedCluster
) -> None:
    west.script("ListGroups", delayed(20.0))
    process = profiles.start("lag", *BOTH, "--format", "ndjson")
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline())["cluster"] for _ in range(2)] == ["east", "east"]
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=15)
    assert (process.returncode, stdout, "west: Error: " in stderr) == (130, "", True)


def test_a_silent_cluster_ends_at_its_timeout(profiles: ClusterProfiles, west: ScriptedCluster) -> None:
    west.script("ListGroups", delayed(3.0))
    started = time.monotonic()
    outcome = profiles.run("list", *BOTH, "--timeout", "500ms")
    assert time.monotonic() - started < 2.5
    assert (outcome.exit_code, outcome.stdout) == (3, "CLUSTER  GROUP\neast     billing\neast     orders\n")
    assert outcome.stderr.startswith("west: Error: ")


def test_a_profile_that_cannot_be_used_is_a_failure_of_its_cluster(profiles: ClusterProfiles) -> None:
    profiles.add("broken", NO_BROKER, {"security.protocol": "TSL"})
    outcome = profiles.run("list", "--all-profiles")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (3, 4)
    assert outcome.stderr.startswith("broken: Error: profile 'broken': security.protocol=TSL is unknown")
    # It may be an option that cannot be used.
    assert profiles.run("list", *BOTH, "--timeout", "5").exit_code == 2


def test_an_absent_group_is_a_failure_in_each_cluster(profiles: ClusterProfiles) -> None:
    errors = document_of(profiles, "describe", "billing", "nope", *BOTH)["errors"]
    assert [(error["cluster"], error["group"]) for error in errors] == [("east", "nope"), ("west", "nope")]


def test_two_profiles_of_one_cluster_are_a_note(profiles: ClusterProfiles, east: ScriptedCluster) -> None:
    profiles.add("again", east)
    text = "The profiles 'east' and 'again' are one cluster, id-east."
    assert profiles.run("list", "--profile", "east,again").stderr == f"{text}\n"
    notes = document_of(profiles, "list", "--profile", "east,again")["notes"]
    assert notes == [{"kind": "same_cluster", "cluster": None, "group": None, "text": text}]


def test_csv_of_clusters_with_groups_of_other_kinds_is_refused(
    profiles: ClusterProfiles, west: ScriptedCluster
) -> None:
    west.groups = {"billing": Group(type="Share", protocol_type="share", state="Empty", commits={("t", 0): 1})}
    outcome = profiles.run("offsets", "billing", *BOTH, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "CSV has one set of columns" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("list", "-q"), "-q prints bare ids and contradicts several profiles"),
        (("list", "-b", "b:1"), "-b contradicts several profiles"),
        (("list", "--config", "f"), "--config contradicts several profiles"),
        (("list", "-X", "sasl.password=x"), "-X sasl.password contradicts several profiles"),
        (("list", "-X", "bootstrap.servers=b:1"), "-X bootstrap.servers contradicts several profiles"),
        (("list", "--format", "kafka"), "--format kafka contradicts several profiles"),
        (("list", "--all-profiles"), "--all-profiles contradicts --profile"),
        (("list", "--profile", "wst"), "there is no profile 'wst'"),
        (("list", "--profile", "east,"), "a name of the list is empty"),
        (("orphans", "--export", "plan.json"), "--export contradicts several profiles"),
        (("delete", "billing"), "delete takes exactly one cluster, and --profile names 'east', 'west'"),
        (("reset", "billing", "--to-latest", "--all-topics"), "reset takes exactly one cluster"),
        (("undo",), "undo takes exactly one cluster"),
    ],
)
def test_what_several_clusters_exclude_is_a_usage_error(
    profiles: ClusterProfiles, east: ScriptedCluster, arguments: tuple[str, ...], text: str
) -> None:
    outcome = profiles.run(*arguments, *BOTH)
    assert (outcome.exit_code, outcome.stdout, east.requests().total()) == (2, "", 0)
    assert text in outcome.stderr


def test_an_unknown_profile_suggests_the_nearest(profiles: ClusterProfiles) -> None:
    assert "did you mean 'west'?" in profiles.run("list", "--profile", "east,wset").stderr


def test_a_property_that_is_no_secret_is_one_of_each_cluster(profiles: ClusterProfiles, west: ScriptedCluster) -> None:
    assert profiles.run("list", *BOTH, "-X", "client.id=me").exit_code == 0
    assert {request.client_id for request in west.requests_of("ListGroups")} == {"me"}


def test_one_cluster_is_named_by_profile_name_or_id(profiles: ClusterProfiles, west: ScriptedCluster) -> None:
    address = str(west.addresses[1])
    cases = {
        "west": ("--profile", "west"),
        "mine": ("-b", address, "-X", "cluster.name=mine"),
        "id-west": ("-b", address),
    }
    for name, arguments in cases.items():
        (group,) = document_of(profiles, "list", *arguments)["groups"]
        assert (group["cluster"], group["cluster_id"]) == (name, "id-west")
