"""Reading back what became of changes whose responses were lost: done, failed or unknown, in several readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Action, Change, Status
from kafka_groups.changes.read_back import read_back
from kafka_groups.model import Failure
from tests.changes.executions import (
    MemoryJournal,
    commit,
    deletion,
    execute,
    idle,
    names,
    offsets,
    rows,
    statuses,
)
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable
from tests.fakes.reactions import Reaction, drops
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

LOST = Failure(code=None, name="OUTCOME_UNKNOWN", message="the outcome is unknown")
DELETE = Action.DELETE_GROUP
MEMBER = {"member_id": "m", "group_instance_id": None}
REMOVAL = Change(Action.REMOVE_MEMBER, "a", member_id="m")


@pytest.fixture
def fake(mocker: MockerFixture) -> FakeCluster:
    """Group `a` with a commit."""
    cluster = FakeCluster(mocker)
    cluster.add("a", commits={("t", 0): 5})
    return cluster


def drops_after(change: Callable[[], object]) -> Reaction:
    """Return a reaction that closes the connection without a response, after a change of the cluster."""

    def react(_request: object, _response: object) -> None:
        change()

    return react


def lose(scripted: ScriptedCluster, api: str, group: Group | None) -> None:
    """Lose the next request of an API: the group stays as it is, or as `group`."""
    before = scripted.groups["a"]
    kept = group or Group(**{**vars(before), "commits": dict(before.commits)})
    scripted.script(api, drops_after(lambda: scripted.groups.__setitem__("a", kept)))


CASES = [
    ("OffsetCommit", commit("a", 5, 1)),
    ("OffsetDelete", deletion("a", 5)),
    ("DeleteGroups", deletion("a", 5, action=DELETE)),
    ("LeaveGroup", REMOVAL),
]


@pytest.mark.parametrize(("api", "change"), CASES)
def test_a_change_whose_response_was_lost_is_done_and_not_repeated(
    scripted: ScriptedCluster, admin: GroupAdmin, api: str, change: Change
) -> None:
    scripted.groups["a"] = Group(members=[MEMBER]) if change is REMOVAL else idle(5)
    scripted.script(api, drops)
    journal = MemoryJournal()
    execution = execute(admin, change, journal=journal)
    assert [row[2:] for row in rows(execution)] == [("done", "response lost, read back")]
    assert (execution.failures, journal.statuses) == ((), {0: Status.DONE})
    assert scripted.requests()[api] == 1


@pytest.mark.parametrize(("api", "change"), CASES)
def test_a_change_whose_request_may_still_arrive_is_unknown_and_not_repeated(
    scripted: ScriptedCluster, admin: GroupAdmin, api: str, change: Change
) -> None:
    scripted.groups["a"] = Group(members=[_described()]) if change is REMOVAL else idle(5)
    lose(scripted, api, None)
    execution = execute(admin, change)
    assert (statuses(execution), [name for *_, name in names(execution)]) == (["unknown"], ["OUTCOME_UNKNOWN"])
    assert execution.failures[0].message.endswith(", and the broker may make the change later")
    assert scripted.requests()[api] == 1


def _described() -> dict[str, object]:
    return {**MEMBER, "client_id": "c", "client_host": "/h", "member_metadata": b"", "member_assignment": b""}


def test_a_commit_that_is_neither_the_old_nor_the_new_one_is_unknown(
    scripted: ScriptedCluster, admin: GroupAdmin
) -> None:
    lose(scripted, "OffsetCommit", idle(77, 6))
    journal = MemoryJournal()
    execution = execute(admin, commit("a", 5, 1), journal=journal)
    assert (statuses(execution), names(execution)) == (["unknown"], [("a", None, "OUTCOME_UNKNOWN")])
    assert (journal.statuses, journal.is_finished) == ({0: Status.UNKNOWN}, True)


def test_a_group_that_cannot_be_read_back_is_unknown(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    lose(scripted, "OffsetCommit", idle(5, 6, error=30))
    assert statuses(execute(admin, commit("a", 5, 1))) == ["unknown"]


def test_a_lost_response_of_one_group_leaves_the_others_as_they_are(
    scripted: ScriptedCluster, admin: GroupAdmin
) -> None:
    scripted.script("OffsetCommit", drops, brokers=[1])
    execution = execute(admin, commit("a", 5, 1), commit("b", 7, 3))
    assert rows(execution) == [("a", 0, "done", "response lost, read back"), ("b", 0, "done", "")]
    assert offsets(scripted, "b") == {("t", 0): 3}


@pytest.mark.parametrize("is_made", [True, False])
def test_the_deletion_of_a_share_group_is_read_back_from_the_list_of_groups(
    scripted: ScriptedCluster, admin: GroupAdmin, is_made: bool
) -> None:
    scripted.groups["a"] = Group(state="Empty", type="Share", protocol_type="share")
    if is_made:
        scripted.script("DeleteGroups", drops)
    else:
        lose(scripted, "DeleteGroups", None)
    assert statuses(execute(admin, Change(DELETE, "a"))) == ["done" if is_made else "unknown"]


def test_the_deletion_of_a_group_is_unknown_if_a_broker_lists_no_groups(fake: FakeCluster) -> None:
    del fake.listings["a"], fake.descriptions["a"], fake.offsets["a"]
    fake.unlistable[1] = failure("TIMEOUT", code=None, broker=1)
    assert found(fake, Change(DELETE, "a")) == ["unknown"]


def found(cluster: FakeCluster, *changes: Change, pauses: list[float] | None = None) -> list[str]:
    """Return the status of each change after reading back."""
    pause = (lambda _: None) if pauses is None else pauses.append
    outcomes = read_back(cluster.admin, dict.fromkeys(changes, LOST), timeout_s=5.0, pause=pause)
    return [outcomes[change].status.value for change in changes]


def test_what_is_done_is_read_once(fake: FakeCluster) -> None:
    pauses: list[float] = []
    assert found(fake, commit("a", 3, 5), pauses=pauses) == ["done"]
    assert (pauses, fake.admin.describe_with_offsets.call_count) == ([0.2], 1)


def test_what_is_not_done_is_read_again_later(fake: FakeCluster) -> None:
    pauses: list[float] = []
    assert found(fake, commit("a", 5, 1), pauses=pauses) == ["unknown"]
    assert (pauses, fake.admin.describe_with_offsets.call_count) == ([0.2, 1.0], 2)


def test_a_change_that_the_broker_makes_late_is_done(fake: FakeCluster) -> None:
    def pause(seconds: float) -> None:
        if seconds == 1.0:
            fake.add("a", commits={("t", 0): 1})

    change = commit("a", 5, 1)
    assert read_back(fake.admin, {change: LOST}, timeout_s=5.0, pause=pause)[change].status is Status.DONE


def test_a_group_that_could_not_be_read_at_first_is_read_again(fake: FakeCluster) -> None:
    fake.unfetchable["a"] = failure("TIMEOUT", code=None, group="a")

    def pause(seconds: float) -> None:
        if seconds == 1.0:
            fake.unfetchable.clear()

    change = commit("a", 3, 5)
    assert read_back(fake.admin, {change: LOST}, timeout_s=5.0, pause=pause)[change].status is Status.DONE


def test_an_unreachable_cluster_leaves_the_outcome_unknown(fake: FakeCluster) -> None:
    fake.admin.describe_with_offsets.side_effect = unreachable()
    assert found(fake, commit("a", 5, 1), deletion("a", 5)) == ["unknown", "unknown"]


def test_a_commit_that_cannot_be_read_back_is_unknown(fake: FakeCluster) -> None:
    fake.add("a", commits={("t", 1): 6}, refused={("t", 0): 29})
    assert found(fake, commit("a", 5, 1), commit("a", 3, 6, partition=1)) == ["unknown", "done"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (commit("absent", None, 1), "unknown"),
        (commit("absent", 5, 1), "unknown"),
        (deletion("absent", 5), "done"),
        (deletion("absent", 5, action=DELETE), "done"),
        (REMOVAL._replace(group="absent"), "done"),
    ],
)
def test_an_absent_group_shows_what_became_of_a_change(fake: FakeCluster, change: Change, status: str) -> None:
    assert found(fake, change) == [status]


def test_a_static_member_that_was_replaced_is_removed(fake: FakeCluster) -> None:
    fake.add("a", state="Stable", members=[member("m-2", group_instance_id="i")])
    removals = [REMOVAL._replace(member_id=name, group_instance_id="i") for name in ("m-1", "m-2")]
    assert found(fake, *removals) == ["done", "unknown"]
