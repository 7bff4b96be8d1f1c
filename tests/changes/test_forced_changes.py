"""Executing with --force: what is replaced is recorded, so that it can be undone; what cannot be read is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Action
from kafka_groups.protocol.topic_ids import format_topic_id
from tests.changes.executions import MemoryJournal, commit, deletion, execute
from tests.fakes.fake_admin import FakeCluster, failure
from tests.fakes.scripted_cluster import topic_id

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

DELETE = Action.DELETE_GROUP


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """Group `a` with commits that are no longer those of any plan here."""
    cluster = FakeCluster(mocker)
    cluster.end("t", 100, 100)
    cluster.add("a", commits={("t", 0): 50, ("t", 1): 51})
    return cluster


def recorded(journal: MemoryJournal) -> list[tuple[int | None, int | None, int | None]]:
    """Return partition, commit before and commit after of each recorded change."""
    return [(change.partition, change.committed_offset, change.new_offset) for change in journal.changes]


def test_the_commit_that_is_replaced_is_recorded_and_not_the_planned_one(cluster: FakeCluster) -> None:
    journal = MemoryJournal()
    execute(cluster.admin, commit("a", 22, 60), journal=journal, force=True)
    assert recorded(journal) == [(0, 50, 60)]


def test_a_group_is_deleted_with_all_commits_that_it_has_by_then(cluster: FakeCluster) -> None:
    journal = MemoryJournal()
    execute(cluster.admin, deletion("a", 3, action=DELETE), journal=journal, force=True)
    assert recorded(journal) == [(0, 50, None), (1, 51, None)]
    assert {change.topic_id for change in journal.changes} == {format_topic_id(topic_id("t"))}
    assert "a" not in cluster.offsets


@pytest.mark.parametrize(("why", "code"), [("INCONSISTENT_GROUP_PROTOCOL", 23), ("GROUP_ID_NOT_FOUND", 69)])
def test_the_commits_of_a_group_that_is_not_of_consumers_are_recorded(
    cluster: FakeCluster, why: str, code: int
) -> None:
    cluster.undescribable["a"] = failure(why, code=code, group="a")
    journal = MemoryJournal()
    execute(
        cluster.admin,
        deletion("a", 50, action=DELETE),
        deletion("a", 51, partition=1, action=DELETE),
        journal=journal,
        force=True,
    )
    assert recorded(journal) == [(0, 50, None), (1, 51, None)]


def test_a_commit_that_cannot_be_read_is_refused(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 51}, refused={("t", 0): 29})
    journal = MemoryJournal()
    execution = execute(cluster.admin, commit("a", None, 60), journal=journal, force=True)
    assert [why.name for why in execution.failures] == ["TOPIC_AUTHORIZATION_FAILED"]
    assert journal.changes == []
