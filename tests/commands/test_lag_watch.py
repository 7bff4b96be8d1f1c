"""`kafka-groups lag --watch`: blocks and lines in a pipe, a table that is redrawn on a terminal, polls that fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.errors import AuthenticationFailedError
from kafka_groups.model import TopicPartition
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable
from tests.fakes.fake_terminal import pretend_terminal
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.rendering.streams import read_terminal

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


class Polls:
    """The pauses between polls; before each poll but the first one, `before` may change the cluster."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.before: dict[int, Any] = {}

    def pause(self, seconds: float) -> None:
        """Begin the next poll at once."""
        self.pauses.append(seconds)
        change = self.before.get(len(self.pauses) + 1)
        if change is not None:
            change()


@pytest.fixture(autouse=True)
def polls(mocker: MockerFixture) -> Polls:
    """Return polls without pauses."""
    polls = Polls()
    mocker.patch("kafka_groups.commands.lag_watch.pause", side_effect=polls.pause)
    return polls


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add two groups that are behind."""
    cluster.add("a", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 10})
    cluster.add("b", commits={("t", 1): 90})
    cluster.end("t", 100, 100, starts=(0, 0))


def fail(cluster: FakeCluster, error: BaseException) -> Any:
    """Return a function that lets the next polls fail."""
    return lambda: setattr(cluster.admin.list_groups, "side_effect", error)


def test_a_pipe_has_a_block_for_each_poll(polls: Polls) -> None:
    outcome = run("lag", "--watch", "5s", "--samples", "3")
    blocks = [block.splitlines() for block in outcome.stdout.split("\n\n")]
    assert (outcome.exit_code, outcome.stderr, len(blocks), len(polls.pauses)) == (0, "", 3, 2)
    lines = [line for block in blocks for line in block if line]
    times, headers, firsts, seconds = (lines[at::4] for at in range(4))
    assert all(len(time) == 20 and time.endswith("Z") for time in times)
    assert {header.split()[:4][-1] for header in headers} == {"LAG"}
    assert [line.split()[0] for line in (*firsts, *seconds)] == ["a", "a", "a", "b", "b", "b"]
    assert all(0 < pause <= 5 for pause in polls.pauses)


def test_ndjson_has_a_line_for_each_group_with_the_time_of_its_poll(polls: Polls, cluster: FakeCluster) -> None:
    polls.before[2] = lambda: cluster.add("b", commits={("t", 1): 95})
    outcome = run("lag", "--watch", "1s", "--samples", "2", "--format", "ndjson")
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [(row["group"], row["lag"], row["lags"]) for row in rows] == [
        ("a", 90, [90]),
        ("b", 10, [10]),
        ("a", 90, [90, 90]),
        ("b", 5, [10, 5]),
    ]
    assert all(row["at"].endswith("Z") and row["verdict"] and row["rule"] for row in rows)


def test_top_shows_the_worst_groups_of_each_poll() -> None:
    outcome = run("lag", "--watch", "1s", "--samples", "2", "--format", "ndjson", "--top", "1")
    assert [json.loads(line)["group"] for line in outcome.stdout.splitlines()] == ["a", "a"]


def test_a_note_is_printed_once(cluster: FakeCluster) -> None:
    cluster.add("connect-sink", state="Stable", protocol_type="connect")
    outcome = run("lag", "--watch", "1s", "--samples", "3")
    assert outcome.stderr == "1 group of another kind is skipped (connect).\n"


def test_a_terminal_shows_the_last_poll_in_place(polls: Polls, cluster: FakeCluster, mocker: MockerFixture) -> None:
    pretend_terminal(mocker)
    polls.before[2] = lambda: cluster.add("b", commits={("t", 1): 95})
    outcome = run("lag", "--watch", "1s", "--samples", "2", COLUMNS="200", LINES="30", TERM="xterm")
    assert outcome.exit_code == 0
    # The cursor goes up by the lines of the table, and each of them is erased.
    first, _, last = outcome.stdout.rpartition("\x1b[1A")
    assert first.count("Lag at ") >= 1
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last).splitlines()
    assert [line.split()[0] for line in shown[1:4]] == ["GROUP", "a", "b"]
    assert "UNKNOWN" in shown[2]


@pytest.mark.slow
def test_a_watch_draws_no_progress_on_the_terminal_of_its_table() -> None:
    groups = {"g": Group(coordinator=1, state="Empty", commits={("t", 0): 1})}
    master, slave = os.openpty()
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        bootstrap = str(cluster.brokers[1].endpoint)
        command = [sys.executable, "-m", "kafka_groups", "lag", "--watch", "1s", "--samples", "2", "-b", bootstrap]
        subprocess.run(command, stdout=slave, stderr=slave, check=True, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    drawn = read_terminal(master)
    assert (drawn.count("\x1b[?25l"), "reading groups" in drawn, "Lag at " in drawn) == (1, False, True)


def test_rows_that_do_not_fit_the_window_are_counted(cluster: FakeCluster, mocker: MockerFixture) -> None:
    pretend_terminal(mocker)
    for number in range(40):
        cluster.add(f"g{number}", commits={("t", 1): 50})
    outcome = run("lag", "--watch", "1s", "--samples", "1", COLUMNS="200", LINES="20", TERM="xterm")
    assert "… and 26 more rows" in outcome.stdout


def test_a_dumb_terminal_has_a_block_for_each_poll(mocker: MockerFixture) -> None:
    pretend_terminal(mocker)
    outcome = run("lag", "--watch", "1s", "--samples", "2", TERM="dumb")
    assert (outcome.stdout.count("GROUP"), "\x1b" in outcome.stdout) == (2, False)


# Polls that fail.


def test_a_poll_that_fails_has_an_error_and_no_rows(polls: Polls, cluster: FakeCluster) -> None:
    recover = cluster.admin.list_groups.side_effect
    polls.before = {2: fail(cluster, unreachable()), 3: fail(cluster, recover)}
    outcome = run("lag", "--watch", "1s", "--samples", "3")
    assert (outcome.exit_code, outcome.stdout.count("GROUP")) == (0, 2)
    assert outcome.stderr == "Error: no broker responded at b1:9092; is it running? (CONNECTION_FAILED)\n"


def test_a_failed_poll_has_no_lines_of_ndjson(polls: Polls, cluster: FakeCluster) -> None:
    polls.before = {2: fail(cluster, unreachable())}
    outcome = run("lag", "--watch", "1s", "--samples", "2", "--format", "ndjson")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (1, 2)


def test_the_first_poll_that_fails_ends_the_command(polls: Polls, cluster: FakeCluster) -> None:
    cluster.refuse(unreachable())
    outcome = run("lag", "--watch", "1s", "--samples", "3")
    assert outcome == (1, "", "Error: no broker responded at b1:9092; is it running?\n")
    assert polls.pauses == []


def test_credentials_that_are_refused_later_end_the_command(polls: Polls, cluster: FakeCluster) -> None:
    polls.before = {2: fail(cluster, AuthenticationFailedError("the password has expired"))}
    outcome = run("lag", "--watch", "1s")
    assert (outcome.exit_code, outcome.stderr) == (1, "Error: the password has expired\n")


def test_a_failed_partition_is_an_error_of_each_poll(polls: Polls, cluster: FakeCluster) -> None:
    key = TopicPartition("t", 1)
    polls.before = {
        2: lambda: cluster.leaderless.update({key: failure("LEADER_NOT_AVAILABLE", code=5, topic="t", partition=1)}),
        3: cluster.leaderless.clear,
    }
    outcome = run("lag", "--watch", "1s", "--samples", "3")
    assert (outcome.exit_code, outcome.stderr) == (0, "Error: partition t-1: refused (LEADER_NOT_AVAILABLE)\n")
    assert run("lag", "--watch", "1s", "--samples", "3").exit_code == 0


def test_the_exit_code_is_that_of_the_last_poll(polls: Polls, cluster: FakeCluster) -> None:
    polls.before = {2: lambda: cluster.unfetchable.update(a=failure(group="a"))}
    outcome = run("lag", "--watch", "1s", "--samples", "2")
    assert (outcome.exit_code, outcome.stderr) == (3, "Error: group 'a': refused (GROUP_AUTHORIZATION_FAILED)\n")


def test_a_terminal_keeps_the_last_rows_and_shows_the_error(
    polls: Polls, cluster: FakeCluster, mocker: MockerFixture
) -> None:
    pretend_terminal(mocker)
    polls.before = {2: fail(cluster, unreachable())}
    outcome = run("lag", "--watch", "1s", "--samples", "2", COLUMNS="200", LINES="30", TERM="xterm")
    last = outcome.stdout.rpartition("\x1b[1A")[2]
    assert outcome.exit_code == 1
    assert [word in last for word in ("Lag at ", "GROUP", "Error at ", "no broker responded")] == [True] * 4


def test_many_errors_on_a_terminal_are_counted(cluster: FakeCluster, mocker: MockerFixture) -> None:
    pretend_terminal(mocker)
    for number in range(8):
        cluster.add(f"g{number}", commits={("t", 0): 1})
        cluster.unfetchable[f"g{number}"] = failure(group=f"g{number}")
    outcome = run("lag", "--watch", "1s", "--samples", "1", COLUMNS="200", LINES="30", TERM="xterm")
    assert (outcome.exit_code, "… and 5 more errors" in outcome.stdout) == (3, True)


# The end.


def test_a_condition_is_judged_at_the_last_poll(polls: Polls, cluster: FakeCluster) -> None:
    arguments = ("lag", "--watch", "1s", "--samples", "2", "--fail-if", "lag>50")
    assert run(*arguments).exit_code == 4
    polls.pauses.clear()
    polls.before[2] = lambda: cluster.add("a", commits={("t", 0): 99})
    assert run(*arguments).exit_code == 0


def test_a_condition_cannot_be_judged_if_the_last_poll_failed(polls: Polls, cluster: FakeCluster) -> None:
    polls.before = {2: fail(cluster, unreachable())}
    assert run("lag", "--watch", "1s", "--samples", "2", "--fail-if", "lag>50").exit_code == 1


@pytest.mark.parametrize("output", ["table", "ndjson"])
def test_an_interrupt_ends_the_watch(polls: Polls, cluster: FakeCluster, output: str) -> None:
    polls.before = {2: fail(cluster, KeyboardInterrupt())}
    outcome = run("lag", "--watch", "1s", "--format", output)
    assert (outcome.exit_code, outcome.stderr) == (130, "Error: interrupted\n")
    assert len([line for line in outcome.stdout.splitlines() if "Z" not in line or output == "ndjson"]) >= 2


def test_an_interrupt_on_a_terminal_leaves_the_cursor_and_the_last_table(
    polls: Polls, cluster: FakeCluster, mocker: MockerFixture
) -> None:
    pretend_terminal(mocker)
    polls.before = {2: fail(cluster, KeyboardInterrupt())}
    outcome = run("lag", "--watch", "1s", COLUMNS="200", LINES="30", TERM="xterm")
    assert (outcome.exit_code, outcome.stdout.count("\x1b[?25l"), outcome.stdout.count("\x1b[?25h")) == (130, 1, 1)


def test_a_watch_keeps_its_history_also_if_it_is_interrupted(
    polls: Polls, cluster: FakeCluster, tmp_path: Path
) -> None:
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    file = tmp_path / "history"
    polls.before = {3: fail(cluster, KeyboardInterrupt())}
    assert run("lag", "--watch", "1s", "--polls", str(file)).exit_code == 130
    head = json.loads(file.read_text().splitlines()[1])
    assert [len(points) for points in head["lags"].values()] == [2, 2]


def test_each_poll_has_a_deadline_of_its_own(cluster: FakeCluster) -> None:
    run("lag", "--watch", "1s", "--samples", "3")
    deadlines = {call.kwargs["timeout"].at for call in cluster.admin.describe_with_offsets.call_args_list}
    assert len(deadlines) == 3
