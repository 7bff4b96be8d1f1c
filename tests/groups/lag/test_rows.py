"""The lag of a partition, and the join of commits, log offsets and members."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_groups.commits import CommitTuple, PartitionCommit
from kafka_groups.groups.lag.rows import join_offsets, lag_of, sort_members
from kafka_groups.model import Assignment, Member, OffsetRow

Commits = Mapping[tuple[str, int], int | None]


def _member(name: str, **assignment: tuple[int, ...]) -> Member:
    return Member(
        member_id=name,
        group_instance_id=None,
        client_id=f"client-{name}",
        host=f"/{name}",
        assignment=tuple(Assignment(topic=topic, partitions=partitions) for topic, partitions in assignment.items()),
    )


def _join(
    commits: Commits,
    *members: Member,
    ends: Mapping[str, Mapping[int, int]] | None = None,
    starts: Mapping[str, Mapping[int, int]] | None = None,
) -> list[OffsetRow]:
    by_topic: dict[str, list[PartitionCommit]] = {}
    for (topic, partition), offset in sorted(commits.items()):
        by_topic.setdefault(topic, []).append((partition, offset, None, None if offset is None else ""))
    return join_offsets(
        "g",
        members=members,
        committed=[(topic, CommitTuple(rows)) for topic, rows in reversed(by_topic.items())],
        ends=ends or {},
        starts=starts or {},
    )


def _keys(rows: list[OffsetRow]) -> list[tuple[str | None, str, int]]:
    return [(row.member_id, row.topic, row.partition) for row in rows]


@pytest.mark.parametrize(
    ("committed", "end", "lag"),
    [
        (0, 0, 0),
        (5, 12, 7),
        (12, 12, 0),
        (15, 12, -3),
        (0, 2**63 - 1, 9223372036854775807),
        (None, 12, None),
        (5, None, None),
        (None, None, None),
    ],
)
def test_lag_is_log_end_offset_minus_committed_offset_and_unknown_if_either_is(
    committed: int | None, end: int | None, lag: int | None
) -> None:
    assert lag_of(committed=committed, end=end) == lag


def test_members_with_the_most_partitions_come_first() -> None:
    members = [_member("none"), _member("one", t=(3,)), _member("three", t=(0, 1), u=(0,))]
    assert [member.member_id for member in sort_members(members)] == ["three", "one", "none"]


def test_members_with_as_many_partitions_are_ordered_by_their_first_one() -> None:
    members = [_member("c", t=(10,)), _member("b", t=(2,)), _member("a", u=(0,)), _member("d", s=(99,))]
    assert [member.member_id for member in sort_members(members)] == ["d", "b", "c", "a"]


def test_members_without_partitions_are_ordered_by_id() -> None:
    assert [member.member_id for member in sort_members([_member("b"), _member("a")])] == ["a", "b"]


def test_owned_partitions_are_ordered_by_member_topic_and_number_and_unowned_ones_are_last() -> None:
    few = _member("few", t=(10,))
    many = _member("many", u=(1, 0), t=(9, 2))
    commits = {("t", 11): 1, ("t", 2): 1, ("a", 0): 1, ("t", 9): 1, ("t", 10): 1, ("u", 0): 1}
    assert _keys(_join(commits, few, many)) == [
        ("many", "t", 2),
        ("many", "t", 9),
        ("many", "u", 0),
        ("many", "u", 1),
        ("few", "t", 10),
        (None, "a", 0),
        (None, "t", 11),
    ]


def test_without_members_commits_are_ordered_by_topic_and_number() -> None:
    commits = {("t", 10): 1, ("t", 9): 1, ("a", 0): None, ("t", 0): 1}
    assert _keys(_join(commits)) == [(None, "a", 0), (None, "t", 0), (None, "t", 9), (None, "t", 10)]


def test_a_row_has_everything_that_is_known_about_its_partition() -> None:
    rows = join_offsets(
        "orders",
        members=[_member("m", t=(0,))],
        committed=[("t", CommitTuple([(0, 5, 3, "by hand")]))],
        ends={"t": {0: 12}},
        starts={"t": {0: 2}},
    )
    assert rows == [
        OffsetRow(
            group="orders",
            topic="t",
            partition=0,
            leader_epoch=3,
            committed_offset=5,
            log_end_offset=12,
            lag=7,
            member_id="m",
            host="/m",
            client_id="client-m",
            log_start_offset=2,
            metadata="by hand",
        )
    ]


def test_an_owned_partition_without_a_commit_has_a_log_end_offset_and_no_lag() -> None:
    row = _join({}, _member("m", t=(0,)), ends={"t": {0: 12}})[0]
    assert (row.committed_offset, row.log_end_offset, row.lag) == (None, 12, None)
    assert (row.leader_epoch, row.metadata) == (None, None)


def test_a_partition_with_an_unknown_log_end_offset_has_no_lag() -> None:
    rows = _join({("t", 0): 5, ("u", 0): 6}, ends={"t": {1: 9}})
    assert [(row.committed_offset, row.log_end_offset, row.lag) for row in rows] == [(5, None, None), (6, None, None)]


def test_a_commit_above_the_log_end_offset_has_a_negative_lag() -> None:
    assert _join({("t", 0): 15}, ends={"t": {0: 12}})[0].lag == -3


def test_a_committed_offset_of_0_is_a_commit() -> None:
    row = _join({("t", 0): 0}, ends={"t": {0: 0}})[0]
    assert (row.committed_offset, row.log_end_offset, row.lag) == (0, 0, 0)


def test_a_requested_partition_without_a_commit_is_a_row_without_one() -> None:
    row = _join({("t", 0): None}, ends={"t": {0: 12}}, starts={"t": {0: 3}})[0]
    assert (row.committed_offset, row.log_end_offset, row.log_start_offset, row.lag) == (None, 12, 3, None)


def test_two_members_with_the_same_partition_have_a_row_each() -> None:
    rows = _join({("t", 0): 5}, _member("a", t=(0,)), _member("b", t=(0,)))
    assert _keys(rows) == [("a", "t", 0), ("b", "t", 0)]


def test_members_without_partitions_have_no_rows() -> None:
    assert _keys(_join({("t", 0): 5}, _member("idle"))) == [(None, "t", 0)]


def test_without_commits_and_members_there_is_no_row() -> None:
    assert _join({}) == []
