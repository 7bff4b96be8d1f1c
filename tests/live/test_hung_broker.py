"""One broker of three accepts connections and sends nothing: only its own items fail, at the deadline."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kafka_groups import sandbox
from tests.live.groups.clients import run_command
from tests.live.groups.coordination import await_coordinators, find_coordinators
from tests.live.groups.members import many_simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = [pytest.mark.live, pytest.mark.timed]

HUNG = 2
BROKERS = {1, 2, 3}
# The cluster fences a silent broker after six seconds; until then the broker coordinates its groups.
TIMEOUT = ("--timeout", "3s")


@pytest.fixture(scope="module")
def groups(cluster: Cluster) -> Iterator[list[str]]:
    """Yield groups of all coordinators, with commits on partitions that are not on the hung broker."""
    topic = make_topic(cluster.bootstrap, records=5, replicas=[[1], [3]])
    with many_simple(cluster.bootstrap, 24, commits=[(topic, 0, 1), (topic, 1, 2)]) as groups:
        yield groups


@pytest.fixture
def hung(cluster: Cluster, groups: list[str]) -> Iterator[set[str]]:
    """Stop the broker's process, and yield the groups that the broker coordinates."""
    await_coordinators(cluster.bootstrap, groups, BROKERS)
    coordinators = find_coordinators(cluster.bootstrap, groups)
    with _stopped(cluster):
        yield {group for group, broker in coordinators.items() if broker == HUNG}
    await_coordinators(cluster.bootstrap, groups, BROKERS)


@contextmanager
def _stopped(cluster: Cluster) -> Iterator[None]:
    status = sandbox.status(cluster.name, home=cluster.home)
    assert status is not None
    port = int(cluster.bootstrap.split(",")[HUNG - 1].rpartition(":")[2])
    (pid,) = [process.pid for process in status.processes if process.port == port]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_list_prints_the_groups_of_the_other_brokers_and_an_error_that_names_the_hung_one(
    cluster: Cluster, groups: list[str], hung: set[str]
) -> None:
    result = run_command(cluster.bootstrap, "list", *TIMEOUT)

    assert {*result.out.splitlines()} & {*groups} == {*groups} - hung
    assert "broker 2" in result.err
    assert (len(result.notes), result.code) == (1, 3)


@pytest.mark.parametrize("command", [["describe"], ["describe", "--state"], ["offsets"]], ids=" ".join)
def test_groups_of_the_other_brokers_have_results(
    cluster: Cluster, groups: list[str], hung: set[str], command: list[str]
) -> None:
    result = run_command(cluster.bootstrap, *command, *groups, *TIMEOUT)

    assert {row[0] for row in result.rows} & {*groups} == {*groups} - hung
    errors = [line for line in result.notes if line.startswith("Error:")]
    assert {group for group in groups if any(f"'{group}'" in line for line in errors)} == hung
    assert result.code == 3


def test_after_a_hung_bootstrap_server_the_next_one_is_used(
    cluster: Cluster, groups: list[str], hung: set[str]
) -> None:
    servers = cluster.bootstrap.split(",")
    group = min({*groups} - hung)
    result = run_command(f"{servers[HUNG - 1]},{servers[0]}", "offsets", group, "--timeout", "4s")

    assert [row[3] for row in result.rows[1:]] == ["1", "2"]
    assert (result.err, result.code) == ("", 0)
