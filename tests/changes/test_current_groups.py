"""The state of groups before a change: what exists, what is active, and why it must not be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.current_groups import (
    CurrentGroup,
    note_unstable,
    read_existing_groups,
    read_groups,
    refuse,
    refuse_active,
)
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import TopicPartition
from tests.fakes.fake_admin import FakeCluster, failure, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """An empty cluster."""
    return FakeCluster(mocker)


def read(cluster: FakeCluster, group: str) -> CurrentGroup:
    """Return a group that can be read."""
    return read_groups(cluster.admin, {group: None}).succeeded[group]


def test_groups_are_read_once_in_one_call(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 5})
    groups = {"a": None, "absent": None}
    found = read_groups(cluster.admin, groups, timeout=3)
    cluster.admin.describe_with_offsets.assert_called_once_with(("a", "absent"), groups, require_stable=True, timeout=3)
    assert found.succeeded["a"].offsets[TopicPartition("t", 0)] is not None
    assert [(group, why.name) for group, why in found.failed.items()] == [("absent", "GROUP_ID_NOT_FOUND")]


def test_only_the_named_partitions_are_read(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 5, ("u", 0): 6})
    key = TopicPartition("t", 1)
    assert read_groups(cluster.admin, {"a": [key]}).succeeded["a"].offsets == {key: None}


def test_a_group_that_nobody_describes_exists_if_it_has_a_commit_on_any_partition(cluster: FakeCluster) -> None:
    cluster.add("managed", commits={("t", 0): 5})
    del cluster.descriptions["managed"]
    key = TopicPartition("u", 0)
    found = read_existing_groups(cluster.admin, {"managed": [key], "absent": [key]})
    assert (list(found.succeeded), list(found.failed)) == (["managed"], ["absent"])


@pytest.mark.parametrize("is_stable", [True, False])
def test_brokers_that_do_not_know_open_transactions_are_a_note(cluster: FakeCluster, is_stable: bool) -> None:
    cluster.is_stable = is_stable
    cluster.add("a", commits={("t", 0): 5})
    text = "Commits of open transactions are not known: that needs brokers of Kafka 2.5 or newer."
    note = Note(NoteKind.OPEN_TRANSACTIONS_UNKNOWN, None, text)
    assert note_unstable([read(cluster, "a")]) == ([] if is_stable else [note])


def test_partitions_that_the_broker_refuses_are_unreadable(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 5}, refused={("secret", 0): 29})
    current = read(cluster, "a")
    assert list(current.offsets) == [TopicPartition("t", 0)]
    assert [why.name for why in current.unreadable.values()] == ["TOPIC_AUTHORIZATION_FAILED"]


def test_a_group_that_is_not_described_but_has_commits_is_no_failure(cluster: FakeCluster) -> None:
    cluster.add("managed", commits={("t", 0): 5})
    del cluster.descriptions["managed"]
    current = read(cluster, "managed")
    assert (current.description, current.is_active, refuse_active(current)) == (None, False, None)


@pytest.mark.parametrize(("code", "name"), [(30, "GROUP_AUTHORIZATION_FAILED"), (23, "INCONSISTENT_GROUP_PROTOCOL")])
def test_a_group_with_commits_whose_description_fails_is_a_failure(cluster: FakeCluster, code: int, name: str) -> None:
    cluster.add("a", commits={("t", 0): 5})
    cluster.undescribable["a"] = failure(name, code=code, group="a")
    assert [why.name for why in read_groups(cluster.admin, {"a": None}).failed.values()] == [name]


def test_a_group_whose_commits_cannot_be_read_is_a_failure(cluster: FakeCluster) -> None:
    cluster.add("a")
    cluster.unfetchable["a"] = failure("TIMEOUT", code=None, group="a")
    assert [why.name for why in read_groups(cluster.admin, {"a": None}).failed.values()] == ["TIMEOUT"]


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_a_group_without_members_is_not_active(cluster: FakeCluster, state: str) -> None:
    cluster.add("a", state=state, commits={("t", 0): 5})
    assert not read(cluster, "a").is_active


@pytest.mark.parametrize("state", ["Stable", "PreparingRebalance", "Assigning", "Reconciling", None])
def test_a_group_in_another_state_is_active(cluster: FakeCluster, state: str | None) -> None:
    cluster.add("a", state=state)
    assert read(cluster, "a").is_active


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        ((), "it is Stable with 0 members; stop its consumers first"),
        (("/h1",), "it is Stable with 1 member on h1; stop its consumers first"),
        (("",), "it is Stable with 1 member; stop its consumers first"),
        (("", "/"), "it is Stable with 2 members; stop its consumers first"),
        (("", "/h1", "/h2"), "it is Stable with 3 members on h1, h2; stop its consumers first"),
        (("/h1", "/h2", "/h1"), "it is Stable with 3 members on h1, h2; stop its consumers first"),
        (tuple("abcdefg"), "it is Stable with 7 members on a, b, c, d, e, …; stop its consumers first"),
    ],
)
def test_the_refusal_names_the_state_and_the_first_hosts(
    cluster: FakeCluster, hosts: tuple[str, ...], text: str
) -> None:
    cluster.add("a", state="Stable", members=[member(f"m{at}", host=host) for at, host in enumerate(hosts)])
    refusal = refuse_active(read(cluster, "a"))
    assert refusal is not None
    assert (refusal.group, refusal.code, refusal.name, refusal.message) == ("a", 68, "NON_EMPTY_GROUP", text)


def test_a_refusal_of_this_tool_has_no_code_of_kafka() -> None:
    assert refuse("a", "why", TopicPartition("t", 1)) == failure("REFUSED", code=None, group="a")._replace(
        message="why", topic="t", partition=1
    )
    assert (refuse("a", "why").topic, refuse("a", "why").partition) == (None, None)


def test_a_group_that_is_listed_with_another_type_is_refused_although_it_has_commits(cluster: FakeCluster) -> None:
    cluster.add("streams", kind="Streams", protocol_type="streams", commits={("t", 0): 5})
    cluster.undescribable["streams"] = failure("GROUP_ID_NOT_FOUND", code=69, group="streams")
    (why,) = read_groups(cluster.admin, {"streams": None}).failed.values()
    assert (why.name, why.message) == (
        "REFUSED",
        "no broker describes it as a group of the type in its listing (streams)",
    )


def test_a_group_that_is_listed_with_members_is_refused_although_it_is_not_described(cluster: FakeCluster) -> None:
    cluster.add("managed", state="Stable", commits={("t", 0): 5})
    del cluster.descriptions["managed"]
    (why,) = read_groups(cluster.admin, {"managed": None}).failed.values()
    assert (why.name, why.message) == ("NON_EMPTY_GROUP", "it is Stable")


def test_the_empty_id_of_an_absent_group_is_that_of_an_absent_group(cluster: FakeCluster) -> None:
    cluster.undescribable[""] = failure("INVALID_GROUP_ID", code=24, group="")
    assert [why.name for why in read_groups(cluster.admin, {"": None}).failed.values()] == ["GROUP_ID_NOT_FOUND"]
