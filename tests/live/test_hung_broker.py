"""One broker of three takes connections and answers nothing: its own items fail at the deadline, the others do not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kafka_groups import sandbox
from tests.live.groups.asking import ask
from tests.live.groups.coordination import await_spread, coordinators_of
from tests.live.groups.members import many_simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = [pytest.mark.live, pytest.mark.timed]

HUNG = 2
BROKERS = {1, 2, 3}
# The cluster gives up a silent broker after six seconds; until then it coordinates its groups.
TIMEOUT = ("--timeout", "3s")


@pytest.fixture(scope="module")
def groups(cluster: Cluster) -> Iterator[list[str]]:
    """Groups of all coordinators, whose commits are on partitions that the hung broker has nothing to do with."""
    topic = make_topic(cluster.bootstrap, records=5, replicas=[[1], [3]])
    with many_simple(cluster.bootstrap, 24, commits=[(topic, 0, 1), (topic, 1, 2)]) as made:
        yield made


@pytest.fixture
def hung(cluster: Cluster, groups: list[str]) -> Iterator[set[str]]:
    """The groups that the broker coordinates, which hangs from now on."""
    await_spread(cluster.bootstrap, groups, BROKERS)
    of_all = coordinators_of(cluster.bootstrap, groups)
    with _stopped(cluster):
        yield {group for group, broker in of_all.items() if broker == HUNG}
    await_spread(cluster.bootstrap, groups, BROKERS)


@contextmanager
def _stopped(cluster: Cluster) -> Iterator[None]:
    now = sandbox.status(cluster.name, home=cluster.home)
    assert now is not None
    port = int(cluster.bootstrap.split(",")[HUNG - 1].rpartition(":")[2])
    (pid,) = [process.pid for process in now.processes if process.port == port]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_the_list_lacks_the_groups_of_the_hung_broker_and_names_it(
    cluster: Cluster, groups: list[str], hung: set[str]
) -> None:
    answer = ask(cluster.bootstrap, "list", *TIMEOUT)

    assert {*answer.out.splitlines()} & {*groups} == {*groups} - hung
    assert "broker 2" in answer.err
    assert (len(answer.notes), answer.code) == (1, 3)


@pytest.mark.parametrize("command", [["describe"], ["describe", "--state"], ["offsets"]], ids=" ".join)
def test_groups_of_the_other_brokers_are_answered(
    cluster: Cluster, groups: list[str], hung: set[str], command: list[str]
) -> None:
    answer = ask(cluster.bootstrap, *command, *groups, *TIMEOUT)

    assert {row[0] for row in answer.rows} & {*groups} == {*groups} - hung
    errors = [line for line in answer.notes if line.startswith("Error:")]
    assert {group for group in groups if any(f"'{group}'" in line for line in errors)} == hung
    assert answer.code == 3


def test_a_hung_bootstrap_server_leaves_the_others_their_turn(
    cluster: Cluster, groups: list[str], hung: set[str]
) -> None:
    servers = cluster.bootstrap.split(",")
    group = min({*groups} - hung)
    answer = ask(f"{servers[HUNG - 1]},{servers[0]}", "offsets", group, "--timeout", "4s")

    assert [row[3] for row in answer.rows[1:]] == ["1", "2"]
    assert (answer.err, answer.code) == ("", 0)
