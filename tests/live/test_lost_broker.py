"""One broker of three is stopped: its partitions are errors, everything else has results, and no command waits for it.

The broker is started again at the end, so other tests may run before or after.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import CommandResult, open_admin, read_offsets, run_command
from tests.live.groups.conditions import wait_until
from tests.live.groups.coordination import await_coordinators
from tests.live.groups.members import many_simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = [pytest.mark.live, pytest.mark.timed]

LOST = 2
# The default --timeout is 30 s; a command that took much longer than this waited for the lost broker.
SOON_S = 12.0


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    """Return a topic with one partition on each broker, without replicas."""
    return make_topic(cluster.bootstrap, records=7, replicas=[[1], [2], [3]])


@pytest.fixture(scope="module")
def groups(cluster: Cluster, topic: str) -> Iterator[list[str]]:
    """Yield enough groups for every broker to coordinate some."""
    with many_simple(cluster.bootstrap, 24, commits=[(topic, 0, 1), (topic, 1, 2), (topic, 2, 3)]) as groups:
        yield groups


@pytest.fixture(scope="module", autouse=True)
def _without_the_broker(cluster: Cluster, groups: list[str]) -> Iterator[None]:
    await_coordinators(cluster.bootstrap, groups, {1, 2, 3})
    cluster.stop_broker(LOST)
    try:
        wait_until(lambda: _are_described(cluster, groups), lambda: "the coordinators did not move")
        yield
    finally:
        cluster.start_broker(LOST)
        await_coordinators(cluster.bootstrap, groups, {1, 2, 3})


def _are_described(cluster: Cluster, groups: list[str]) -> bool:
    with open_admin(cluster.bootstrap, timeout_s=5) as admin:
        return not admin.describe_consumer_groups(groups).failed


def _run_timed(cluster: Cluster, *arguments: str, home: Path | None = None) -> CommandResult:
    started = time.monotonic()
    result = run_command(cluster.bootstrap, *arguments, home=home)
    assert time.monotonic() - started < SOON_S
    return result


def test_a_partition_without_a_leader_has_its_commit_and_no_log_end_offset(
    cluster: Cluster, groups: list[str], topic: str
) -> None:
    result = _run_timed(cluster, "describe", groups[0])

    assert [row[2:6] for row in result.rows[1:]] == [["0", "1", "7", "6"], ["1", "2", "-", "-"], ["2", "3", "7", "4"]]
    assert f"{topic}-1" in result.err
    assert [f"{topic}-0" in result.err, f"{topic}-2" in result.err] == [False, False]
    assert result.code == 3


def test_the_lost_partition_is_one_error_for_all_groups_and_null_in_json(
    cluster: Cluster, groups: list[str], topic: str
) -> None:
    result = _run_timed(cluster, "describe", *groups, "--format", "json")

    rows = [row for group in result.json["groups"] for row in group["offsets"]]
    ends = {(row["partition"], row["log_end_offset"], row["lag"]) for row in rows}
    assert ends == {(0, 7, 6), (1, None, None), (2, 7, 4)}
    assert len(result.json["groups"]) == len(groups)
    assert [(each["topic"], each["partition"]) for each in result.json["errors"]] == [(topic, 1)]
    assert (result.json["status"], result.code) == ("partial", 3)


def test_groups_have_results_from_the_coordinators_that_they_moved_to(cluster: Cluster, groups: list[str]) -> None:
    state = _run_timed(cluster, "describe", *groups, "--state")
    offsets = _run_timed(cluster, "offsets", *groups)

    coordinators = {row[0]: row[2] for row in state.rows if row[0] != "GROUP"}
    assert {*coordinators} == {*groups}
    assert {*coordinators.values()} <= {"(1)", "(3)"}
    assert len(offsets.rows) == 1 + 3 * len(groups)
    assert (state.code, offsets.err, offsets.code) == (0, "", 0)


def test_the_list_is_complete_without_the_lost_broker(cluster: Cluster, groups: list[str]) -> None:
    result = _run_timed(cluster, "list")

    assert {*groups} <= {*result.out.splitlines()}
    assert (result.err, result.code) == ("", 0)


def test_after_a_lost_bootstrap_server_the_next_one_is_used(cluster: Cluster, groups: list[str]) -> None:
    servers = cluster.bootstrap.split(",")
    lost_first = [servers[LOST - 1], *servers]
    result = _run_timed(cluster, "list", "-b", ",".join(lost_first))
    alone = _run_timed(cluster, "list", "-b", servers[LOST - 1])

    assert {*groups} <= {*result.out.splitlines()}
    assert (result.err, result.code) == ("", 0)
    assert servers[LOST - 1] in alone.err
    assert (alone.out, len(alone.notes), alone.code) == ("", 1, 1)


def test_a_partition_without_a_leader_makes_the_totals_incomplete_and_those_of_the_others_are_right(
    cluster: Cluster, groups: list[str], topic: str
) -> None:
    result = _run_timed(cluster, "lag", groups[0], "--by", "partition", "--format", "json")
    table = _run_timed(cluster, "lag", groups[0])

    (found,) = result.json["groups"]
    rows = {row["partition"]: (row["committed_offset"], row["lag"], row["note"]) for row in found["rows"]}
    assert rows == {0: (1, 6, []), 1: (2, None, ["incomplete"]), 2: (3, 4, [])}
    assert (found["lag"], found["partitions_behind"], found["note"]) == (10, 2, ["incomplete"])
    assert f"partition {topic}-1: " in table.err
    assert (len(table.notes), table.code, result.code) == (1, 3, 3)


def test_a_partition_without_a_leader_delays_no_time_lag_of_others(
    cluster: Cluster, groups: list[str], topic: str
) -> None:
    result = _run_timed(cluster, "lag", groups[0], "--time", "--by", "partition", "--format", "json")

    (found,) = result.json["groups"]
    qualities = {row["partition"]: row["time_lag_quality"] for row in found["rows"]}
    assert qualities == {0: "exact", 1: "unknown", 2: "exact"}
    assert found["time_lag_quality"] == "lower_bound"
    assert [(each["topic"], each["partition"]) for each in result.json["errors"]] == [(topic, 1)]
    assert result.code == 3


def test_a_partition_without_a_leader_is_not_reset_and_the_others_are(
    cluster: Cluster, groups: list[str], topic: str, tmp_path: Path
) -> None:
    arguments = ("reset", groups[1], "--all-topics", "--to-latest", "--execute", "--yes")
    result = _run_timed(cluster, *arguments, home=tmp_path)
    offsets = read_offsets(cluster.bootstrap, groups[1])
    undone = _run_timed(cluster, "undo", "--execute", "--yes", home=tmp_path)

    assert offsets == {(topic, 0): 7, (topic, 1): 2, (topic, 2): 7}
    assert [(row[2], row[-1]) for row in result.rows[1:]] == [("0", "done"), ("1", "refused"), ("2", "done")]
    assert (f"{topic}-1" in result.err, result.err.count("Error: "), result.code) == (True, 1, 3)
    # Commits are restored without the log.
    assert read_offsets(cluster.bootstrap, groups[1]) == {(topic, 0): 1, (topic, 1): 2, (topic, 2): 3}
    assert undone.code == 0


def test_a_partition_without_a_leader_alone_is_refused(
    cluster: Cluster, groups: list[str], topic: str, tmp_path: Path
) -> None:
    arguments = ("reset", groups[2], "--topic", f"{topic}:1", "--to-offset", "5", "--execute", "--yes")
    result = _run_timed(cluster, *arguments, home=tmp_path)

    assert read_offsets(cluster.bootstrap, groups[2])[topic, 1] == 2
    assert result.notes[-1].startswith("Nothing was changed; the attempt is recorded as ")
    assert result.code == 1


def test_outside_the_scope_a_partition_without_a_leader_does_no_harm(
    cluster: Cluster, groups: list[str], topic: str, tmp_path: Path
) -> None:
    arguments = ("reset", *groups[3:6], "--topic", f"{topic}:0,2", "--to-offset", "5", "--execute", "--yes")
    result = _run_timed(cluster, *arguments, home=tmp_path)

    offsets = [read_offsets(cluster.bootstrap, group) for group in groups[3:6]]
    assert offsets == [{(topic, 0): 5, (topic, 1): 2, (topic, 2): 5}] * 3
    assert ("Error" in result.err, result.code) == (False, 0)


def test_groups_and_commits_are_deleted_whatever_leads_their_partitions(
    cluster: Cluster, groups: list[str], topic: str, tmp_path: Path
) -> None:
    deletions = (("delete-offsets", groups[6], "--topic", f"{topic}:0,1"), ("delete", groups[7]))
    for arguments in deletions:
        result = _run_timed(cluster, *arguments, "--execute", "--yes", home=tmp_path)
        assert result.code == 0, result.err
        undone = _run_timed(cluster, "undo", "--execute", "--yes", home=tmp_path)
        assert undone.code == 0, undone.err
    for group in groups[6:8]:
        assert read_offsets(cluster.bootstrap, group) == {(topic, 0): 1, (topic, 1): 2, (topic, 2): 3}
