"""The check before a plan is executed: members that joined, commits that moved, and what --force allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups
from kafka_groups.changes.validity import check_again, describe_difference
from kafka_groups.model import CommittedOffset
from tests.changes.executions import commit, deletion
from tests.fakes.fake_admin import FakeCluster, failure, member
from tests.fakes.scripted_cluster import topic_id

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

DELETE = Action.DELETE_GROUP


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """Group `a` with a commit on two partitions of `t`."""
    cluster = FakeCluster(mocker)
    cluster.end("t", *[100] * 9)
    cluster.add("a", commits={("t", 0): 5, ("t", 1): 6})
    return cluster


def check(cluster: FakeCluster, *changes: Change, force: bool = False) -> PlannedGroups:
    """Return the plan of these changes after the check."""
    rows: dict[str, tuple[PlannedChange, ...]] = {}
    for change in changes:
        rows[change.group] = (*rows.get(change.group, ()), PlannedChange(change))
    return check_again(cluster.admin, PlannedGroups(rows=rows), force=force)


def invalid(cluster: FakeCluster, *changes: Change, force: bool = False) -> dict[Change, tuple[str, str]]:
    """Return name and message of the failure of each invalid change."""
    rows = [row for each in check(cluster, *changes, force=force).rows.values() for row in each]
    return {row.change: (row.refusal.name, row.refusal.message) for row in rows if row.refusal is not None}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("change", [commit("a", 5, 1), deletion("a", 5), deletion("a", 5, action=DELETE)])
def test_a_change_of_what_is_as_planned_is_valid(cluster: FakeCluster, change: Change, force: bool) -> None:
    if change.action is DELETE:
        cluster.add("a", commits={("t", 0): 5})
    assert invalid(cluster, change, force=force) == {}


def test_all_groups_are_read_in_one_call(cluster: FakeCluster) -> None:
    cluster.add("b", commits={("t", 0): 7})
    check(cluster, commit("a", 5, 1), commit("b", 7, 1), commit("a", 6, 1, partition=1))
    scopes = {"a": [("t", 0), ("t", 1)], "b": [("t", 0)]}
    cluster.admin.describe_with_offsets.assert_called_once_with(("a", "b"), scopes, require_stable=True, timeout=None)
    cluster.admin.describe_topics.assert_called_once_with(["t"], timeout=None)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("change", [commit("a", 5, 1), deletion("a", 5), deletion("a", 5, action=DELETE)])
def test_a_topic_that_was_recreated_since_forbids_the_change(cluster: FakeCluster, change: Change, force: bool) -> None:
    if change.action is DELETE:
        cluster.add("a", commits={("t", 0): 5})
    cluster.topic_ids["t"] = topic_id("another")
    assert [name for name, _ in invalid(cluster, change, force=force).values()] == ["TOPIC_RECREATED"]


@pytest.mark.parametrize("change", [commit("a", 5, 1), commit("a", 5, 1)._replace(topic_id=None)])
def test_a_topic_whose_id_is_unknown_forbids_nothing(cluster: FakeCluster, change: Change) -> None:
    cluster.topic_ids["t"] = None if change.topic_id else topic_id("another")
    assert invalid(cluster, change) == {}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("change", [commit("a", 5, 1), deletion("a", 5), deletion("a", 5, action=DELETE)])
def test_a_commit_of_an_open_transaction_forbids_the_change(cluster: FakeCluster, change: Change, force: bool) -> None:
    cluster.add("a", commits={("t", 0): 5}, refused={("t", 0): 88})
    assert [name for name, _ in invalid(cluster, change, force=force).values()] == ["UNSTABLE_OFFSET_COMMIT"]


@pytest.mark.parametrize("force", [False, True])
def test_a_commit_of_an_open_transaction_on_another_partition_forbids_the_deletion_of_the_group(
    cluster: FakeCluster, force: bool
) -> None:
    cluster.add("a", commits={("t", 0): 5}, refused={("t", 3): 88})
    (refused,) = invalid(cluster, deletion("a", 5, action=DELETE), force=force).values()
    assert refused[0] == "UNSTABLE_OFFSET_COMMIT"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("change", [commit("a", 5, 1), deletion("a", 5, action=DELETE)])
def test_members_that_joined_since_forbid_the_change(cluster: FakeCluster, change: Change, force: bool) -> None:
    cluster.add("a", state="PreparingRebalance", members=[member("m")], commits={("t", 0): 5})
    text = "it is PreparingRebalance with 1 member on 10.0.0.1; stop its consumers first"
    assert invalid(cluster, change, force=force) == {change: ("NON_EMPTY_GROUP", text)}


def test_twice_as_many_groups_are_hashed_twice_as_often(cluster: FakeCluster) -> None:
    hashed = 0

    class Id(str):
        __slots__ = ()

        def __hash__(self) -> int:
            nonlocal hashed
            hashed += 1
            return super().__hash__()

    counts = []
    for number in (50, 100):
        names = [Id(f"g{number}-{at}") for at in range(number)]
        for name in names:
            cluster.add(name, commits={("t", 0): 5})
        hashed = 0
        check(cluster, *(commit(name, 5, 1) for name in names))
        counts.append(hashed)
    assert counts[1] < 2.5 * counts[0]


def test_members_do_not_forbid_the_deletion_of_commits(cluster: FakeCluster) -> None:
    cluster.add("a", state="Stable", members=[member("m")], commits={("t", 0): 5})
    assert invalid(cluster, deletion("a", 5)) == {}


def test_members_to_remove_are_not_read(cluster: FakeCluster) -> None:
    assert invalid(cluster, Change(Action.REMOVE_MEMBER, "a", member_id="m")) == {}
    cluster.admin.describe_with_offsets.assert_not_called()


@pytest.mark.parametrize("change", [commit("a", 4, 1), commit("a", None, 1), deletion("a", 4)])
def test_a_commit_that_has_moved_forbids_only_its_own_change(cluster: FakeCluster, change: Change) -> None:
    other = commit("a", 6, 1, partition=1)
    before = "no commit" if change.committed_offset is None else "4"
    text = f"its commit has changed since the plan, from {before} to 5"
    assert invalid(cluster, change, other) == {change: ("REFUSED", text)}
    assert invalid(cluster, change, other, force=True) == {}


def test_a_commit_that_was_deleted_forbids_its_change(cluster: FakeCluster) -> None:
    change = commit("a", 7, 1, partition=2)
    text = "its commit has changed since the plan, from 7 to no commit"
    assert invalid(cluster, change) == {change: ("REFUSED", text)}


@pytest.mark.parametrize("now", [CommittedOffset(5, 4, ""), CommittedOffset(5, None, "new")])
def test_a_commit_with_another_epoch_or_metadata_has_changed(cluster: FakeCluster, now: CommittedOffset) -> None:
    cluster.add("a", commits={("t", 0): now})
    change = commit("a", 5, 1)
    text = "the leader epoch or the metadata of its commit at 5 has changed since the plan"
    assert invalid(cluster, change) == {change: ("REFUSED", text)}


def test_a_commit_that_cannot_be_read_forbids_its_change(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 6}, refused={("t", 0): 29})
    change, other = commit("a", 5, 1), commit("a", 6, 1, partition=1)
    assert [name for name, _ in invalid(cluster, change, other).values()] == ["TOPIC_AUTHORIZATION_FAILED"]


def test_a_group_that_cannot_be_read_forbids_all_its_changes(cluster: FakeCluster) -> None:
    cluster.unfetchable["a"] = failure("TIMEOUT", code=None, group="a")
    cluster.add("b", commits={("t", 0): 7})
    changes = [commit("a", 5, 1), commit("a", 6, 1, partition=1)]
    assert invalid(cluster, *changes, commit("b", 7, 1)) == dict.fromkeys(changes, ("TIMEOUT", "refused"))


def test_a_group_that_is_still_absent_may_be_created(cluster: FakeCluster) -> None:
    assert invalid(cluster, commit("new", None, 1)) == {}


def test_a_group_that_was_deleted_since_is_refused(cluster: FakeCluster) -> None:
    change = commit("deleted", 5, 1)
    assert [name for name, _ in invalid(cluster, change).values()] == ["REFUSED"]
    assert invalid(cluster, change, force=True) == {}


def test_a_group_with_new_commits_is_not_deleted(cluster: FakeCluster) -> None:
    change = deletion("a", 5, action=DELETE)
    text = "it has commits that it did not have when it was planned, such as on t-1"
    assert invalid(cluster, change) == {change: ("REFUSED", text)}
    assert invalid(cluster, change, force=True) == {}


def test_a_group_without_commits_that_has_one_now_is_not_deleted(cluster: FakeCluster) -> None:
    change = Change(DELETE, "a")
    assert [name for name, _ in invalid(cluster, change).values()] == ["REFUSED"]


def test_one_commit_that_moved_forbids_the_deletion_of_the_whole_group(cluster: FakeCluster) -> None:
    changes = [deletion("a", 4, action=DELETE), deletion("a", 6, partition=1, action=DELETE)]
    text = "its commit has changed since the plan, from 4 to 5"
    assert invalid(cluster, *changes) == dict.fromkeys(changes, ("REFUSED", text))


@pytest.mark.parametrize("code", [69, 23])
def test_a_group_that_is_not_of_consumers_may_be_deleted(cluster: FakeCluster, code: int) -> None:
    cluster.add("other")
    cluster.undescribable["other"] = failure("INCONSISTENT_GROUP_PROTOCOL", code=code, group="other")
    assert invalid(cluster, Change(DELETE, "other")) == {}


def test_a_group_that_became_one_of_connect_is_not_reset(cluster: FakeCluster) -> None:
    cluster.undescribable["a"] = failure("INCONSISTENT_GROUP_PROTOCOL", code=23, group="a")
    assert [name for name, _ in invalid(cluster, commit("a", 5, 1)).values()] == ["INCONSISTENT_GROUP_PROTOCOL"]


@pytest.mark.parametrize(
    ("planned", "current", "text"),
    [
        (None, CommittedOffset(3, None, ""), "its commit has changed since the plan, from no commit to 3"),
        (CommittedOffset(3, 1, ""), None, "its commit has changed since the plan, from 3 to no commit"),
    ],
)
def test_a_difference_is_described(planned: CommittedOffset | None, current: CommittedOffset | None, text: str) -> None:
    assert describe_difference(planned, current) == text
