"""`lag --watch` of several profiles: one poll of all clusters at once, and clusters that fail in some polls."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.commands.several_clusters import NO_BROKER
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.command_line import Outcome
from tests.fakes.fake_terminal import pretend_terminal
from tests.fakes.reactions import changed, delayed
from tests.fakes.sasl_cluster import REFUSED, SaslCluster
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

BOTH = ("--profile", "east,west")
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "u",
    "sasl.password": "p",
}
WATCH = ("lag", "--watch", "1s", "--samples")


class Polls:
    """What happens before a poll, by its number; there is no pause."""

    def __init__(self) -> None:
        self.number = 1
        self.before: dict[int, Callable[[], Any]] = {}

    def pause(self, _seconds: float) -> None:
        """Begin the next poll as soon as its time differs."""
        self.number += 1
        time.sleep(0.002)
        if action := self.before.get(self.number):
            action()


@pytest.fixture(autouse=True)
def polls(mocker: MockerFixture) -> Polls:
    polls = Polls()
    mocker.patch("kafka_groups.commands.lag_watch.pause", side_effect=polls.pause)
    return polls


def rows_of(outcome: Outcome) -> list[tuple[str, str, list[int]]]:
    lines = map(json.loads, outcome.stdout.splitlines())
    return [(line["cluster"], line["group"], line["lags"]) for line in lines]


def fail(cluster: ScriptedCluster) -> Callable[[], None]:
    """Return a function that lets the next listing of a cluster fail."""
    return lambda: cluster.script("ListGroups", changed(error_code=31))


def test_a_poll_is_one_table_of_all_clusters(profiles: ClusterProfiles, polls: Polls) -> None:
    outcome = profiles.run(*WATCH, "2", *BOTH)
    lines = outcome.stdout.splitlines()
    rows = ["east billing", "east orders", "west billing"]
    assert [" ".join(line.split()[:2]) for line in lines if "Z" not in line and line] == ["CLUSTER GROUP", *rows] * 2
    assert (outcome.exit_code, outcome.stderr, polls.number) == (0, "", 2)
    assert [len(line) for line in lines if "Z" in line] == [20, 20]


def test_lines_have_cluster_id_and_time_and_lags_of_their_cluster(
    profiles: ClusterProfiles, polls: Polls, east: ScriptedCluster
) -> None:
    polls.before[2] = lambda: east.groups.update(billing=Group(state="Empty", commits={("t", 0): 55}))
    outcome = profiles.run(*WATCH, "2", *BOTH, "--format", "ndjson")
    rows = rows_of(outcome)
    assert sorted(rows[:3]) == [("east", "billing", [95]), ("east", "orders", [94]), ("west", "billing", [5])]
    assert sorted(rows[3:]) == [
        ("east", "billing", [95, 45]),
        ("east", "orders", [94, 94]),
        ("west", "billing", [5, 5]),
    ]
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert {(line["cluster"], line["cluster_id"]) for line in lines} == {("east", "id-east"), ("west", "id-west")}
    assert all([*line][:2] == ["cluster", "cluster_id"] and line["at"].endswith("Z") for line in lines)


def test_top_shows_the_worst_rows_of_all_clusters(profiles: ClusterProfiles) -> None:
    outcome = profiles.run(*WATCH, "2", *BOTH, "--format", "ndjson", "--top", "2")
    expected = [("east", "billing", [95]), ("east", "orders", [94])]
    assert (outcome.exit_code, rows_of(outcome)[:2], len(rows_of(outcome))) == (0, expected, 4)


def test_connections_stay_from_poll_to_poll(profiles: ClusterProfiles, west: ScriptedCluster) -> None:
    profiles.run(*WATCH, "1", *BOTH)
    once = west.requests()
    profiles.run(*WATCH, "3", *BOTH)
    assert west.requests()["ApiVersions"] == 2 * once["ApiVersions"]
    assert west.requests()["ListGroups"] == 4 * once["ListGroups"]


def test_a_cluster_that_fails_in_a_poll_is_its_failure_and_tried_again(
    profiles: ClusterProfiles, polls: Polls, west: ScriptedCluster
) -> None:
    polls.before[2] = fail(west)
    outcome = profiles.run(*WATCH, "3", *BOTH, "--format", "ndjson")
    lags = [lags for cluster, _, lags in rows_of(outcome) if cluster == "west"]
    assert (outcome.exit_code, lags) == (0, [[5], [5, 5]])
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("west: Error: ")
    assert len([row for row in rows_of(outcome) if row[:2] == ("east", "billing")]) == 3


def test_the_exit_code_is_that_of_the_last_poll(profiles: ClusterProfiles, polls: Polls, west: ScriptedCluster) -> None:
    polls.before[2] = fail(west)
    assert profiles.run(*WATCH, "2", *BOTH).exit_code == 3


def test_a_dead_cluster_is_a_failure_of_each_poll(profiles: ClusterProfiles) -> None:
    outcome = profiles.run(*WATCH, "2", "--profile", "east,dead")
    assert (outcome.exit_code, outcome.stderr.count("dead: Error: "), outcome.stdout.count("CLUSTER")) == (3, 2, 2)


def test_a_first_poll_in_which_all_clusters_fail_ends_the_watch(profiles: ClusterProfiles, polls: Polls) -> None:
    profiles.add("gone", NO_BROKER)
    outcome = profiles.run("lag", "--watch", "1s", "--profile", "dead,gone")
    assert (outcome.exit_code, outcome.stdout, polls.number) == (1, "", 1)
    assert [line.split(":")[0] for line in sorted(outcome.stderr.splitlines())] == ["dead", "gone"]


def test_a_later_poll_in_which_all_clusters_fail_does_not_end_it(
    profiles: ClusterProfiles, polls: Polls, east: ScriptedCluster, west: ScriptedCluster
) -> None:
    def fail_both() -> None:
        fail(east)()
        fail(west)()

    polls.before[2] = fail_both
    outcome = profiles.run(*WATCH, "3", *BOTH, "--format", "ndjson")
    assert (outcome.exit_code, len(rows_of(outcome))) == (0, 6)


@pytest.mark.slow
def test_a_slow_cluster_delays_the_others_until_its_deadline(
    profiles: ClusterProfiles, polls: Polls, west: ScriptedCluster
) -> None:
    polls.before[2] = lambda: west.script("ListGroups", delayed(20.0))
    outcome = profiles.run(*WATCH, "2", *BOTH, "--format", "ndjson", "--timeout", "1s")
    assert (outcome.exit_code, [row[0] for row in rows_of(outcome)[3:]]) == (3, ["east", "east"])
    assert outcome.stderr.startswith("west: Error: ")
    assert outcome.stderr.endswith("(TIMEOUT)\n")


def test_a_condition_is_judged_at_the_last_poll_of_all_clusters(
    profiles: ClusterProfiles, polls: Polls, west: ScriptedCluster
) -> None:
    arguments = (*WATCH, "2", *BOTH, "--fail-if", "lag<10")
    outcome = profiles.run(*arguments)
    text = "Error: the condition of --fail-if holds for 'billing' of west\n"
    assert (outcome.exit_code, outcome.stderr) == (4, text)
    polls.number = 1
    polls.before[2] = lambda: west.groups.update(billing=Group(state="Empty", commits={("t", 0): 5}))
    assert profiles.run(*arguments).exit_code == 0


def test_a_condition_without_groups_is_not_checked(profiles: ClusterProfiles) -> None:
    outcome = profiles.run(*WATCH, "1", *BOTH, "--match", "nope", "--fail-if", "lag<10")
    assert (outcome.exit_code, outcome.stderr.splitlines()[-1]) == (1, "The condition of --fail-if was not checked.")


def test_notes_name_their_cluster_and_are_printed_once(profiles: ClusterProfiles, east: ScriptedCluster) -> None:
    profiles.add("again", east)
    east.groups["sink"] = Group(coordinator=1, state="Stable", protocol_type="connect")
    outcome = profiles.run(*WATCH, "3", "--profile", "east,again,west")
    note = "1 group of another kind is skipped (connect)."
    shared = "The profiles 'east' and 'again' are one cluster, id-east."
    assert outcome.stderr.splitlines() == [shared, f"east: {note}", f"again: {note}"]


def test_a_terminal_has_no_old_rows_of_a_cluster_that_failed(
    profiles: ClusterProfiles, polls: Polls, west: ScriptedCluster, mocker: MockerFixture
) -> None:
    pretend_terminal(mocker)
    polls.before[2] = fail(west)
    outcome = profiles.run(*WATCH, "2", *BOTH, COLUMNS="200", LINES="30", TERM="xterm")
    first, last = (
        re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part).splitlines() for part in outcome.stdout.rpartition("\x1b[1A")[::2]
    )
    assert any(line.split()[:2] == ["west", "billing"] for line in first)
    assert [line.split()[0] for line in last if "billing" in line or "orders" in line] == ["east", "east"]
    assert any("west: Error at " in line for line in last)


def test_polls_of_a_watch_are_kept_for_each_cluster(
    profiles: ClusterProfiles, polls: Polls, west: ScriptedCluster, tmp_path: Path
) -> None:
    file = tmp_path / "polls"
    polls.before[2] = fail(west)
    assert profiles.run(*WATCH, "3", *BOTH, "--polls", str(file)).exit_code == 0
    heads = [json.loads(line) for line in file.read_text().splitlines() if "cluster_id" in line]
    points = {head["cluster_id"]: len(head["lags"]["billing"]) for head in heads}
    assert points == {"id-east": 3, "id-west": 2}


@pytest.mark.slow
def test_time_lag_is_watched_in_all_clusters(profiles: ClusterProfiles) -> None:
    outcome = profiles.run(*WATCH, "1", *BOTH, "--time", "--format", "ndjson", "--timeout", "3s")
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert {line["cluster"] for line in lines} == {"east", "west"}
    assert all(line["time_lag_quality"] for line in lines)


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_watch_and_keeps_the_polls(
    profiles: ClusterProfiles, tmp_path: Path, number: signal.Signals, exit_code: int
) -> None:
    file = tmp_path / "polls"
    process = profiles.start("lag", *BOTH, "--watch", "1s", "--format", "ndjson", "--polls", str(file))
    deadline = time.monotonic() + 20
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=15)
    assert (process.returncode, len(stdout.splitlines()) >= 3) == (exit_code, True)
    assert "Traceback" not in stderr
    assert file.read_text().count("cluster_id") == 2


@pytest.fixture
def refusing(profiles: ClusterProfiles) -> Iterator[SaslCluster]:
    """Add the profile `refusing` of a cluster that refuses each login."""
    with SaslCluster(mechanism="PLAIN", brokers=1, groups={}, topics={}) as cluster:
        cluster.script("SaslAuthenticate", *([changed(**REFUSED)] * 20))
        profiles.add("refusing", cluster, LOGIN)
        yield cluster


def test_a_refused_login_is_a_failure_of_each_poll_and_not_repeated(
    profiles: ClusterProfiles, refusing: SaslCluster
) -> None:
    profiles.run(*WATCH, "1", "--profile", "refusing,west")
    logins = len(refusing.messages)
    outcome = profiles.run(*WATCH, "3", "--profile", "refusing,west")
    assert (outcome.exit_code, outcome.stderr.count("refusing: Error: ")) == (3, 3)
    assert len(refusing.messages) == 2 * logins


def test_a_watch_ends_when_all_logins_are_refused(profiles: ClusterProfiles, refusing: SaslCluster) -> None:
    profiles.add("again", refusing, LOGIN)
    outcome = profiles.run("lag", "--watch", "1s", "--profile", "refusing,again")
    assert (outcome.exit_code, outcome.stdout, len(outcome.stderr.splitlines())) == (1, "", 2)


@pytest.mark.slow
def test_a_cluster_that_responds_later_joins_the_polls_and_their_file(
    profiles: ClusterProfiles, polls: Polls, west: ScriptedCluster, tmp_path: Path
) -> None:
    file = tmp_path / "polls"
    fail(west)()
    polls.before[2] = lambda: time.sleep(1.2)
    arguments = (*WATCH, "3", *BOTH, "--polls", str(file), "--timeout", "1s", "--format", "ndjson")
    outcome = profiles.run(*arguments)
    assert [lags for cluster, _, lags in rows_of(outcome) if cluster == "west"] == [[5], [5, 5]]
    assert (outcome.exit_code, file.read_text().count("cluster_id")) == (0, 2)
