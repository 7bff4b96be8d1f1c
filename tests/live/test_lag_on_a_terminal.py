"""`lag --watch` and `wait` on a real terminal, where Ctrl-C ends them, and in a pipe, which its reader closes."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest

from tests.live.groups.clients import command_environment, run_command
from tests.live.groups.controlling_terminal import Terminal
from tests.live.groups.members import commit_from_outside, simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

WATCH: Final = ("lag", "--watch", "1s")
# No group has a negative lag, so this wait has no end.
WAIT: Final = ("wait", "--all-groups", "--until", "lag<0")
PROGRESS: Final = "groups that fulfil the condition"
HIDE: Final = "\x1b[?25l"
SHOW: Final = "\x1b[?25h"
SECONDS: Final = 30
_TIMEOUT_S: Final = 30


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, records=9)


@pytest.fixture
def group(cluster: Cluster, topic: str) -> Iterator[str]:
    """Yield a group with a lag of 5."""
    with simple(cluster.bootstrap, commits=[(topic, 0, 4)]) as name:
        yield name


def assert_interrupted(terminal: Terminal) -> None:
    """Check how a command ends on a terminal after Ctrl-C."""
    code = terminal.end()
    assert (code, terminal.seen.count("Error: interrupted")) == (130, 1), terminal.seen
    assert "Traceback" not in terminal.seen
    assert terminal.seen.rfind(HIDE) <= terminal.seen.rfind(SHOW), "the cursor is hidden"


def test_the_table_is_redrawn_in_place(cluster: Cluster, topic: str, group: str) -> None:
    with Terminal(cluster.bootstrap, "lag", group, "--watch", "1s", "--samples", "4") as terminal:
        terminal.read_until(group)
        commit_from_outside(cluster.bootstrap, [group], [(topic, 0, 7)])
        assert terminal.end() == 0
        shown = terminal.lines
    assert [line.split()[0] for line in shown] == ["Lag", "GROUP", group, "Group"]
    assert terminal.seen.count("GROUP") >= 4
    lag = shown[1].split().index("LAG")
    assert shown[2].split()[lag] == "2"
    assert (terminal.seen.count(HIDE), terminal.seen.count(SHOW)) == (1, 1)


@pytest.mark.parametrize("command", [WATCH, WAIT], ids=lambda command: command[0])
def test_ctrl_c_before_the_first_response_ends_the_command(command: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_TIMEOUT_S)
        with Terminal(f"127.0.0.1:{listener.getsockname()[1]}", *command) as terminal:
            connection, _ = listener.accept()
            terminal.press_ctrl_c()
            with connection:
                assert_interrupted(terminal)


def test_ctrl_c_between_two_polls_leaves_the_table(cluster: Cluster, group: str) -> None:
    with Terminal(cluster.bootstrap, "lag", group, "--watch", "5s") as terminal:
        terminal.read_until(group)
        # The next poll is seconds away.
        terminal.read_for(0.3)
        terminal.press_ctrl_c()
        assert_interrupted(terminal)
        shown = terminal.lines
    # If Ctrl-C arrives while the table is written, rich writes it twice.
    assert {"Lag", "GROUP", group} <= {line.split()[0] for line in shown}


def test_ctrl_c_at_any_moment_of_a_watch_ends_it(cluster: Cluster, group: str) -> None:
    for _ in range(5):
        # Polls follow each other without a pause.
        with Terminal(cluster.bootstrap, "lag", group, "--watch", "1ms") as terminal:
            terminal.read_until(group)
            terminal.read_for(random.uniform(0, 0.3))
            terminal.press_ctrl_c()
            assert_interrupted(terminal)


def test_ctrl_c_at_any_moment_of_a_wait_ends_it(cluster: Cluster, group: str) -> None:
    for longest_s in (0.05, 1.5, 3.0):
        with Terminal(cluster.bootstrap, "wait", group, "--until", "lag<0") as terminal:
            terminal.read_until(PROGRESS)
            terminal.read_for(random.uniform(0, longest_s))
            terminal.press_ctrl_c()
            assert_interrupted(terminal)


def test_a_pipe_has_a_block_for_each_poll(cluster: Cluster, group: str) -> None:
    result = run_command(cluster.bootstrap, "lag", group, "--watch", "200ms", "--samples", "3")
    blocks = [block.splitlines() for block in result.out.strip("\n").split("\n\n")]
    assert (result.code, result.err, "\x1b" in result.out) == (0, "", False)
    assert [(len(block), block[1].split()[0], block[2].split()[0]) for block in blocks] == [(3, "GROUP", group)] * 3
    assert all(before[0] <= after[0] for before, after in pairwise(blocks))


def test_a_pipe_that_its_reader_closes_ends_the_watch_quietly(cluster: Cluster, group: str) -> None:
    line = [sys.executable, "-m", "kafka_groups", "lag", group, "-b", cluster.bootstrap, "--watch", "200ms"]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=command_environment(None)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        read = [process.stdout.readline() for _ in range(3)]
        process.stdout.close()
        errors = process.stderr.read()
        assert (process.wait(SECONDS), errors) == (0, "")
    assert read[2].startswith("GROUP")
