"""The totals and time lags of share groups, whose lag is not the distance from an offset to the log end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import IsolationLevel
from kafka_groups.admin.api import RecordPosition, RecordTime
from kafka_groups.groups.lag.columns import columns_of
from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.summary import summarize_lag
from kafka_groups.groups.lag.time_lag import LagPosition, TimeLag, judge_time_lag, read_time_lags, time_lag_of
from kafka_groups.groups.lag.totals import LagTotals, total_lag
from kafka_groups.model import GroupDescription, OffsetRow
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

NOW_MS = 1_000_000


def row(start: int | None, lag: int | None, *, log_start: int = 0, end: int = 100, topic: str = "t") -> OffsetRow:
    """Return a partition of a share group."""
    return OffsetRow("g", topic, 0, 0, start, end, lag, None, None, None, log_start, None)


def total_of(*rows: OffsetRow) -> LagTotals:
    return total_lag(columns_of(rows), has_commits=False)


def summarize(*rows: OffsetRow, group_type: str = "Share", protocol_type: str = "share") -> LagRow:
    """Return the total of a group with lag that was measured to the last stable offset."""
    group = GroupDescription("g", group_type, "Stable", protocol_type, None)
    return summarize_lag(group, rows, LagKey.GROUP, IsolationLevel.READ_COMMITTED).total


@pytest.mark.parametrize("end", [10, 5])
def test_a_last_stable_offset_at_the_log_start_has_no_share_of_the_log(end: int) -> None:
    totals = total_of(row(10, 50, log_start=10, end=end), row(40, 10, topic="u"))
    assert (totals.lag, totals.margin, totals.share) == (60, 0, 0.4)


def test_the_lag_of_a_share_group_is_to_the_log_end_with_any_isolation() -> None:
    assert summarize(row(10, 50)).isolation == "uncommitted"
    assert summarize(row(10, 90), group_type="Classic", protocol_type="consumer").isolation == "committed"


def test_delivered_records_below_the_log_start_are_not_lost() -> None:
    totals = total_of(row(0, 10, log_start=50), row(0, 70, log_start=5, topic="u"))
    assert (totals.lag, totals.lost) == (80, 15)


def test_nobody_knows_what_was_lost_of_an_unknown_lag() -> None:
    assert total_of(row(0, None, log_start=50)).lost is None
    assert total_of(row(50, None, log_start=50)).lost == 0
    assert total_of(row(0, None, log_start=50), row(0, 10, log_start=5, topic="u")).lost == 5


def test_partitions_behind_are_unknown_only_if_every_lag_is() -> None:
    assert summarize(row(40, None), row(40, None, topic="u")).partitions_behind is None
    assert summarize(row(40, None), row(40, 3, topic="u")).partitions_behind == 1
    assert summarize().partitions_behind == 0


def test_groups_with_one_offset_and_different_lags_have_their_own_time_lags(mocker: MockerFixture) -> None:
    mocker.patch("time.time_ns", return_value=NOW_MS * 1_000_000)
    cluster = FakeCluster(mocker)
    cluster.records = {RecordPosition("t", 0, 40): RecordTime(40, NOW_MS - 70)}
    rows = [row(40, 60), row(40, 0), row(40, None)]
    for order in (rows, rows[::-1]):
        read = read_time_lags(cluster.admin, order, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        lags = [time_lag_of([each], read.time_lags) for each in rows]
        assert lags == [TimeLag(70, "exact"), TimeLag(0, "exact"), TimeLag(None, "unknown")]


def test_a_partition_without_a_start_offset_makes_the_time_lag_unknown() -> None:
    assert time_lag_of([row(None, None)], {}, has_commits=False) == TimeLag(None, "unknown")
    known = row(100, 0, topic="u")
    read = {LagPosition("u", 0, 100, 0): TimeLag(0, "exact")}
    assert time_lag_of([known, row(None, None)], read, has_commits=False) == TimeLag(None, "unknown")
    assert time_lag_of([known, row(None, None)], read) == TimeLag(0, "exact")


def test_a_lag_above_the_last_stable_offset_is_no_lost_data() -> None:
    assert judge_time_lag(row(10, 50, end=10), {}, NOW_MS) == TimeLag(None, "unknown")
    assert judge_time_lag(row(10, 50, log_start=20, end=20), {}, NOW_MS) == TimeLag(0, "data_loss")
