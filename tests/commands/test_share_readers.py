"""Share groups in `list --topic`, `offsets` and `orphans`: subscriptions and unknown start offsets, over real bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.change_commands import EXECUTE
from tests.commands.idle_polls import write_history
from tests.fakes.cluster_of_kinds import run_on
from tests.fakes.command_line import Outcome
from tests.fakes.kind_members import share_member
from tests.fakes.scripted_cluster import Group, ScriptedCluster

UNKNOWN = -1
TOPICS = {"clicks": {0: 9, 1: 9}, "orders": {0: 9}}


def share_group(commits: dict[tuple[str, int], int], **values: Any) -> Group:
    """Return an Empty share group with start offsets."""
    return Group(
        **{"coordinator": 1, "type": "Share", "protocol_type": "share", "state": "Empty", **values}, commits=commits
    )


def run_for(group: Group, *commands: tuple[str, ...]) -> list[Outcome]:
    """Return the outcomes of commands on brokers with the group `s`."""
    with ScriptedCluster(brokers=1, groups={"s": group}, topics=TOPICS) as cluster:
        return [run_on(cluster, *command) for command in commands]


def listed(group: Group, topic: str) -> list[tuple[int | None, int | None]]:
    """Return the members and the committed partitions of the group in `list --topic`, if it is there."""
    (outcome,) = run_for(group, ("list", "--topic", topic, "--format", "json"))
    return [(row["members"], row["committed_partitions"]) for row in json.loads(outcome.stdout)["groups"]]


def test_a_member_that_waits_for_a_partition_reads_its_topic() -> None:
    members = [share_member("m-1", {"clicks": (0, 1)}), share_member("m-2", {}, subscribed_topic_names=["orders"])]
    group = share_group({("clicks", 0): 1, ("orders", 0): 5}, state="Stable", members=members)
    (orphans,) = run_for(group, ("orphans",))
    assert (orphans.exit_code, orphans.stderr) == (0, "No orphans.\n")
    assert listed(group, "orders") == [(1, 1)]
    assert listed(group, "orders:0") == [(1, 1)]
    # The member that owns both partitions reads them, and the other one does not.
    assert listed(group, "clicks:1") == [(1, 0)]


def test_an_unknown_start_offset_is_an_unknown_number_of_a_reader() -> None:
    assert listed(share_group({("clicks", 0): UNKNOWN}), "clicks") == [(0, None)]
    assert listed(share_group({("clicks", 0): UNKNOWN}), "orders") == []


@pytest.mark.parametrize("where", [(), ("--topic", "clicks:0")])
def test_unknown_start_offsets_are_not_called_absent(where: tuple[str, ...]) -> None:
    (outcome,) = run_for(share_group({("clicks", 0): UNKNOWN}), ("offsets", "s", *where))
    assert outcome.stderr.startswith("The start offsets of share group 's' are unknown")


# Plans.


def test_delete_offsets_accepts_the_plan_of_a_share_group(tmp_path: Path) -> None:
    file = str(tmp_path / "plan.json")
    group = share_group({("gone", 0): 1, ("gone", 1): UNKNOWN, ("clicks", 0): 3})
    exported, shown = run_for(
        group, ("orphans", "--export", file), ("delete-offsets", "--from-file", file, "--format", "csv")
    )
    assert exported.stderr.endswith("It is for `delete-offsets --from-file`.\n")
    assert shown.exit_code == 0, shown.stderr
    changes = json.loads(Path(file).read_text())["changes"]
    assert [(row["group_type"], row["topic"], row["partition"], row["committed_offset"]) for row in changes] == [
        ("Share", "gone", 0, 1),
        ("Share", "gone", 1, None),
    ]


def test_a_plan_omits_a_topic_with_other_start_offsets_and_says_so(tmp_path: Path) -> None:
    file = str(tmp_path / "plan.json")
    group = share_group({("orders", 0): 1, ("orders", 1): 2})
    (outcome,) = run_for(group, ("orphans", "--export", file))
    assert "s      orders          1                 2  topic_deleted\n" in outcome.stdout
    assert "the one of orders-0 is not orphaned. `kafka-groups delete-offsets s --topic orders` " in outcome.stderr
    assert json.loads(Path(file).read_text())["changes"] == []
    assert "It is for" not in outcome.stderr


def test_start_offsets_of_a_topic_with_fewer_partitions_are_deleted() -> None:
    group = share_group({("orders", 0): 1, ("orders", 1): 2})
    (outcome,) = run_for(group, ("delete-offsets", "s", "--topic", "orders", *EXECUTE))
    assert outcome.stdout.splitlines()[1:] == [
        "s      orders          0  done",
        "s      orders          1  done",
    ]


def test_delete_accepts_the_plan_of_an_idle_share_group(tmp_path: Path) -> None:
    file, history = str(tmp_path / "plan.json"), tmp_path / "history"
    group = share_group({("t", 0): 3, ("u", 0): 4})
    with ScriptedCluster(brokers=1, groups={"idle": group}, topics={"t": {0: 9}, "u": {0: 9}}) as cluster:
        polls = write_history(history, 9, "scripted")
        assert run_on(cluster, "orphans", "--polls", polls, "--export", file).stdout.count(" idle\n") == 2
        outcome = run_on(cluster, "delete", "--from-file", file, *EXECUTE)
        assert (outcome.exit_code, outcome.stdout) == (0, "GROUP  STATUS\nidle   done\n")
