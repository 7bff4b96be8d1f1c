"""The lag of share groups in the derived tables, from what samples saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest

from kafka_groups.groups.lag.start_offsets import judge_start_offsets
from kafka_groups.model import OffsetRow
from kafka_groups.pipeline.tables import GROUP_DAILY
from kafka_groups.verdicts import Limits
from tests.pipeline.build.builds import build_here, built, read, seconds_after_noon
from tests.pipeline.fact_rows import Row, at, commit, ends, event, put_all

MINUTE: Final = 60
DAY: Final = 86_400


def share(seconds: float, start: int | None, lag: int | None, **others: Any) -> Row:
    row = {"cluster_id": "c", "group": "s", "topic": "t", "partition": 0, "observed_at": at(seconds)}
    return row | {"start_offset": start, "leader_epoch": 0, "lag": lag} | others


def history(directory: Path, shares: list[Row], log_ends: list[Row], **others: list[Row]) -> list[Row]:
    """Return the rows of lag_history, with times as seconds after noon."""
    storage = built(directory, {"share_offsets": shares, "partition_offsets": log_ends, **others})
    times = ("observed_at", "verdict_since", "commit_time")
    return [row | {name: seconds_after_noon(row[name]) for name in times} for row in read(storage, "lag_history")]


def test_a_share_group_has_the_lag_that_its_coordinator_computes(tmp_path: Path) -> None:
    (row,) = history(tmp_path, [share(0, 5, 3)], [ends(0, 12, start=2)])
    names = ("group", "committed_offset", "log_end_offset", "lag", "retention_margin", "verdict", "rule", "origin")
    assert tuple(row[name] for name in names) == ("s", 5, 12, 3, 3, "UNKNOWN", "out_of_order", "sample")
    assert (row["time_lag_ms"], row["time_lag_quality"], row["consume_rate"]) == (None, "unknown", None)
    assert (row["commit_time"], row["commit_origin"]) == (0, "sample")


def test_an_unknown_lag_and_an_unknown_log_end_have_no_row(tmp_path: Path) -> None:
    rows = history(
        tmp_path,
        [share(0, None, None), share(60, 5, 3), share(120, None, 4), share(120, 1, 1, partition=1)],
        [ends(0, 12), ends(60, None), ends(120, 20)],
    )
    assert [(row["observed_at"], row["committed_offset"], row["lag"]) for row in rows] == [(120, None, 4)]
    assert rows[0]["retention_margin"] is None


def test_a_share_group_without_lag_is_ok_and_has_been_since_it_had_none(tmp_path: Path) -> None:
    lags = (4, 0, 0, 2, 2)
    shares = [share(number * MINUTE, 5, lag) for number, lag in enumerate(lags)]
    rows = history(tmp_path, shares, [ends(number * MINUTE, 12) for number in range(5)])
    assert [(row["rule"], row["verdict_since"]) for row in rows] == [
        ("out_of_order", 0),
        ("no_lag", 60),
        ("no_lag", 60),
        ("out_of_order", 180),
        ("out_of_order", 180),
    ]


def test_a_row_that_was_read_twice_counts_once(tmp_path: Path) -> None:
    assert len(history(tmp_path, [share(0, 5, 3), share(0, 5, 3)], [ends(0, 12)])) == 1


@pytest.mark.parametrize("builds", [1, 2])
def test_a_verdict_lasts_over_midnight(tmp_path: Path, builds: int) -> None:
    times = [DAY / 2 - 5 * MINUTE, DAY / 2 - MINUTE, DAY / 2 + MINUTE]
    first = [share(seconds, 5, 3) for seconds in times[:2]]
    last = [share(times[2], 5, 3)]
    log_ends = [ends(seconds, 12) for seconds in times]
    if builds == 1:
        rows = history(tmp_path, [*first, *last], log_ends)
    else:
        storage = built(tmp_path, {"share_offsets": first, "partition_offsets": log_ends[:2]})
        put_all(storage, "later", {"share_offsets": last, "partition_offsets": log_ends[2:]})
        build_here(storage)
        rows = [
            row | {"verdict_since": seconds_after_noon(row["verdict_since"])} for row in read(storage, "lag_history")
        ]
    assert [row["verdict_since"] for row in rows] == [times[0]] * 3


def test_a_group_has_the_sum_of_its_lags_and_its_members(tmp_path: Path) -> None:
    shares = [share(10, 5, 3), share(10, 0, 4, partition=1)]
    seen = event(0, "group_epoch", "ShareGroupMetadata", source=2, group="s", epoch=2)
    joined = event(0, "member_metadata", "ShareGroupMemberMetadata", source=1, group="s", member_id="m")
    facts = {"share_offsets": shares, "partition_offsets": [ends(10, 12), ends(10, 9, partition=1)]}
    storage = built(tmp_path, {**facts, "group_events": [joined, seen]})
    (status,) = read(storage, "group_status")
    names = ("group", "lag", "partitions", "verdict", "member_count", "time_lag_ms", "consume_rate")
    assert tuple(status[name] for name in names) == ("s", 7, 2, "UNKNOWN", 1, None, None)


def test_a_partition_of_a_share_group_and_of_another_group_do_not_mix(tmp_path: Path) -> None:
    rows = history(tmp_path, [share(60, 5, 3)], [ends(0, 12), ends(60, 14)], offset_commits=[commit(0, 10, source=1)])
    assert sorted((row["group"], row["observed_at"], row["lag"]) for row in rows) == [
        ("g", 0, 2),
        ("g", 60, 4),
        ("s", 60, 3),
    ]


@pytest.mark.parametrize("start", [None, 0, 2, 5])
@pytest.mark.parametrize("lag", [0, 3])
def test_a_share_group_has_the_verdict_that_polls_give(tmp_path: Path, start: int | None, lag: int) -> None:
    (row,) = history(tmp_path, [share(0, start, lag)], [ends(0, 12, start=2)])
    polled = OffsetRow("s", "t", 0, None, start, 12, lag, None, None, None, 2, None)
    assert (row["verdict"], row["rule"]) == judge_start_offsets([polled], Limits())[:2]


WITHOUT_COMMITS: Final = (
    "commits",
    "commit_rate",
    "partitions",
    "topics",
    "records_consumed",
    "max_time_lag_ms",
    "skew",
    "last_commit_time",
    "is_idle",
    "orphaned_partitions",
    "clock_jump_ms",
)


def test_a_day_of_a_share_group_has_its_lag_and_margins_and_no_commits(tmp_path: Path) -> None:
    shares = [share(number * MINUTE, 5 + number, lag) for number, lag in enumerate((3, 9, 4))]
    log_ends = [ends(number * MINUTE, 20, start=2 * number) for number in range(3)]
    storage = built(tmp_path, {"share_offsets": shares, "partition_offsets": log_ends})
    (day,) = read(storage, "group_daily")
    names = ("group", "max_lag", "last_lag", "worst_verdict", "min_retention_margin", "last_retention_margin")
    assert tuple(day[name] for name in names) == ("s", 9, 4, "UNKNOWN", 3, 3)
    assert {name: day[name] for name in WITHOUT_COMMITS} == dict.fromkeys(WITHOUT_COMMITS)
    # No record was read, so that rebalances are unknown.
    assert (day["max_members"], day["rebalances"], day["rebalance_ms"]) == (None, None, None)


def test_a_day_of_a_share_group_has_its_members_and_rebalances(tmp_path: Path) -> None:
    joined = event(0, "member_metadata", "ShareGroupMemberMetadata", source=1, group="s", member_id="m")
    epochs = [event(n, "group_epoch", "ShareGroupMetadata", source=n + 1, group="s", epoch=n + 1) for n in (1, 60)]
    facts = {"share_offsets": [share(10, 5, 3)], "partition_offsets": [ends(10, 12)]}
    storage = built(tmp_path, {**facts, "group_events": [joined, *epochs]})
    (day,) = read(storage, "group_daily")
    assert (day["max_members"], day["rebalances"]) == (1, len(read(storage, "rebalances")))


def test_a_share_group_whose_lag_is_unknown_has_a_day_without_lag(tmp_path: Path) -> None:
    storage = built(tmp_path, {"share_offsets": [share(10, None, None)], "partition_offsets": [ends(10, 12)]})
    (day,) = read(storage, "group_daily")
    assert (day["group"], day["max_lag"], day["last_lag"], day["worst_verdict"]) == ("s", None, None, None)


def test_days_of_share_and_other_groups_are_sorted_in_their_file(tmp_path: Path) -> None:
    shares = [share(60, 5, 3), share(60, 5, 1, group="a")]
    commits = [commit(0, 10, source=1), commit(1, 11, source=2, group="m")]
    log_ends = [ends(0, 12), ends(60, 14)]
    storage = built(tmp_path, {"share_offsets": shares, "partition_offsets": log_ends, "offset_commits": commits})
    (file,) = storage.files(GROUP_DAILY)
    rows = pq.ParquetFile(file.path, filesystem=storage.directory.fs).read(["group", "last_lag", "partitions"])
    days = [tuple(row.values()) for row in rows.to_pylist()]
    assert days == [("a", 1, None), ("g", 4, 1), ("m", 3, 1), ("s", 3, None)]


def test_a_share_group_without_samples_on_a_day_has_no_row_for_it(tmp_path: Path) -> None:
    shares = [share(60, 5, 3), share(2 * DAY, 5, 3)]
    log_ends = [ends(seconds, 14) for seconds in (60, DAY, 2 * DAY)]
    storage = built(tmp_path, {"share_offsets": shares, "partition_offsets": log_ends})
    days = [row["day"] for row in read(storage, "group_daily")]
    assert [(day - days[0]).days for day in days] == [0, 2]


def test_a_group_with_commits_and_start_offsets_on_a_day_has_one_row(tmp_path: Path) -> None:
    facts = {"share_offsets": [share(60, 5, 3, group="g")], "partition_offsets": [ends(0, 12), ends(60, 14)]}
    storage = built(tmp_path, {**facts, "offset_commits": [commit(0, 10, source=1)]})
    (day,) = read(storage, "group_daily")
    assert (day["group"], day["partitions"], day["last_lag"]) == ("g", 1, 4)


def test_a_share_group_is_no_group_with_commits_on_its_topic(tmp_path: Path) -> None:
    storage = built(tmp_path, {"share_offsets": [share(60, 5, 3)], "partition_offsets": [ends(0, 12), ends(60, 14)]})
    (topic,) = read(storage, "topic_daily")
    without = built(tmp_path / "without", {"partition_offsets": [ends(0, 12), ends(60, 14)]})
    assert [topic] == read(without, "topic_daily")
