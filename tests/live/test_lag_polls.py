"""The polls of `lag --watch` and `wait` while brokers are restarted, or do not respond: both commands go on.

The brokers run again at the end, so other tests may run before or after.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

from kafka_groups import sandbox
from tests.live.groups.clients import command_environment
from tests.live.groups.conditions import wait_until
from tests.live.groups.controlling_terminal import Terminal
from tests.live.groups.members import commit_from_outside, simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from types import TracebackType

    from tests.live.conftest import Cluster

pytestmark = [pytest.mark.live, pytest.mark.timed]

LOST: Final = 2
TIMEOUT: Final = ("--timeout", "2s")
_END_S: Final = 60


class Watch:
    """A `lag --watch` until the context ends, with a timeout of two seconds for each poll, and its output in files."""

    def __init__(self, cluster: Cluster, directory: Path, group: str) -> None:
        self._out, self._err = directory / "out", directory / "err"
        arguments = ("-b", cluster.bootstrap, group, "--watch", "500ms", "--format", "ndjson", *TIMEOUT)
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kafka_groups", "lag", *arguments],
                stdout=out,
                stderr=err,
                env=command_environment(None),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(_END_S)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows that were written so far."""
        return [json.loads(line) for line in self._out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    @property
    def errors(self) -> list[str]:
        """Return the lines of stderr so far."""
        return self._err.read_text().splitlines()

    def await_row(self, is_wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Return once a poll from now on has such a row."""
        before = len(self.rows)
        wait_until(
            lambda: any(is_wanted(row) for row in self.rows[before:]),
            lambda: f"no such row: {self.rows[before:]}, {self.errors}",
        )

    def interrupt(self) -> int:
        """Send SIGINT, and return the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(_END_S)


@pytest.fixture
def topic(cluster: Cluster) -> str:
    """Return a topic with one partition on each broker, without replicas."""
    return make_topic(cluster.bootstrap, records=7, replicas=[[1], [2], [3]])


@pytest.fixture
def group(cluster: Cluster, topic: str) -> Iterator[str]:
    """Yield a group that lags by 4 messages, all of them on the broker that is lost."""
    with simple(cluster.bootstrap, commits=[(topic, 0, 7), (topic, 1, 3), (topic, 2, 7)]) as name:
        yield name


@pytest.fixture
def watching(cluster: Cluster, group: str, tmp_path: Path) -> Iterator[Watch]:
    """Yield a watch that has polled the group."""
    with Watch(cluster, tmp_path, group) as watch:
        watch.await_row(is_complete)
        yield watch


@pytest.fixture
def waiting(cluster: Cluster, group: str) -> Iterator[Terminal]:
    """Yield a wait that has polled the group, until it has caught up."""
    # The line of progress shows when a poll is over.
    with Terminal(cluster.bootstrap, "wait", group, "--until", "lag<=0", *TIMEOUT) as terminal:
        terminal.read_until("groups that fulfil the condition")
        yield terminal


def is_complete(row: dict[str, Any]) -> bool:
    return (row["lag"], row["note"]) == (4, [])


@contextmanager
def hung_brokers(cluster: Cluster) -> Iterator[None]:
    """Let no broker respond inside the with block."""
    status = sandbox.status(cluster.name, home=cluster.home)
    assert status is not None
    ports = {int(address.rpartition(":")[2]) for address in cluster.bootstrap.split(",")}
    pids = [process.pid for process in status.processes if process.port in ports]
    assert len(pids) == len(ports)
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_a_watch_and_a_wait_go_on_while_a_broker_is_restarted(
    cluster: Cluster, topic: str, group: str, watching: Watch, waiting: Terminal
) -> None:
    cluster.stop_broker(LOST)
    try:
        # The partitions whose log ends are known have no lag.
        watching.await_row(lambda row: (row["lag"], row["note"]) == (0, ["incomplete"]))
        wait_until(
            lambda: any(line.startswith(f"Error: partition {topic}-1: ") for line in watching.errors),
            lambda: f"no error names the partition: {watching.errors}",
        )
    finally:
        cluster.start_broker(LOST)
    watching.await_row(is_complete)
    assert waiting.is_running, waiting.seen
    commit_from_outside(cluster.bootstrap, [group], [(topic, 1, 7)])
    assert waiting.end() == 0, waiting.seen
    assert [line.split()[0] for line in waiting.lines] == ["GROUP", group]
    watching.await_row(lambda row: (row["lag"], row["note"]) == (0, []))
    assert watching.interrupt() == 130
    assert watching.errors[-1] == "Error: interrupted"
    assert {line.split()[0] for line in watching.errors} == {"Error:"}


def test_a_watch_and_a_wait_go_on_after_no_broker_responded(
    cluster: Cluster, topic: str, group: str, watching: Watch, waiting: Terminal
) -> None:
    with hung_brokers(cluster):
        before = len(watching.errors)
        wait_until(lambda: len(watching.errors) > before, lambda: "no poll has an error")
    watching.await_row(is_complete)
    assert waiting.is_running, waiting.seen
    commit_from_outside(cluster.bootstrap, [group], [(topic, 1, 7)])
    assert waiting.end() == 0, waiting.seen
    assert watching.interrupt() == 130
    assert {line.split()[0] for line in watching.errors} == {"Error:"}
