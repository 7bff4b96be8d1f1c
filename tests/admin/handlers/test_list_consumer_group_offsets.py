"""Committed offsets: the OffsetFetch requests, and the results for each partition."""

from __future__ import annotations

import pytest

from kafka_groups.model import CommittedOffset, GroupOffsets, TopicPartition
from tests.fakes.reactions import plain
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

COMMITS: dict[tuple[str, int], int | Commit] = {
    ("payments", 0): 5,
    ("payments", 1): Commit(offset=7, epoch=3, metadata="by hand"),
    ("refunds", 0): Commit(offset=-1),
}


def _offsets_of(group: Group, partitions: list[tuple[str, int]] | None = None) -> GroupOffsets:
    with ScriptedCluster(groups={"orders": group}) as cluster, cluster.admin() as admin:
        return admin.list_consumer_group_offsets({"orders": partitions}).all()["orders"]


def test_all_offsets_of_a_group_are_returned_by_partition() -> None:
    assert dict(_offsets_of(Group(commits=COMMITS))) == {
        TopicPartition("payments", 0): CommittedOffset(offset=5, leader_epoch=None, metadata=""),
        TopicPartition("payments", 1): CommittedOffset(offset=7, leader_epoch=3, metadata="by hand"),
        TopicPartition("refunds", 0): None,
    }


def test_only_the_named_partitions_are_returned() -> None:
    offsets = _offsets_of(Group(commits=COMMITS), [("payments", 1), ("payments", 9), ("absent", 0)])
    assert dict(offsets) == {
        TopicPartition("payments", 1): CommittedOffset(offset=7, leader_epoch=3, metadata="by hand"),
        TopicPartition("payments", 9): None,
        TopicPartition("absent", 0): None,
    }


@pytest.mark.parametrize("offset", [-1, -2, -(2**63)])
def test_a_negative_offset_is_not_a_commit(offset: int) -> None:
    assert dict(_offsets_of(Group(commits={("payments", 0): offset}))) == {TopicPartition("payments", 0): None}


def test_a_group_that_does_not_exist_has_no_commits_and_does_not_fail() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        results = admin.list_consumer_group_offsets({"absent": None, "named": [("payments", 0)]})
        assert results.failed == {}
        assert len(results.succeeded["absent"]) == 0
        assert dict(results.succeeded["named"]) == {TopicPartition("payments", 0): None}
        assert not results.succeeded["named"].has_commits()


@pytest.mark.parametrize(("code", "name"), [(3, "UNKNOWN_TOPIC_OR_PARTITION"), (29, "TOPIC_AUTHORIZATION_FAILED")])
def test_a_refused_partition_is_a_failure_beside_the_commits_of_the_others(code: int, name: str) -> None:
    refused = Commit(offset=-1, error=code)
    offsets = _offsets_of(Group(commits={("payments", 0): 5, ("secret", 1): refused}))
    assert list(offsets) == [TopicPartition("payments", 0)]
    assert {key: failure.code for key, failure in offsets.failed.items()} == {("secret", 1): code}
    failure = offsets.failed[TopicPartition("secret", 1)]
    assert (failure.group, failure.topic, failure.partition) == ("orders", "secret", 1)
    assert (failure.code, failure.name) == (code, name)


def test_without_require_stable_an_unstable_partition_fails_at_once() -> None:
    offsets = _offsets_of(Group(commits={("payments", 0): Commit(offset=-1, error=88)}))
    assert {key: failure.code for key, failure in offsets.failed.items()} == {("payments", 0): 88}


def test_requests_have_no_member_id_and_epoch_minus_1() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        admin.list_consumer_group_offsets({"orders": None, "billing": [("b", 1), ("a", 0), ("b", 0)]})
        fetch = cluster.requests_of("OffsetFetch")[0]
        assert fetch.version == 9
        assert fetch.body["groups"] == [
            {"group_id": "orders", "member_id": None, "member_epoch": -1, "topics": None},
            {
                "group_id": "billing",
                "member_id": None,
                "member_epoch": -1,
                "topics": [{"name": "b", "partition_indexes": [1, 0]}, {"name": "a", "partition_indexes": [0]}],
            },
        ]


@pytest.mark.parametrize("required", [False, True])
def test_require_stable_is_sent_to_the_broker(*, required: bool) -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        admin.list_consumer_group_offsets({"orders": None}, require_stable=required)
        assert cluster.requests_of("OffsetFetch")[0].body["require_stable"] is required


def test_an_unstable_offset_is_requested_again_until_its_transaction_ends() -> None:
    group = Group(commits={("payments", 0): Commit(offset=-1, error=88)})
    with ScriptedCluster(groups={"orders": group}) as cluster, cluster.admin() as admin:

        def end_transaction(_request: object, response: dict[str, object]) -> dict[str, object]:
            group.commits = {("payments", 0): 5}
            return response

        cluster.script("OffsetFetch", plain, end_transaction, brokers=[1])
        offsets = admin.list_consumer_group_offsets({"orders": None}, require_stable=True).all()["orders"]
        assert dict(offsets) == {TopicPartition("payments", 0): CommittedOffset(5, None, "")}
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetFetch": 3}


def test_at_the_deadline_unstable_partitions_fail_and_stable_ones_are_returned() -> None:
    unstable: dict[tuple[str, int], int | Commit] = {("payments", 0): Commit(offset=-1, error=88), ("payments", 1): 7}
    groups = {"stuck": Group(commits=unstable), "fine": Group()}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        admin.brokers()
        results = admin.list_consumer_group_offsets(dict.fromkeys(groups), require_stable=True, timeout=0.5)
        assert sorted(results.succeeded) == ["fine", "stuck"]
        assert dict(results.succeeded["stuck"]) == {TopicPartition("payments", 1): CommittedOffset(7, None, "")}
        assert {key: failure.code for key, failure in results.succeeded["stuck"].failed.items()} == {
            ("payments", 0): 88
        }
        assert [group["group_id"] for group in cluster.requests_of("OffsetFetch")[1].body["groups"]] == ["stuck"]
