"""`kafka-groups lag --watch --polls`: the file after each poll, and writes that fail."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


class Polls:
    """What happens in the pause behind a poll, by the number of the poll."""

    def __init__(self) -> None:
        self.ended = 0
        self.after: dict[int, Callable[[], Any]] = {}

    def pause(self, _seconds: float) -> None:
        """Begin the next poll as soon as its time differs: a history ignores a poll of the same millisecond."""
        self.ended += 1
        time.sleep(0.002)
        if action := self.after.get(self.ended):
            action()


@pytest.fixture(autouse=True)
def polls(mocker: MockerFixture) -> Polls:
    """Return polls without pauses."""
    polls = Polls()
    mocker.patch("kafka_groups.commands.lag_watch.pause", side_effect=polls.pause)
    return polls


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add a group that is behind."""
    cluster.add("g", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 10})
    cluster.end("t", 100, starts=(0,))


def points_in(file: Path) -> int:
    """Return how many polls the file has."""
    return len(json.loads(file.read_text().splitlines()[1])["lags"]["g"])


def interrupt() -> None:
    """Interrupt the command."""
    raise KeyboardInterrupt


def test_the_file_has_every_poll_that_ended(polls: Polls, tmp_path: Path) -> None:
    file, seen = tmp_path / "history", []
    polls.after = {number: lambda: seen.append(points_in(file)) for number in (1, 2, 3)}
    assert run("lag", "--watch", "1s", "--samples", "4", "--polls", str(file)).exit_code == 0
    assert (seen, points_in(file)) == ([1, 2, 3], 4)
    assert list(tmp_path.iterdir()) == [file]


def test_a_poll_that_an_interrupt_ends_is_not_in_the_file(polls: Polls, cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "history"
    read = cluster.admin.list_offsets.side_effect

    def read_and_interrupt(*arguments: Any, **named: Any) -> Any:
        if polls.ended == 2:
            interrupt()
        return read(*arguments, **named)

    cluster.admin.list_offsets.side_effect = read_and_interrupt
    assert run("lag", "--watch", "1s", "--polls", str(file)).exit_code == 130
    assert points_in(file) == 2


@pytest.mark.parametrize("output", ["table", "ndjson"])
def test_a_write_that_fails_is_reported_once_and_the_watch_goes_on(tmp_path: Path, output: str) -> None:
    file = tmp_path / "missing" / "history"
    outcome = run("lag", "--watch", "1s", "--samples", "3", "--polls", str(file), "--format", output)
    assert outcome.stderr == f"Error: cannot write the polls to {file}: No such file or directory\n"
    assert outcome.stdout.count("UNKNOWN") == 3
    assert outcome.exit_code == 1


def test_a_write_that_succeeds_later_has_all_polls(polls: Polls, tmp_path: Path) -> None:
    file = tmp_path / "later" / "history"
    polls.after[2] = file.parent.mkdir
    outcome = run("lag", "--watch", "1s", "--samples", "3", "--polls", str(file))
    assert (outcome.exit_code, outcome.stderr.count("cannot write"), points_in(file)) == (0, 1, 3)


def test_each_time_that_writes_begin_to_fail_is_reported(polls: Polls, tmp_path: Path) -> None:
    file = tmp_path / "now and then" / "history"
    file.parent.mkdir()

    def remove() -> None:
        file.unlink()
        file.parent.rmdir()

    polls.after = {1: remove, 3: file.parent.mkdir, 4: remove, 6: file.parent.mkdir}
    outcome = run("lag", "--watch", "1s", "--samples", "7", "--polls", str(file))
    assert (outcome.exit_code, outcome.stderr.count("cannot write"), points_in(file)) == (0, 2, 7)


def test_an_interrupt_stays_one_if_the_file_cannot_be_written(polls: Polls, tmp_path: Path) -> None:
    file = tmp_path / "missing" / "history"
    polls.after[2] = interrupt
    outcome = run("lag", "--watch", "1s", "--polls", str(file))
    assert (outcome.exit_code, outcome.stderr.count("cannot write")) == (130, 1)


def test_a_condition_that_holds_beats_a_write_that_fails(tmp_path: Path) -> None:
    arguments = ("--watch", "1s", "--samples", "2", "--polls", str(tmp_path / "missing" / "history"))
    outcome = run("lag", *arguments, "--fail-if", "lag>0")
    assert (outcome.exit_code, outcome.stderr.count("cannot write")) == (4, 1)


def test_a_log_end_that_falls_for_one_run_drops_no_history(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "history"

    def poll(end: int) -> int:
        cluster.end("t", end, starts=(0,))
        run("lag", "--polls", str(file))
        """Return the log end of the last observation that counts."""
        return int(json.loads(file.read_text().splitlines()[2])[4][1])

    assert [poll(end) for end in (100, 110, 50, 120)] == [100, 110, 110, 120]
    assert [poll(end) for end in (5, 6)] == [120, 6]
