"""`lag --polls` and resets: a commit that this tool set back is no rewind, one that went back by itself is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.commands import known_resets
from tests.commands.change_commands import journal_files
from tests.fakes.fake_admin import FakeCluster, member, run

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def polls(cluster: FakeCluster, tmp_path: Path) -> str:
    """Return a file of polls that does not exist, and a cluster with an id."""
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    return str(tmp_path / "polls")


def poll(cluster: FakeCluster, polls: str, committed: int) -> str:
    """Return the rule of a group with a member, whose commit is polled now."""
    cluster.add("g", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): committed})
    cluster.end("t", 1_000, starts=(0,))
    (row,) = [json.loads(line) for line in run("lag", "g", "--polls", polls, "--format", "ndjson").stdout.splitlines()]
    return str(row["rule"])


def test_a_commit_that_goes_back_while_members_are_there_is_a_rewind(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    assert poll(cluster, polls, 300) == "rewound"


def reset_to_300(cluster: FakeCluster) -> None:
    """Reset the group, which is empty and has committed 500."""
    cluster.add("g", state="Empty", commits={("t", 0): 500})
    assert run("reset", "g", "--topic", "t", "--to-offset", "300", "--execute", "--yes").exit_code == 0


@pytest.mark.parametrize(("committed", "rule"), [(300, "incomplete"), (100, "rewound")])
def test_a_recorded_reset_explains_its_own_commit_and_none_below(
    cluster: FakeCluster, polls: str, committed: int, rule: str
) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    reset_to_300(cluster)
    assert poll(cluster, polls, committed) == rule


def test_a_reset_of_another_cluster_explains_nothing(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-2"
    reset_to_300(cluster)
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    assert poll(cluster, polls, 300) == "rewound"


def test_a_damaged_record_leaves_the_others(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    reset_to_300(cluster)
    (record,) = journal_files()
    record.with_stem(f"{record.stem}z").write_text("damaged\n")
    assert poll(cluster, polls, 300) == "incomplete"


def test_a_named_group_that_was_deleted_begins_again(cluster: FakeCluster, polls: str) -> None:
    assert poll(cluster, polls, 500) == "incomplete"
    for known in (cluster.listings, cluster.descriptions, cluster.offsets):
        known.pop("g")
    assert run("lag", "g", "--polls", polls).exit_code == 1
    assert poll(cluster, polls, 50) == "incomplete"


def test_the_journal_is_read_once_for_all_commits_of_a_poll(
    cluster: FakeCluster, polls: str, mocker: MockerFixture
) -> None:
    read = mocker.spy(known_resets, "list_ids")
    for offset in (500, 300):
        cluster.add(
            "g", state="Stable", members=[member("m", {"t": (0, 1)})], commits={("t", n): offset for n in (0, 1)}
        )
        cluster.end("t", 1_000, 1_000, starts=(0, 0))
        assert run("lag", "--polls", polls).exit_code == 0
    assert read.call_count == 1
