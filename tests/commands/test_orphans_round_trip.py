"""Plans of `orphans` that delete-offsets and delete execute, over real bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.change_commands import EXECUTE
from tests.commands.idle_polls import COMMITS, write_history
from tests.fakes.command_line import run
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster


@pytest.fixture
def brokers() -> Iterator[ScriptedCluster]:
    """Yield brokers with a group of a deleted topic, one that has moved on, and one that may be idle."""
    assigned = bytes.fromhex("0000000000010001740000000100000000ffffffff")
    reader = {"member_id": "m", "client_id": "c", "client_host": "/h", "member_assignment": assigned}
    groups = {
        "deleted": Group(coordinator=1, state="Empty", commits={("gone", 0): 5, ("t", 0): Commit(6, 3, "note")}),
        "idle": Group(coordinator=2, state="Empty", commits=COMMITS),
        "moved-on": Group(coordinator=2, members=[reader], commits={("t", 0): 1, ("u", 0): Commit(2, 4, "m")}),
    }
    with ScriptedCluster(brokers=2, groups=groups, topics={"t": {0: 1}, "u": {0: 2}}) as cluster:
        yield cluster


def test_a_round_trip_over_real_bytes(brokers: ScriptedCluster, tmp_path: Path) -> None:
    at, file = str(brokers.brokers[1].endpoint), str(tmp_path / "plan.json")
    history = write_history(tmp_path / "history", 9, "scripted")
    outcome = run("orphans", "--polls", history, "--export", file, "--format", "csv", bootstrap=at)
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (
        0,
        ["deleted,gone,0,5,topic_deleted", "idle,t,0,3,idle", "idle,u,0,4,idle", "moved-on,u,0,2,not_subscribed"],
    )
    # One more request than those of describe without log offsets.
    assert brokers.requests()["Metadata"] == 1
    assert brokers.requests()["ListOffsets"] == 0
    outcome = run("delete-offsets", "--from-file", file, *EXECUTE, bootstrap=at)
    # Brokers know no partitions of a deleted topic.
    assert (outcome.exit_code, outcome.stdout) == (
        3,
        "GROUP     TOPIC  PARTITION  STATUS\ndeleted   gone           0  failed\nmoved-on  u              0  done\n",
    )
    assert "group 'deleted', partition gone-0: " in outcome.stderr
    assert "(UNKNOWN_TOPIC_OR_PARTITION)\n" in outcome.stderr
    outcome = run("delete", "--from-file", file, *EXECUTE, bootstrap=at)
    assert (outcome.exit_code, outcome.stdout) == (0, "GROUP  STATUS\nidle   done\n")
    assert {name: dict(group.commits) for name, group in brokers.groups.items()} == {
        "deleted": {("gone", 0): 5, ("t", 0): Commit(6, 3, "note")},
        "moved-on": {("t", 0): 1},
    }


def test_the_plan_of_a_deleted_topic_says_that_brokers_may_refuse_it(brokers: ScriptedCluster, tmp_path: Path) -> None:
    at, file = str(brokers.brokers[1].endpoint), str(tmp_path / "plan.json")
    run("orphans", "--export", file, bootstrap=at)
    (group, _) = json.loads(run("delete-offsets", "--from-file", file, "--format", "json", bootstrap=at).stdout)[
        "groups"
    ]
    assert group["offsets"][0]["note"] == "the partition does not exist; brokers may refuse to delete its commit"
