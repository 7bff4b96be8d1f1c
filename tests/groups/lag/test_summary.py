"""The totals of lag: by group, topic, member and partition; retention; what is unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.rows import lag_of
from kafka_groups.groups.lag.summary import summarize_lag
from kafka_groups.model import GroupDescription, OffsetRow
from tests.fakes.fake_admin import member

GROUP = GroupDescription("g", "Classic", "Stable", "consumer", None, members=(member("m"),))


def row(
    topic: str,
    partition: int,
    committed: int | None,
    end: int | None,
    *,
    start: int | None = 0,
    owner: str | None = None,
) -> OffsetRow:
    """Return a partition of group `g`."""
    lag = None if committed is None or end is None else end - committed
    return OffsetRow("g", topic, partition, None, committed, end, lag, owner, owner and "/h", owner, start, "")


def parts(by: LagKey, *rows: OffsetRow) -> tuple[LagRow, ...]:
    """Return the parts of a stable group with one member."""
    return summarize_lag(GROUP, rows, by).rows


def total(*rows: OffsetRow) -> LagRow:
    """Return the row of the group."""
    return summarize_lag(GROUP, rows, LagKey.GROUP).total


def test_the_total_sums_the_lag_of_all_partitions() -> None:
    found = total(row("t", 0, 5, 9), row("t", 1, 9, 9), row("u", 0, None, 7))
    assert (found.group, found.state, found.members) == ("g", "Stable", 1)
    assert (found.lag, found.partitions_behind, found.uncommitted_partitions) == (4, 1, 1)
    assert found.note == ()


def test_a_commit_beyond_the_log_end_counts_as_no_lag_and_is_noted() -> None:
    found = total(row("t", 0, 5, 9), row("t", 1, 12, 9))
    assert (found.lag, found.partitions_behind, found.note) == (4, 1, ("beyond_end",))


def test_a_commit_below_the_log_start_is_lost_data() -> None:
    found = total(row("t", 0, 5, 109, start=9), row("t", 1, 50, 100, start=10))
    assert (found.messages_lost, found.retention_margin, found.retention_margin_percent) == (4, 0, 0.0)
    assert found.note == ("data_loss",)


def test_the_retention_margin_is_that_of_the_partition_that_is_nearest_to_its_log_start() -> None:
    found = total(row("t", 0, 60, 100, start=50), row("t", 1, 90, 1090, start=10))
    assert (found.messages_lost, found.retention_margin, found.retention_margin_percent) == (0, 10, 7.4)


def test_a_group_without_a_known_lag_has_none() -> None:
    found = total(row("t", 0, 5, None, start=None), row("t", 1, None, 9))
    assert (found.lag, found.partitions_behind, found.note) == (None, 0, ("incomplete",))
    assert (found.messages_lost, found.retention_margin, found.retention_margin_percent) == (None, None, None)


def test_topics_are_summed_and_the_one_that_is_furthest_behind_comes_first() -> None:
    rows = parts(LagKey.TOPIC, row("t", 0, 5, 9), row("t", 1, 5, 6), row("u", 0, 0, 7))
    assert [(each.topic, each.lag, each.partitions_behind) for each in rows] == [("u", 7, 1), ("t", 5, 2)]


def test_members_are_summed_and_partitions_without_a_member_are_a_row() -> None:
    rows = parts(LagKey.MEMBER, row("t", 0, 5, 9, owner="m"), row("t", 1, 5, 6), row("u", 0, 0, 7))
    assert [(each.member_id, each.host, each.lag) for each in rows] == [(None, None, 8), ("m", "/h", 4)]


def test_a_partition_has_its_own_offsets_and_its_lag_as_it_is() -> None:
    rows = parts(LagKey.PARTITION, row("t", 0, 12, 9, owner="m"), row("t", 1, None, 9))
    assert [(each.partition, each.committed_offset, each.log_end_offset, each.lag) for each in rows] == [
        (0, 12, 9, -3),
        (1, None, 9, None),
    ]
    assert [each.note for each in rows] == [("beyond_end",), ()]


def test_messages_that_were_deleted_can_be_read_no_more() -> None:
    emptied, cut = row("t", 0, 10, 100, start=100), row("t", 1, 10, 100, start=40)
    assert [each.readable_lag for each in (total(emptied), total(cut), total(emptied, cut))] == [0, 60, 60]
    assert (total(emptied).lag, total(emptied).messages_lost) == (90, 90)


def test_the_readable_lag_is_the_lag_where_the_log_start_is_unknown_and_nothing_above_the_log_end() -> None:
    assert total(row("t", 0, 10, 100, start=None)).readable_lag == 90
    assert total(row("t", 0, 120, 100)).readable_lag == 0
    assert total(row("t", 0, None, 100), row("t", 1, 5, None)).readable_lag is None


@pytest.mark.parametrize("by", [LagKey.GROUP, LagKey.TOPIC, LagKey.MEMBER])
def test_partitions_that_can_lose_nothing_have_no_margin(by: LagKey) -> None:
    big = row("t", 0, 1500, 3000)
    others = (row("t", 1, 5, 5, start=5), row("t", 2, 10, 100, start=100), row("t", 3, 9, 4), row("t", 4, 9, None))
    summary = summarize_lag(GROUP, [big, *others], by)
    (found,) = summary.rows or (summary.total,)
    assert (found.retention_margin, found.retention_margin_percent) == (1500, 50.0)
    assert (found.messages_lost, found.lag) == (90, 1590)


def test_a_group_that_can_lose_nothing_has_no_margin_and_its_losses() -> None:
    found = total(row("t", 0, 5, 5, start=5), row("t", 1, 10, 100, start=100))
    assert (found.messages_lost, found.retention_margin, found.retention_margin_percent) == (90, None, None)


OFFSETS = st.none() | st.integers(0, 20)


@given(
    partitions=st.lists(st.tuples(OFFSETS, OFFSETS, OFFSETS, OFFSETS), max_size=4),
    kind=st.sampled_from(["Classic", "Share"]),
)
def test_the_row_of_a_partition_is_the_total_of_a_group_with_that_one(
    partitions: list[tuple[int | None, int | None, int | None, int | None]], kind: str
) -> None:
    group = GROUP._replace(type=kind)
    rows = [
        OffsetRow(
            "g", "t", number, None, committed, end, share_lag if kind == "Share" else None, "m", "/h", "c", start, ""
        )
        for number, (committed, end, start, share_lag) in enumerate(partitions)
    ]
    rows = [
        each if kind == "Share" else each._replace(lag=lag_of(each.committed_offset, each.log_end_offset))
        for each in rows
    ]
    found = {each.partition: each for each in summarize_lag(group, rows, LagKey.PARTITION).rows}
    assert {*found} == {each.partition for each in rows}
    for each in rows:
        alone = summarize_lag(group, [each], LagKey.GROUP).total
        own = {name: getattr(each, name) for name in OffsetRow._fields if name in LagRow._fields}
        assert found[each.partition] == alone._replace(**own)
