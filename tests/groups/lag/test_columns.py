"""The partitions of a group as columns: those of its rows, and the totals of them."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.commits import CommitTuple
from kafka_groups.groups.descriptions import DescribedGroups
from kafka_groups.groups.lag.columns import PartitionColumns, columns_of, offset_columns
from kafka_groups.groups.lag.rows import distinct_partitions, offset_rows
from kafka_groups.groups.lag.totals import total_lag, total_lag_of
from kafka_groups.groups.topic_scope import TopicScope
from kafka_groups.model import Assignment, Failure, GroupDescription, GroupOffsets, Member, OffsetRow, TopicPartition

TOPICS = st.sampled_from(["t", "u", "v"])
NUMBERS = st.integers(0, 3)
NUMBER_SETS = st.frozensets(NUMBERS)
OFFSET = st.integers(0, 20)
OFFSETS = st.none() | OFFSET
LOGS = st.dictionaries(TOPICS, st.dictionaries(NUMBERS, OFFSET))
# Most groups have lost nothing, and everything is known of them.
VALUES = st.one_of(
    st.lists(st.tuples(st.integers(5, 9), st.integers(9, 12), st.integers(0, 5)), max_size=4),
    st.lists(st.tuples(OFFSETS, OFFSETS, OFFSETS), max_size=4),
)


@st.composite
def commits_of_topics(draw: st.DrawFn) -> tuple[tuple[str, CommitTuple], ...]:
    """Draw the topics of a response; one may be there twice."""
    found = []
    for topic in draw(st.lists(TOPICS, max_size=4)):
        offsets = draw(st.dictionaries(NUMBERS, OFFSETS))
        found.append((topic, CommitTuple((number, offsets[number], None, "") for number in sorted(offsets))))
    return tuple(found)


def _member(rank: int, assignment: Mapping[str, frozenset[int]] | None) -> Member:
    topics = None if assignment is None else tuple(Assignment(topic, (*found,)) for topic, found in assignment.items())
    return Member(f"m{rank}", None, "c", "/h", topics)


@st.composite
def described_groups(draw: st.DrawFn) -> DescribedGroups:
    """Draw a group `g` with what a description reads of it."""
    assignments = draw(st.lists(st.none() | st.dictionaries(TOPICS, NUMBER_SETS), max_size=3))
    members = tuple(_member(rank, each) for rank, each in enumerate(assignments))
    refused = draw(st.frozensets(st.tuples(TOPICS, NUMBERS), max_size=2))
    offsets = GroupOffsets(
        draw(commits_of_topics()),
        {TopicPartition(*key): Failure(29, "TOPIC_AUTHORIZATION_FAILED", "refused") for key in refused},
        lags=draw(st.none() | st.dictionaries(st.builds(TopicPartition, TOPICS, NUMBERS), OFFSET)),
    )
    named = draw(st.none() | st.dictionaries(TOPICS, NUMBER_SETS))
    return DescribedGroups(
        descriptions={"g": GroupDescription("g", None, "Stable", "consumer", None, members=members)},
        offsets={} if draw(st.integers(0, 9)) == 0 else {"g": offsets},
        log_end_offsets=draw(LOGS),
        log_start_offsets=draw(LOGS),
        failures=(),
        notes=(),
        partitions=draw(st.dictionaries(TOPICS, NUMBER_SETS)),
        scope=None if named is None else TopicScope(named),
    )


def by_partition(columns: PartitionColumns) -> Mapping[tuple[str, int], tuple[int | None, ...]]:
    """Return the values of each partition; each is there once."""
    values = zip(
        *(columns.committed_offset, columns.log_end_offset, columns.lag, columns.log_start_offset), strict=True
    )
    found = dict(zip(zip(columns.topic, columns.partition, strict=True), values, strict=True))
    assert len(found) == len(columns.partition)
    return found


@given(described_groups())
def test_the_columns_of_any_group_have_its_distinct_rows(described: DescribedGroups) -> None:
    rows = distinct_partitions(offset_rows(described, "g"))
    assert by_partition(offset_columns(described, "g")) == by_partition(columns_of(rows))


def row(partition: int, committed: int | None, end: int | None, start: int | None) -> OffsetRow:
    lag = None if committed is None or end is None else end - committed
    return OffsetRow("g", "t", partition, None, committed, end, lag, None, None, None, start, "")


@given(VALUES)
def test_the_totals_of_partitions_are_those_of_each_of_them(values: list[tuple[int | None, ...]]) -> None:
    rows = [row(number, *each) for number, each in enumerate(values)]
    total = total_lag(columns_of(rows))
    each = [total_lag_of(row) for row in rows]
    known = [one.lag for one in each if one.lag is not None]
    assert total.lag == (sum(known) if known else None)
    assert total.behind == sum(one.behind or 0 for one in each)
    assert total.uncommitted == sum(one.uncommitted for one in each)
    assert total.is_beyond_end == any(one.is_beyond_end for one in each)
    assert total.is_incomplete == any(one.is_incomplete for one in each)
    assert (total.lost or 0) == sum(one.lost or 0 for one in each)
    if not total.is_incomplete:
        assert total.readable_lag == (sum(one.readable_lag or 0 for one in each) if known else None)
        assert total.margin == min((one.margin for one in each if one.margin is not None), default=None)
        assert total.share == min((one.share for one in each if one.share is not None), default=None)


@given(VALUES)
def test_a_partition_without_a_commit_changes_no_total_but_their_number(
    values: list[tuple[int | None, ...]],
) -> None:
    rows = [row(number, *each) for number, each in enumerate(values)]
    total = total_lag(columns_of(rows))
    other = total_lag(columns_of([*rows, row(len(rows), None, 5, 0)]))
    assert other == total._replace(uncommitted=total.uncommitted + 1)


def test_a_refused_partition_is_not_one_without_a_commit() -> None:
    refused = {TopicPartition("t", 1): Failure(29, "TOPIC_AUTHORIZATION_FAILED", "refused")}
    described = DescribedGroups(
        descriptions={"g": GroupDescription("g", None, "Empty", "consumer", None)},
        offsets={"g": GroupOffsets([("t", CommitTuple([(0, 5, None, "")]))], refused)},
        log_end_offsets={},
        log_start_offsets={},
        failures=(),
        notes=(),
        partitions={"t": frozenset({0, 1, 2})},
    )
    assert {*offset_columns(described, "g").partition} == {0, 2}
