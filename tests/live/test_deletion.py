"""Groups and commits that are deleted, and what brokers refuse: members, subscribed topics, groups of other types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Status
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.groups.selection import Selectors
from tests.live.groups.changes import execute, statuses_of
from tests.live.groups.clients import open_admin, read_commits, read_offsets, run_command
from tests.live.groups.members import many_simple, simple, stable
from tests.live.groups.other_kinds import share
from tests.live.groups.raw_members import connect
from tests.live.groups.topics import make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EXECUTE = ("--execute", "--yes")


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=9)


@pytest.fixture(scope="module")
def other(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=9)


def _listed(cluster: Cluster) -> set[str]:
    with open_admin(cluster.bootstrap) as admin:
        return {*admin.list_groups().all()}


def test_five_groups_are_deleted_and_come_back_with_their_commits(
    cluster: Cluster, topic: str, other: str, tmp_path: Path
) -> None:
    with many_simple(cluster.bootstrap, 5, commits=[(topic, 0, 3), (topic, 1, 4), (other, 1, 0)]) as groups:
        before = {name: read_commits(cluster.bootstrap, name) for name in groups}
        deleted = run_command(cluster.bootstrap, "delete", *groups, *EXECUTE, home=tmp_path)
        assert not {*groups} & _listed(cluster)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert {name: read_commits(cluster.bootstrap, name) for name in groups} == before
    assert sorted(deleted.rows) == sorted([["GROUP", "STATUS"], *([name, "done"] for name in groups)])
    assert "5 groups with 15 commits." in deleted.err
    assert "A deleted group comes back with its commits only" in undone.err
    assert (deleted.code, undone.code) == (0, 0)


def test_a_live_group_and_an_absent_one_fail_beside_one_that_is_deleted(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    absent = unique_name("absent")
    with (
        simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as idle,
        stable(cluster.bootstrap, topic, commits=[(topic, 0, 3)]) as active,
    ):
        result = run_command(
            cluster.bootstrap, "delete", idle, active, absent, *EXECUTE, "--format", "json", home=tmp_path
        )
        listed = _listed(cluster)
    assert (idle in listed, active in listed) == (False, True)
    assert {(error["group"], error["name"]) for error in result.json["errors"]} == {
        (active, "NON_EMPTY_GROUP"),
        (absent, "GROUP_ID_NOT_FOUND"),
    }
    assert (result.json["status"], result.code) == ("partial", 3)


@pytest.mark.parametrize("is_kip_848", [False, True], ids=["classic", "KIP-848"])
def test_a_group_that_a_member_joins_between_plan_and_deletion_stays(
    cluster: Cluster, topic: str, tmp_path: Path, is_kip_848: bool
) -> None:
    name = unique_name("joining")
    joined = stable(cluster.bootstrap, topic, name=name, commits=[(topic, 0, 3)], consumer_protocol=is_kip_848)
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as idle, joined:
        pass
    again = stable(cluster.bootstrap, topic, name=name, consumer_protocol=is_kip_848)
    with open_admin(cluster.bootstrap) as admin:
        planned = plan_group_deletion(admin, Selectors(named=(name, idle)), DeletionRequest())
        try:
            execution = execute(admin, planned, tmp_path, command="delete", between=again.__enter__)
        finally:
            again.__exit__(None, None, None)
    assert sorted(statuses_of(execution)) == [(Status.DONE, None), (Status.FAILED, "NON_EMPTY_GROUP")]
    assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3}


def test_a_share_group_is_deleted_once_it_has_no_members(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with share(cluster.bootstrap, topic) as name:
        live = run_command(cluster.bootstrap, "delete", name, *EXECUTE, home=tmp_path)
    assert name in _listed(cluster)
    deleted = run_command(cluster.bootstrap, "delete", "--match", name, *EXECUTE, home=tmp_path)

    assert name not in _listed(cluster)
    assert "it is Stable with 1 member" in live.err
    assert [live.code, deleted.code] == [1, 0]


def test_commits_of_a_live_group_are_deleted_on_a_topic_that_is_not_subscribed(
    cluster: Cluster, topic: str, other: str, tmp_path: Path
) -> None:
    commits = [(topic, 0, 3), (other, 0, 4), (other, 1, 5)]
    with stable(cluster.bootstrap, topic, commits=commits) as name:
        arguments = (cluster.bootstrap, "delete-offsets", name, "--topic", topic, "--topic", other, *EXECUTE)
        result = run_command(*arguments, home=tmp_path)
        left = read_offsets(cluster.bootstrap, name)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
    assert left == {(topic, 0): 3}
    assert [row[2:] for row in result.rows[1:] if row[1] == other] == [["0", "done"], ["1", "done"]]
    assert "members of the group read the topic (GROUP_SUBSCRIBED_TO_TOPIC)" in result.err
    assert result.code == 3
    # Commits cannot be restored while the group has members.
    assert ("stop its consumers first" in undone.err, undone.code) == (True, 1)


def test_a_topic_that_is_subscribed_between_plan_and_deletion_is_refused_by_the_broker(
    cluster: Cluster, topic: str, other: str, tmp_path: Path
) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3), (other, 0, 4)]) as name:
        joined = stable(cluster.bootstrap, topic, name=name)
        with open_admin(cluster.bootstrap) as admin:
            request = DeletionRequest(topics={topic: (0,), other: (0,)})
            planned = plan_offset_deletion(admin, Selectors(named=(name,)), request)
            try:
                execution = execute(admin, planned, tmp_path, command="delete-offsets", between=joined.__enter__)
            finally:
                joined.__exit__(None, None, None)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3}
    assert sorted(statuses_of(execution)) == [(Status.DONE, None), (Status.FAILED, "GROUP_SUBSCRIBED_TO_TOPIC")]


def test_a_live_group_that_is_not_of_consumers_is_not_read(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with connect(cluster.bootstrap) as name:
        result = run_command(cluster.bootstrap, "delete-offsets", name, "--topic", topic, *EXECUTE, home=tmp_path)
    assert f"group '{name}'" in result.err
    assert (result.out, result.code) == ("", 1)
    assert result.notes[-1].startswith("Nothing was changed; the attempt is recorded as ")


def test_an_unknown_topic_stops_the_command_before_anything_is_deleted(
    cluster: Cluster, topic: str, other: str, tmp_path: Path
) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as name:
        for wrong in ("no-such-topic", "no-such-topic:0", f"{other}:7"):
            arguments = ("delete-offsets", name, "--topic", wrong, "--topic", topic, *EXECUTE)
            result = run_command(cluster.bootstrap, *arguments, home=tmp_path)
            assert ("UNKNOWN_TOPIC_OR_PARTITION" in result.err, result.code) == (True, 1)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3}
