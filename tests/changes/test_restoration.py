"""A change whose commit before it could not be restored is refused before it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import PlannedGroups
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.log_offsets import ToOffset
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import CommittedOffset
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

TOO_LONG = (
    "its commit on t-0 has 4,097 characters of metadata, and brokers accept 4,096 unless offset.metadata.max.bytes is "
    "higher, so undo may not restore it; --force allows the change"
)
A = Selectors(named=("a",))


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    cluster = FakeCluster(mocker)
    cluster.end("t", 100, 100, starts=(0, 0))
    return cluster


def plan(cluster: FakeCluster, command: str, *, force: bool = False) -> PlannedGroups:
    """Return the plan of a command for both partitions of `t`."""
    if command == "delete":
        return plan_group_deletion(cluster.admin, A, DeletionRequest(force=force))
    if command == "delete-offsets":
        return plan_offset_deletion(cluster.admin, A, DeletionRequest(topics={"t": ()}, force=force))
    return plan_reset(cluster.admin, A, ResetRequest(ToOffset(9), topics={"t": ()}, force=force))


@pytest.mark.parametrize(("command", "made"), [("delete", 0), ("delete-offsets", 1), ("reset", 1)])
@pytest.mark.parametrize("metadata", ["m" * 4_097, "🦆" * 2_048 + "m"])
def test_metadata_that_brokers_may_not_accept_again_is_refused(
    cluster: FakeCluster, command: str, made: int, metadata: str
) -> None:
    cluster.add("a", commits={("t", 0): CommittedOffset(5, None, metadata), ("t", 1): 6})
    planned = plan(cluster, command)
    assert {(why.name, why.message) for why in planned.refusals()} == {("REFUSED", TOO_LONG)}
    assert len(planned.changes()) == made
    assert len(plan(cluster, command, force=True).changes()) == 2


@pytest.mark.parametrize("command", ["delete", "delete-offsets", "reset"])
@pytest.mark.parametrize("metadata", ["m" * 4_096, "é" * 4_096, "🦆" * 2_048])
def test_the_longest_metadata_that_brokers_accept_is_no_reason(
    cluster: FakeCluster, command: str, metadata: str
) -> None:
    cluster.add("a", commits={("t", 0): CommittedOffset(5, None, metadata), ("t", 1): 6})
    assert plan(cluster, command).refusals() == []


def test_commits_of_topics_that_do_not_exist_are_a_note_of_a_deletion(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 5, ("deleted", 0): 6})
    planned = plan(cluster, "delete")
    assert len(planned.changes()) == 2
    text = "1 commit is on a topic that no longer exists; undo cannot restore what is deleted of it."
    assert planned.notes == (Note(NoteKind.UNRESTORABLE, None, text),)
