"""Members that are removed: a static member that was killed, all members; and what brokers refuse."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.live.groups.clients import list_member_ids, open_admin, run_command
from tests.live.groups.conditions import await_state
from tests.live.groups.members import mixed, stable
from tests.live.groups.topics import make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EXECUTE = ("--execute", "--yes")
INSTANCE: Final = "worker-1"
# A member that joins, and is polled until it is killed.
MEMBER: Final = """
import sys
from confluent_kafka import Consumer
bootstrap, group, instance, topic = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "group.instance.id": instance,
                     "session.timeout.ms": 300000, "max.poll.interval.ms": 300000, "log_level": 0})
consumer.subscribe([topic])
while True:
    consumer.poll(0.1)
"""


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2)


@contextmanager
def stuck(bootstrap: str, topic: str) -> Iterator[str]:
    """Yield a classic group whose static member was killed, so that its session lasts five minutes more."""
    group = unique_name("stuck")
    with subprocess.Popen([sys.executable, "-c", MEMBER, bootstrap, group, INSTANCE, topic]) as process:
        try:
            await_state(bootstrap, group, "Stable", members=1)
        finally:
            process.kill()
    yield group


def test_a_static_member_that_was_killed_is_removed(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with stuck(cluster.bootstrap, topic) as group:
        arguments = ("remove-members", "--group", group, "--instance", INSTANCE)
        planned = run_command(cluster.bootstrap, *arguments, home=tmp_path)
        assert len(list_member_ids(cluster.bootstrap, group)) == 1
        removed = run_command(cluster.bootstrap, *arguments, *EXECUTE, home=tmp_path)
        await_state(cluster.bootstrap, group, "Empty", members=0)
        again = run_command(cluster.bootstrap, *arguments, *EXECUTE, home=tmp_path)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
    assert [row[0] for row in planned.rows[1:]] == [group]
    assert [row[2:] for row in removed.rows] == [["GROUP-INSTANCE-ID", "STATUS"], [INSTANCE, "done"]]
    assert f"no member has the group instance id '{INSTANCE}'" in again.err
    assert "(remove-members, " in undone.err
    assert [planned.code, removed.code, again.code, undone.code] == [0, 0, 1, 1]


def test_all_members_are_removed(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with stable(cluster.bootstrap, topic, members=2) as group:
        before = {*list_member_ids(cluster.bootstrap, group).values()}
        result = run_command(cluster.bootstrap, "remove-members", "--group", group, "--all", *EXECUTE, home=tmp_path)
        after = {*list_member_ids(cluster.bootstrap, group).values()}
    # The consumers may join again, with other ids.
    assert len(before) == 2
    assert not before & after
    assert ({row[1] for row in result.rows[1:]}, {row[-1] for row in result.rows[1:]}) == (before, {"done"})
    assert result.code == 0


def test_members_of_the_kip_848_protocol_are_refused(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with stable(cluster.bootstrap, topic, consumer_protocol=True) as group:
        result = run_command(cluster.bootstrap, "remove-members", "--group", group, "--all", *EXECUTE, home=tmp_path)
        assert len(list_member_ids(cluster.bootstrap, group)) == 1
    assert "does not use the classic protocol; brokers remove only classic members" in result.err
    assert [row[-1] for row in result.rows[1:]] == ["refused"]
    assert result.notes[-1].startswith("Nothing was changed; the attempt is recorded as ")
    assert result.code == 1


def test_the_classic_member_of_a_migrated_group_is_removed(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with mixed(cluster.bootstrap, topic) as group:
        with open_admin(cluster.bootstrap) as admin:
            members = admin.describe_consumer_groups([group]).all()[group].members
        (classic,) = [member.member_id for member in members if member.upgraded is False]
        result = run_command(
            *(cluster.bootstrap, "remove-members", "--group", group, "--all", *EXECUTE, "--format", "json"),
            home=tmp_path,
        )
        left = {*list_member_ids(cluster.bootstrap, group).values()}
    (found,) = result.json["groups"]
    assert {row["member_id"]: row["status"] for row in found["members"]} == {
        member.member_id: "done" if member.member_id == classic else "refused" for member in members
    }
    assert (classic in left, result.code) == (False, 3)
