"""Planning the deletion of groups and commits: which kinds, which states, and what an old plan no longer matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Action, Change, PlannedGroups
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.protocol.topic_ids import format_topic_id
from tests.fakes.fake_admin import FakeCluster, member
from tests.fakes.scripted_cluster import topic_id

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

ALL = Selectors(all_groups=True)


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """A topic `t` of two partitions, and one `u` of one."""
    cluster = FakeCluster(mocker)
    cluster.end("t", 100, 50)
    cluster.end("u", 9)
    return cluster


def named(*groups: str) -> Selectors:
    """Return selectors of these groups."""
    return Selectors(named=groups)


def changes(planned: PlannedGroups) -> list[tuple[str, str | None, int | None, int | None]]:
    """Return group, topic, partition and commit of each change to make."""
    return [(change.group, change.topic, change.partition, change.committed_offset) for change in planned.changes()]


def errors(planned: PlannedGroups) -> list[tuple[str | None, str]]:
    """Return group and name of each failure."""
    return [(why.group, why.name) for why in (*planned.failures, *planned.refusals())]


def test_the_plan_of_a_group_has_the_commits_that_are_lost(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 7, ("t", 0): 60})
    cluster.add("none")
    planned = plan_group_deletion(cluster.admin, named("none", "a"), DeletionRequest())
    assert changes(planned) == [("a", "t", 0, 60), ("a", "t", 1, 7), ("none", None, None, None)]
    assert {change.action for change in planned.changes()} == {Action.DELETE_GROUP}


def test_the_plan_of_a_group_has_the_topic_ids_that_show_a_recreated_topic(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60, ("u", 0): 7})
    planned = plan_group_deletion(cluster.admin, named("a"), DeletionRequest())
    assert [change.topic_id for change in planned.changes()] == [format_topic_id(topic_id(name)) for name in "tu"]


def test_a_group_with_members_and_an_absent_one_are_errors_and_the_others_go_on(cluster: FakeCluster) -> None:
    cluster.add("busy", state="Stable", members=[member("m")])
    cluster.add("idle", commits={("t", 0): 60})
    planned = plan_group_deletion(cluster.admin, named("busy", "idle", "absent"), DeletionRequest())
    assert changes(planned) == [("idle", "t", 0, 60)]
    assert sorted(errors(planned)) == [("absent", "GROUP_ID_NOT_FOUND"), ("busy", "NON_EMPTY_GROUP")]


@pytest.mark.parametrize(("kind", "protocol_type"), [("Classic", "sr"), ("Classic", "connect")])
def test_a_named_group_of_another_kind_is_refused(cluster: FakeCluster, kind: str, protocol_type: str) -> None:
    cluster.add("other", kind=kind, protocol_type=protocol_type)
    planned = plan_group_deletion(cluster.admin, named("other"), DeletionRequest())
    assert (changes(planned), errors(planned)) == ([], [("other", "REFUSED")])


def test_groups_of_other_kinds_are_skipped_with_a_note_if_they_are_not_named(cluster: FakeCluster) -> None:
    cluster.add("registry", protocol_type="sr")
    cluster.add("workers", protocol_type="connect")
    cluster.add("idle")
    planned = plan_group_deletion(cluster.admin, ALL, DeletionRequest())
    assert (changes(planned), errors(planned)) == ([("idle", None, None, None)], [])
    text = "2 groups of other kinds are skipped (connect, sr)."
    assert planned.notes == (Note(NoteKind.SKIPPED_GROUPS, None, text),)


def test_any_type_deletes_empty_groups_of_every_type(cluster: FakeCluster) -> None:
    cluster.add("registry", protocol_type="sr")
    cluster.add("workers", protocol_type="connect", state="Stable")
    planned = plan_group_deletion(cluster.admin, ALL, DeletionRequest(any_type=True))
    assert (changes(planned), errors(planned)) == ([("registry", None, None, None)], [("workers", "NON_EMPTY_GROUP")])


def deletion(group: str, committed: int | None, *, topic: str = "t", action: Action = Action.DELETE_GROUP) -> Change:
    """Return a change of a plan."""
    return Change(action, group, topic, 0, committed, metadata=None if committed is None else "")


@pytest.mark.parametrize("commits", [{("t", 0): 61}, {("t", 0): 60, ("t", 1): 1}, {}])
def test_a_group_of_a_plan_is_refused_if_its_commits_have_changed(
    cluster: FakeCluster, commits: dict[tuple[str, int], int]
) -> None:
    cluster.add("a", commits=commits)
    file = PlanRows("f", (deletion("a", 60),), cluster_id="c")
    planned = plan_group_deletion(cluster.admin, named("a"), DeletionRequest(file=file))
    assert (changes(planned), set(errors(planned))) == ([], {("a", "REFUSED")})
    forced = plan_group_deletion(cluster.admin, named("a"), DeletionRequest(file=file, force=True))
    assert [change[0] for change in changes(forced)] == ["a"] * max(1, len(commits))


def test_a_plan_without_a_group_to_delete_deletes_none(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    note = Note(NoteKind.SKIPPED_ROWS, None, "skipped")
    file = PlanRows("f", (), cluster_id="c", notes=(note,))
    for plan in (plan_group_deletion, plan_offset_deletion):
        planned = plan(cluster.admin, Selectors(states=("Empty",)), DeletionRequest(file=file))
        assert (planned.rows, planned.failures, planned.notes) == ({}, (), (note,))


def test_the_commits_on_a_topic_are_planned_and_partitions_without_one_are_not(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 7, ("u", 0): 5})
    planned = plan_offset_deletion(cluster.admin, named("a"), DeletionRequest(topics={"t": ()}))
    assert changes(planned) == [("a", "t", 1, 7)]


def test_a_named_partition_without_a_commit_is_planned_with_a_note(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 7})
    planned = plan_offset_deletion(cluster.admin, named("a"), DeletionRequest(topics={"t": (0,)}))
    assert [row.note for row in planned.rows["a"]] == ["no commit"]


def test_a_topic_that_a_member_reads_is_refused_and_another_one_is_planned(cluster: FakeCluster) -> None:
    commits = {("t", 0): 60, ("u", 0): 5}
    cluster.add("busy", state="Stable", members=[member("m", {"t": (0, 1)})], commits=commits)
    planned = plan_offset_deletion(cluster.admin, named("busy"), DeletionRequest(topics={"t": (), "u": ()}))
    assert (changes(planned), errors(planned)) == ([("busy", "u", 0, 5)], [("busy", "GROUP_SUBSCRIBED_TO_TOPIC")])


def test_a_topic_that_does_not_exist_plans_nothing(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 7})
    planned = plan_offset_deletion(cluster.admin, named("a"), DeletionRequest(topics={"t": (), "typo": ()}))
    assert (planned.rows, errors(planned)) == ({}, [(None, "UNKNOWN_TOPIC_OR_PARTITION")])


def test_a_commit_of_a_plan_is_refused_if_it_has_changed(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 61, ("u", 0): 5})
    rows = (deletion("a", 60, action=Action.DELETE_OFFSETS), deletion("a", 5, topic="u", action=Action.DELETE_OFFSETS))
    file = PlanRows("f", rows, cluster_id="c")
    planned = plan_offset_deletion(cluster.admin, named("a"), DeletionRequest(file=file))
    assert (changes(planned), errors(planned)) == ([("a", "u", 0, 5)], [("a", "REFUSED")])


def test_a_group_with_commits_that_cannot_be_read_is_only_deleted_by_force(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60}, refused={("secret", 0): 29})
    planned = plan_group_deletion(cluster.admin, named("a"), DeletionRequest())
    assert (changes(planned), errors(planned)) == ([], [("a", "REFUSED")])
    forced = plan_group_deletion(cluster.admin, named("a"), DeletionRequest(force=True))
    assert changes(forced) == [("a", "t", 0, 60)]


@pytest.mark.parametrize("any_type", [False, True])
def test_the_commits_of_a_streams_group_are_part_of_its_plan(cluster: FakeCluster, *, any_type: bool) -> None:
    cluster.add("streams", kind="Streams", protocol_type="streams", commits={("t", 0): 60})
    planned = plan_group_deletion(cluster.admin, named("streams"), DeletionRequest(any_type=any_type))
    assert changes(planned) == [("streams", "t", 0, 60)]
