"""Planning the removal of members: by instance id or all, and which members no broker removes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Action, PlannedGroups
from kafka_groups.changes.member_removal import plan_member_removal
from kafka_groups.groups.notes import Note, NoteKind
from tests.fakes.fake_admin import FakeCluster, failure, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """Group `a` with two static members and a dynamic one."""
    cluster = FakeCluster(mocker)
    members = [member("m1", group_instance_id="i1"), member("m2"), member("m3", group_instance_id="i3")]
    cluster.add("a", state="Stable", members=members)
    return cluster


def plan(cluster: FakeCluster, *instances: str, group: str = "a", all_members: bool = False) -> PlannedGroups:
    """Plan the removal of members."""
    return plan_member_removal(cluster.admin, group, instances=instances, all_members=all_members)


def members(planned: PlannedGroups) -> list[tuple[str, str | None, str | None]]:
    """Return group, member id and instance id of each change to make."""
    return [(change.group, change.member_id, change.group_instance_id) for change in planned.changes()]


def test_static_members_are_removed_by_their_instance_ids(cluster: FakeCluster) -> None:
    planned = plan(cluster, "i3", "i1", "i3")
    assert members(planned) == [("a", "m3", "i3"), ("a", "m1", "i1")]
    assert {change.action for change in planned.changes()} == {Action.REMOVE_MEMBER}
    assert (planned.failures, planned.notes) == ((), ())


def test_all_members_are_removed(cluster: FakeCluster) -> None:
    assert members(plan(cluster, all_members=True)) == [("a", "m1", "i1"), ("a", "m2", None), ("a", "m3", "i3")]


def test_an_absent_instance_is_an_error_and_the_others_are_planned(cluster: FakeCluster) -> None:
    planned = plan(cluster, "i1", "typo")
    assert members(planned) == [("a", "m1", "i1")]
    (why,) = planned.failures
    assert (why.group, why.code, why.name) == ("a", 25, "UNKNOWN_MEMBER_ID")
    assert why.message == "no member has the group instance id 'typo'"


def test_absent_instances_alone_plan_nothing(cluster: FakeCluster) -> None:
    planned = plan(cluster, "x", "y")
    assert (planned.rows, len(planned.failures), planned.notes) == ({}, 2, ())


def test_a_group_without_members_is_a_note(cluster: FakeCluster) -> None:
    cluster.add("idle")
    planned = plan(cluster, group="idle", all_members=True)
    assert (planned.rows, planned.failures) == ({}, ())
    text = "Consumer group 'idle' has no active members."
    assert planned.notes == (Note(NoteKind.NO_ACTIVE_MEMBERS, "idle", text),)


@pytest.mark.parametrize(("name", "code"), [("GROUP_ID_NOT_FOUND", 69), ("INCONSISTENT_GROUP_PROTOCOL", 23)])
def test_a_group_that_cannot_be_described_is_an_error(cluster: FakeCluster, name: str, code: int) -> None:
    cluster.undescribable["a"] = failure(name, code=code, group="a")
    planned = plan(cluster, all_members=True)
    assert (planned.rows, [why.name for why in planned.failures]) == ({}, [name])


def test_members_of_the_new_protocol_are_refused_and_classic_ones_are_planned(cluster: FakeCluster) -> None:
    mixed = [member("new", upgraded=True), member("old", upgraded=False), member("unknown", upgraded=None)]
    cluster.add("b", state="Stable", kind="Consumer", members=mixed)
    planned = plan(cluster, group="b", all_members=True)
    assert members(planned) == [("b", "old", None)]
    assert [(why.group, why.name) for why in planned.refusals()] == [("b", "REFUSED")] * 2
    text = "member 'new' does not use the classic protocol; brokers remove only classic members"
    assert (planned.rows["b"][0].note, planned.refusals()[0].message) == (text, text)
