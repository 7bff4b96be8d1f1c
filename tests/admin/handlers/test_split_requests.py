"""Requests that write are split where a coordinator could not write their records as one batch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.handlers.record_sizes import MAX_BATCH_BYTES, commit_bytes, first_batch, tombstone_bytes
from kafka_groups.model import CommittedOffset, TopicPartition
from tests.admin.handlers.test_alter_consumer_group_offsets import with_codes
from tests.fakes.scripted_cluster import Group, ScriptedCluster

PARTITIONS = 400
LONG = CommittedOffset(7, None, "m" * 4_000)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Group `a` without members, and `b` at another broker."""
    topics = {"t": dict.fromkeys(range(PARTITIONS), 1)}
    groups = {"a": Group(state="Empty"), "b": Group(state="Empty", coordinator=2)}
    with ScriptedCluster(brokers=2, groups=groups, topics=topics) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def sizes(cluster: ScriptedCluster, api: str) -> list[int]:
    """Return the number of partitions in each request of an API."""
    return [sum(len(topic["partitions"]) for topic in each.body["topics"]) for each in cluster.requests_of(api)]


def long_commits(group: str = "a", count: int = PARTITIONS) -> dict[str, dict[tuple[str, int], CommittedOffset]]:
    return {group: {("t", partition): LONG for partition in range(count)}}


def test_commits_with_much_metadata_are_sent_in_parts_one_after_the_other(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    results = admin.alter_consumer_group_offsets(long_commits())
    assert set(results.all()["a"].values()) == {None}
    assert len(cluster.groups["a"].commits) == PARTITIONS
    assert sizes(cluster, "OffsetCommit") == [121, 121, 121, 37]
    assert 121 * commit_bytes("a", TopicPartition("t", 0), LONG) <= MAX_BATCH_BYTES


def test_commits_that_fit_into_one_batch_are_one_request(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    admin.alter_consumer_group_offsets({"a": {("t", each): CommittedOffset(7, None, "") for each in range(PARTITIONS)}})
    assert sizes(cluster, "OffsetCommit") == [PARTITIONS]


def test_a_part_that_is_retriable_is_sent_again_alone(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.script("OffsetCommit", with_codes(*[14] * 121), brokers=[1])
    assert set(admin.alter_consumer_group_offsets(long_commits()).all()["a"].values()) == {None}
    assert sizes(cluster, "OffsetCommit") == [121, 121, 121, 121, 37]


def test_a_part_that_fails_leaves_the_parts_before_it_done(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.script("OffsetCommit", with_codes(*[0] * 121), with_codes(*[25] * 121), brokers=[1])
    outcomes = admin.alter_consumer_group_offsets(long_commits()).succeeded["a"]
    assert sum(why is None for why in outcomes.values()) == 121
    assert {why.name for why in outcomes.values() if why} == {"UNKNOWN_MEMBER_ID"}
    assert sizes(cluster, "OffsetCommit") == [121, 121]


def test_the_length_of_names_counts_too(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    name = "ö" * 120
    cluster.topics[name] = dict.fromkeys(range(2_000), 1)
    keys = {"a": [(name, partition) for partition in range(2_000)]}
    admin.delete_consumer_group_offsets(keys).all()
    assert sizes(cluster, "OffsetDelete") == [1779, 221]
    assert tombstone_bytes("a", TopicPartition(name, 0)) == 40 + 1 + 240


def test_groups_with_many_commits_are_deleted_in_several_requests(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    names = [f"g{number}" for number in range(6)]
    cluster.groups |= {name: Group(state="Empty") for name in names}
    admin.delete_consumer_groups(names, record_bytes=dict.fromkeys(names, 200_000)).all()
    requests = [each.body["groups_names"] for each in cluster.requests_of("DeleteGroups")]
    assert requests == [names[:2], names[2:4], names[4:]]


def test_a_batch_has_at_least_one_item_however_large_it_is() -> None:
    assert first_batch([1, 2], lambda _: 10 * MAX_BATCH_BYTES) == [1]
    assert first_batch([], lambda _: 1) == []
