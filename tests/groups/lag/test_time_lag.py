"""Time lag: the quality of each value, that of several partitions together, and which records are read."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import IsolationLevel
from kafka_groups.admin.api import RecordPosition, RecordTime
from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.measurement import read_lag
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.lag.time_lag import (
    LagPosition,
    TimeLag,
    judge_time_lag,
    read_time_lags,
    time_lag_of,
    worst_time_lag,
)
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import OffsetRow, TopicPartition
from tests.fakes.fake_admin import FakeCluster, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NOW_MS = 1_000_000
EXACT, GAP = TimeLag(7, "exact"), TimeLag(9, "compacted")
EVERY_KIND = (
    TimeLag(0, "exact"),
    TimeLag(9, "exact"),
    TimeLag(0, "compacted", ("caught_up",)),
    TimeLag(9, "compacted"),
    TimeLag(0, "data_loss"),
    TimeLag(0, "lower_bound", ("open_transaction", "caught_up")),
    TimeLag(0, "lower_bound", ("future_timestamp",)),
    TimeLag(None, "unknown", ("no_timestamp",)),
)


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    return FakeCluster(mocker)


def row(committed: int | None, end: int | None, *, start: int | None = 0, topic: str = "t") -> OffsetRow:
    """Return partition 0 of a topic."""
    lag = None if committed is None or end is None else end - committed
    return OffsetRow("g", topic, 0, None, committed, end, lag, None, None, None, start, "")


def judge(of: OffsetRow, record: RecordTime | None) -> TimeLag:
    """Return the time lag of a partition whose first record that is left is this one."""
    assert of.committed_offset is not None
    return judge_time_lag(of, {RecordPosition(of.topic, of.partition, of.committed_offset): record}, NOW_MS)


def test_the_age_of_the_record_at_the_commit_is_exact() -> None:
    assert judge(row(5, 9), RecordTime(5, NOW_MS - 70)) == TimeLag(70, "exact")


def test_a_partition_without_lag_has_none() -> None:
    assert judge_time_lag(row(9, 9), {}, NOW_MS) == TimeLag(0, "exact")


def test_a_commit_above_the_log_end_has_no_age() -> None:
    assert judge_time_lag(row(12, 9), {}, NOW_MS) == TimeLag(None, "unknown")


def test_the_age_of_the_first_record_after_a_gap_is_called_compacted() -> None:
    assert judge(row(5, 9), RecordTime(7, NOW_MS - 70)) == TimeLag(70, "compacted")


@pytest.mark.parametrize(("record", "ms"), [(RecordTime(7, NOW_MS - 70), 70), (None, 0)])
def test_a_gap_may_be_lost_records_if_the_log_start_is_unknown(record: RecordTime | None, ms: int) -> None:
    assert judge(row(5, 9, start=None), record) == TimeLag(ms, "lower_bound")


def test_the_age_of_the_record_at_the_commit_is_exact_also_if_the_log_start_is_unknown() -> None:
    assert judge(row(5, 9, start=None), RecordTime(5, NOW_MS - 70)) == TimeLag(70, "exact")


@pytest.mark.parametrize("record", [None, RecordTime(9, NOW_MS - 1)])
def test_a_group_has_caught_up_where_no_record_follows_before_the_log_end(record: RecordTime | None) -> None:
    assert judge(row(5, 9), record) == TimeLag(0, "compacted", ("caught_up",))


def test_a_commit_below_the_log_start_makes_the_age_of_the_next_record_a_lower_bound() -> None:
    assert judge(row(5, 20, start=11), RecordTime(11, NOW_MS - 70)) == TimeLag(70, "data_loss")
    assert judge(row(5, 20, start=11), None) == TimeLag(0, "data_loss")


def test_an_empty_log_below_which_records_were_deleted_is_lost_data() -> None:
    assert judge_time_lag(row(5, 20, start=20), {}, NOW_MS) == TimeLag(0, "data_loss")


def test_an_unknown_log_end_and_a_record_that_was_not_read_are_unknown() -> None:
    assert judge_time_lag(row(5, None), {}, NOW_MS) == TimeLag(None, "unknown")
    assert judge_time_lag(row(5, 9), {}, NOW_MS) == TimeLag(None, "unknown")


@pytest.mark.parametrize("start", [0, 6])
def test_a_record_without_a_timestamp_has_no_age(start: int) -> None:
    assert judge(row(5, 9, start=start), RecordTime(6, None)) == TimeLag(None, "unknown", ("no_timestamp",))


def test_a_record_of_the_future_is_at_least_as_old_as_now() -> None:
    assert judge(row(5, 9), RecordTime(5, NOW_MS + 1)) == TimeLag(0, "lower_bound", ("future_timestamp",))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], TimeLag(None, "unknown")),
        ([TimeLag(0, "exact")], TimeLag(0, "exact")),
        ([EXACT, GAP], TimeLag(9, "compacted")),
        ([EXACT, TimeLag(3, "compacted")], TimeLag(7, "exact")),
        ([EXACT, TimeLag(0, "lower_bound", ("open_transaction",))], TimeLag(7, "lower_bound", ("open_transaction",))),
        ([EXACT, TimeLag(None, "unknown")], TimeLag(7, "lower_bound")),
        (
            [TimeLag(0, "exact"), TimeLag(None, "unknown", ("no_timestamp",))],
            TimeLag(None, "unknown", ("no_timestamp",)),
        ),
        ([EXACT, TimeLag(3, "data_loss")], TimeLag(7, "data_loss")),
        ([TimeLag(3, "data_loss"), TimeLag(None, "unknown")], TimeLag(3, "data_loss")),
    ],
)
def test_several_partitions_have_the_largest_time_lag_and_the_worst_quality_that_matters(
    parts: list[TimeLag], expected: TimeLag
) -> None:
    assert worst_time_lag(parts) == expected
    assert worst_time_lag(reversed(parts)) == expected


@pytest.mark.parametrize("parts", list(combinations_with_replacement(EVERY_KIND, 3)))
def test_the_order_of_partitions_changes_nothing(parts: tuple[TimeLag, ...]) -> None:
    assert len({worst_time_lag(order) for order in permutations(parts)}) == 1


def test_a_marker_and_a_partition_that_is_up_to_date_are_compacted_in_any_order() -> None:
    expected = TimeLag(0, "compacted", ("caught_up",))
    for rows in permutations([row(8, 9, topic="t"), row(9, 9, topic="u")]):
        time_lags = {
            LagPosition("t", 0, 8, 1): TimeLag(0, "compacted", ("caught_up",)),
            LagPosition("u", 0, 9, 0): TimeLag(0, "exact"),
        }
        assert time_lag_of(rows, time_lags) == expected


def test_each_record_is_read_once_from_where_records_are_left(cluster: FakeCluster) -> None:
    lost, shared = row(5, 20, start=11), row(5, 9, topic="u")
    caught_up, uncommitted, no_end = row(9, 9, topic="v"), row(None, 9, topic="w"), row(5, None, topic="x")
    rows = [lost, shared, shared._replace(group="h"), caught_up, uncommitted, no_end]
    read_time_lags(cluster.admin, rows, isolation_level=IsolationLevel.READ_UNCOMMITTED)
    assert cluster.record_requests == [
        ([RecordPosition("t", 0, 11), RecordPosition("u", 0, 5)], IsolationLevel.READ_UNCOMMITTED)
    ]


def read(cluster: FakeCluster, by: LagKey = LagKey.GROUP, *, committed: bool = False) -> LagReading:
    """Read the lag of group `g` with time."""
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return read_lag(cluster.admin, Selectors(named=("g",)), by=by, isolation_level=level, with_time=True)


def summarize(rows: tuple[LagRow, ...]) -> list[tuple[str | None, int | None, int | None, str | None, str | None]]:
    return [(r.topic, r.partition, r.time_lag_ms, r.time_lag_quality, ",".join(r.note) or None) for r in rows]


def test_totals_and_parts_have_the_time_lag_of_their_partitions(cluster: FakeCluster, mocker: MockerFixture) -> None:
    mocker.patch("time.time_ns", return_value=NOW_MS * 1_000_000)
    cluster.end("t", 9, 9, starts=(0, 7))
    cluster.end("u", 9, starts=(0,))
    cluster.add("g", members=[member("m", {"t": (0,), "v": (3,)})], commits={("t", 0): 5, ("t", 1): 5, ("u", 0): 9})
    cluster.records = {
        RecordPosition("t", 0, 5): RecordTime(5, NOW_MS - 70),
        RecordPosition("t", 1, 7): RecordTime(7, NOW_MS - 20),
    }
    assert summarize((read(cluster).groups[0].total,)) == [(None, None, 70, "data_loss", "data_loss,incomplete")]
    by_partition = read(cluster, LagKey.PARTITION).groups[0].rows
    assert summarize(by_partition) == [
        ("t", 0, 70, "exact", None),
        ("t", 1, 20, "data_loss", "data_loss"),
        ("u", 0, 0, "exact", None),
        ("v", 3, None, "unknown", "incomplete"),
    ]
    by_topic = {found.topic: found.time_lag_quality for found in read(cluster, LagKey.TOPIC).groups[0].rows}
    assert by_topic == {"t": "data_loss", "u": "exact", "v": "unknown"}
    by_member = {found.member_id: found.time_lag_ms for found in read(cluster, LagKey.MEMBER).groups[0].rows}
    assert by_member == {"m": 70, None: 20}


def test_a_record_that_cannot_be_read_is_a_failure_of_its_partition_alone(
    cluster: FakeCluster, mocker: MockerFixture
) -> None:
    mocker.patch("time.time_ns", return_value=NOW_MS * 1_000_000)
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.add("g", commits={("t", 0): 5, ("t", 1): 5})
    cluster.records = {RecordPosition("t", 0, 5): RecordTime(5, NOW_MS - 70)}
    found = read(cluster)
    assert summarize((found.groups[0].total,)) == [(None, None, 70, "lower_bound", None)]
    assert [(failed.topic, failed.partition, failed.name) for failed in found.failures] == [("t", 1, "TIMEOUT")]


def test_an_open_transaction_makes_a_finished_partition_a_lower_bound(cluster: FakeCluster) -> None:
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.stable_ends = {TopicPartition("t", 0): 5}
    cluster.add("g", commits={("t", 0): 5, ("t", 1): 9})
    found = read(cluster, LagKey.PARTITION, committed=True).groups[0]
    assert summarize(found.rows) == [
        ("t", 0, 0, "lower_bound", "open_transaction"),
        ("t", 1, 0, "exact", None),
    ]
    assert summarize((found.total,)) == [(None, None, 0, "lower_bound", "open_transaction")]


def test_a_commit_above_the_log_end_is_unknown_also_beside_an_open_transaction(cluster: FakeCluster) -> None:
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.stable_ends = {TopicPartition("t", 0): 5, TopicPartition("t", 1): 5}
    cluster.add("g", commits={("t", 0): 7, ("t", 1): 12})
    assert summarize(read(cluster, LagKey.PARTITION, committed=True).groups[0].rows) == [
        ("t", 0, 0, "lower_bound", "beyond_end,open_transaction"),
        ("t", 1, None, "unknown", "beyond_end"),
    ]


def test_a_group_with_a_commit_above_the_log_end_has_not_caught_up(cluster: FakeCluster) -> None:
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.add("g", commits={("t", 0): 8, ("t", 1): 5000})
    cluster.records = {RecordPosition("t", 0, 8): None}
    assert summarize((read(cluster).groups[0].total,)) == [(None, None, None, "unknown", "beyond_end")]


def test_markers_behind_every_commit_that_lags_are_a_group_that_has_caught_up(cluster: FakeCluster) -> None:
    cluster.end("t", 9, 9, 9, starts=(0, 0, 0))
    cluster.add("g", commits={("t", 0): 8, ("t", 1): 5, ("t", 2): 9})
    cluster.records = {RecordPosition("t", 0, 8): None, RecordPosition("t", 1, 5): None}
    assert summarize((read(cluster).groups[0].total,)) == [(None, None, 0, "compacted", "caught_up")]
    notes = {found.partition: found.note for found in read(cluster, LagKey.PARTITION).groups[0].rows}
    assert notes == {0: ("caught_up",), 1: ("caught_up",), 2: ()}


@pytest.mark.parametrize("other", [RecordTime(5, NOW_MS - 70), RecordTime(7, NOW_MS - 70), RecordTime(5, None)])
def test_one_partition_with_a_record_is_enough_to_have_not_caught_up(cluster: FakeCluster, other: RecordTime) -> None:
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.add("g", commits={("t", 0): 8, ("t", 1): 5})
    cluster.records = {RecordPosition("t", 0, 8): None, RecordPosition("t", 1, 5): other}
    assert "caught_up" not in read(cluster).groups[0].total.note


def test_a_partition_whose_end_or_record_is_unknown_has_not_caught_up(cluster: FakeCluster) -> None:
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.add("g", commits={("t", 0): 8, ("gone", 0): 5})
    cluster.records = {RecordPosition("t", 0, 8): None}
    assert read(cluster).groups[0].total.note == ("incomplete",)
    cluster.add("g", commits={("t", 0): 8, ("t", 1): 5})
    assert read(cluster).groups[0].total.note == ()


def test_a_group_that_has_lost_messages_has_not_caught_up(cluster: FakeCluster) -> None:
    cluster.end("t", 20, starts=(11,))
    cluster.add("g", commits={("t", 0): 5})
    cluster.records = {RecordPosition("t", 0, 11): None}
    assert summarize((read(cluster).groups[0].total,)) == [(None, None, 0, "data_loss", "data_loss")]


def test_aborted_records_up_to_the_last_stable_offset_are_nothing_to_read(cluster: FakeCluster) -> None:
    cluster.end("t", 9, 9, starts=(0, 0))
    cluster.stable_ends = {TopicPartition("t", 0): 7}
    cluster.add("g", commits={("t", 0): 5, ("t", 1): 5})
    cluster.records = {RecordPosition("t", 0, 5): None, RecordPosition("t", 1, 5): None}
    found = read(cluster, LagKey.PARTITION, committed=True).groups[0]
    assert {each.partition: (each.time_lag_quality, each.note) for each in found.rows} == {
        0: ("lower_bound", ("open_transaction", "caught_up")),
        1: ("compacted", ("caught_up",)),
    }
    assert found.total.note == ("open_transaction", "caught_up")


def test_without_time_no_record_is_read(cluster: FakeCluster) -> None:
    cluster.end("t", 9, starts=(0,))
    cluster.add("g", commits={("t", 0): 5})
    (group,) = read_lag(cluster.admin, Selectors(named=("g",))).groups
    assert (group.total.time_lag_ms, group.total.time_lag_quality) == (None, None)
    assert cluster.record_requests == []
