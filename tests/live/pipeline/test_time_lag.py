"""Time lag, against the timestamps that the records really have."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.tables import LAG_HISTORY, OFFSET_COMMITS, PARTITION_OFFSETS
from tests.live.pipeline.filled_tables import Row, ms
from tests.live.pipeline.timed import BURSTS, CUT, EMPTIED, KEPT_FROM, OLDER, QUIET, STEADY, STEP_MS

if TYPE_CHECKING:
    from tests.live.pipeline.filled_tables import FilledTables

pytestmark = [pytest.mark.live, pytest.mark.spark]


@pytest.fixture(scope="module")
def rows(filled: FilledTables) -> list[Row]:
    """Each with `truth_ms`: the age of the record at the committed offset when it was observed; 0 at the end."""
    return [row | {"truth_ms": _truth(filled, row)} for row in filled.rows(LAG_HISTORY, topic=filled.timed.topic)]


def _truth(filled: FilledTables, row: Row) -> int:
    times, offset = filled.timed.times_ms[row["partition"]], row["committed_offset"]
    return 0 if offset == len(times) else ms(row["observed_at"]) - times[offset]


def _of(rows: list[Row], *qualities: str) -> list[Row]:
    return [row for row in rows if row["time_lag_quality"] in qualities]


def test_every_commit_is_a_row_of_both_samples_and_by_the_backfill(filled: FilledTables, rows: list[Row]) -> None:
    groups, partitions = len(filled.timed.groups), len(filled.timed.times_ms)
    committed = [
        ms(row["commit_time"])
        for row in filled.rows(OFFSET_COMMITS, topic=filled.timed.topic, origin="topic")
        if row["partition"] != EMPTIED
    ]

    assert len(committed) == groups * (partitions - 1)
    assert Counter(row["origin"] for row in rows) == {
        "sample": 2 * groups * partitions,
        "backfill": sum(time >= at for at in committed for time in filled.grid),
    }
    assert EMPTIED not in {row["partition"] for row in rows if row["origin"] == "backfill"}


def test_a_log_end_of_the_past_is_what_had_been_written_until_then(filled: FilledTables) -> None:
    looked_up = [
        row
        for row in filled.rows(PARTITION_OFFSETS, topic=filled.timed.topic)
        if row["origin"] == "backfill" and row["log_end_offset"] is not None
    ]

    assert {row["partition"] for row in looked_up} == {STEADY, BURSTS, OLDER, QUIET, CUT}
    for row in looked_up:
        assert row["log_end_offset"] == bisect_left(filled.timed.times_ms[row["partition"]], ms(row["observed_at"]))


def test_a_time_lag_that_is_called_exact_is_the_age_of_the_record(rows: list[Row]) -> None:
    exact = _of(rows, "exact")

    assert [row["time_lag_ms"] for row in exact] == [row["truth_ms"] for row in exact]
    assert {row["partition"] for row in exact if row["truth_ms"] > 0} >= {STEADY, BURSTS, CUT}


def test_a_time_lag_that_is_interpolated_is_right_to_a_step_of_the_grid(rows: list[Row]) -> None:
    interpolated = _of(rows, "interpolated")

    assert {row["partition"] for row in interpolated} >= {STEADY, BURSTS, CUT}
    assert max(abs(row["time_lag_ms"] - row["truth_ms"]) for row in interpolated) <= STEP_MS


def test_a_lower_bound_is_never_above_the_truth(rows: list[Row]) -> None:
    bounds = [row for row in _of(rows, "lower_bound", "data_loss") if row["time_lag_ms"] is not None]

    assert {row["partition"] for row in bounds} == {OLDER, QUIET, CUT, EMPTIED}
    assert [row for row in bounds if not 0 < row["time_lag_ms"] <= row["truth_ms"]] == []


def test_records_older_than_the_grid_have_a_lower_bound_of_time_lag(filled: FilledTables, rows: list[Row]) -> None:
    quiet = [row for row in rows if row["partition"] == QUIET and row["lag"] > 0]

    assert {row["time_lag_quality"] for row in quiet} == {"lower_bound"}
    assert [row["time_lag_ms"] for row in quiet] == [ms(row["observed_at"]) - filled.grid[0] for row in quiet]


def test_a_group_with_nothing_left_to_read_has_no_lag(filled: FilledTables, rows: list[Row]) -> None:
    done = [row for row in rows if row["group"] == filled.timed.groups[-1]]

    assert {row["lag"] for row in done} == {0}
    assert {(row["time_lag_ms"], row["time_lag_quality"]) for row in done} == {(0, "exact")}


def test_records_that_were_deleted_before_they_were_read_are_a_loss(rows: list[Row]) -> None:
    lost = {
        (row["partition"], row["committed_offset"] < KEPT_FROM.get(row["partition"], 0))
        for row in _of(rows, "data_loss")
    }

    assert lost == {(CUT, True), (EMPTIED, True)}
    assert all(row["retention_margin"] < 0 for row in _of(rows, "data_loss"))


def test_the_time_lag_is_unknown_only_on_an_emptied_log(rows: list[Row]) -> None:
    unknown = _of(rows, "unknown")

    assert {row["partition"] for row in unknown} <= {EMPTIED}
    assert {row["time_lag_ms"] for row in unknown} <= {None}
