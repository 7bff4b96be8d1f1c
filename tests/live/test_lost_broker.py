"""One broker of three ends: what only it had is told as missing, everything else is answered, and nobody waits.

The broker is started again at the end, so the other tests may run before or after.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.asking import Answer, admin_of, ask
from tests.live.groups.coordination import await_spread
from tests.live.groups.members import many_simple
from tests.live.groups.topics import make_topic
from tests.live.groups.waiting import wait_until

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = [pytest.mark.live, pytest.mark.timed]

LOST = 2
# The default --timeout is 30 s; an answer that took much longer than this waited for the lost broker.
SOON_S = 12.0


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    """One partition on each broker, without copies."""
    return make_topic(cluster.bootstrap, records=7, replicas=[[1], [2], [3]])


@pytest.fixture(scope="module")
def groups(cluster: Cluster, topic: str) -> Iterator[list[str]]:
    """Groups enough for every broker to coordinate some."""
    with many_simple(cluster.bootstrap, 24, commits=[(topic, 0, 1), (topic, 1, 2), (topic, 2, 3)]) as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def _without_the_broker(cluster: Cluster, groups: list[str]) -> Iterator[None]:
    await_spread(cluster.bootstrap, groups, {1, 2, 3})
    cluster.stop_broker(LOST)
    try:
        wait_until(lambda: _described(cluster, groups), lambda: "the coordinators did not move")
        yield
    finally:
        cluster.start_broker(LOST)
        await_spread(cluster.bootstrap, groups, {1, 2, 3})


def _described(cluster: Cluster, groups: list[str]) -> bool:
    with admin_of(cluster.bootstrap, timeout_s=5) as admin:
        return not admin.describe_consumer_groups(groups).failed


def _timed(cluster: Cluster, *arguments: str) -> Answer:
    started = time.monotonic()
    answer = ask(cluster.bootstrap, *arguments)
    assert time.monotonic() - started < SOON_S
    return answer


def test_a_partition_without_a_leader_has_no_end_and_its_commit_is_still_told(
    cluster: Cluster, groups: list[str], topic: str
) -> None:
    answer = _timed(cluster, "describe", groups[0])

    assert [row[2:6] for row in answer.rows[1:]] == [["0", "1", "7", "6"], ["1", "2", "-", "-"], ["2", "3", "7", "4"]]
    assert f"{topic}-1" in answer.err
    assert [f"{topic}-0" in answer.err, f"{topic}-2" in answer.err] == [False, False]
    assert answer.code == 3


def test_the_lost_partition_is_told_once_for_all_groups_as_a_null_in_json(
    cluster: Cluster, groups: list[str], topic: str
) -> None:
    answer = _timed(cluster, "describe", *groups, "--format", "json")

    rows = [row for group in answer.json["groups"] for row in group["offsets"]]
    ends = {(row["partition"], row["log_end_offset"], row["lag"]) for row in rows}
    assert ends == {(0, 7, 6), (1, None, None), (2, 7, 4)}
    assert len(answer.json["groups"]) == len(groups)
    assert [(each["topic"], each["partition"]) for each in answer.json["errors"]] == [(topic, 1)]
    assert (answer.json["status"], answer.code) == ("partial", 3)


def test_groups_are_answered_by_the_coordinators_they_moved_to(cluster: Cluster, groups: list[str]) -> None:
    state = _timed(cluster, "describe", *groups, "--state")
    offsets = _timed(cluster, "offsets", *groups)

    now = {row[0]: row[2] for row in state.rows if row[0] != "GROUP"}
    assert {*now} == {*groups}
    assert {*now.values()} <= {"(1)", "(3)"}
    assert len(offsets.rows) == 1 + 3 * len(groups)
    assert (state.code, offsets.err, offsets.code) == (0, "", 0)


def test_the_list_is_whole_without_the_lost_broker(cluster: Cluster, groups: list[str]) -> None:
    answer = _timed(cluster, "list")

    assert {*groups} <= {*answer.out.splitlines()}
    assert (answer.err, answer.code) == ("", 0)


def test_a_lost_bootstrap_server_leaves_the_others_their_turn(cluster: Cluster, groups: list[str]) -> None:
    servers = cluster.bootstrap.split(",")
    lost_first = [servers[LOST - 1], *servers]
    answer = _timed(cluster, "list", "-b", ",".join(lost_first))
    alone = _timed(cluster, "list", "-b", servers[LOST - 1])

    assert {*groups} <= {*answer.out.splitlines()}
    assert (answer.err, answer.code) == ("", 0)
    assert servers[LOST - 1] in alone.err
    assert (alone.out, len(alone.notes), alone.code) == ("", 1, 1)
