"""Events of groups, read from rows of EventRows: records in the order of their log, and samples as a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.group_events import read_day_events
from kafka_groups.pipeline.build.group_frames import EventRows
from kafka_groups.pipeline.frames.arrays import NULL
from tests.pipeline.build.kernels.event_rows import (
    DAY,
    Row,
    epoch,
    generation,
    joined,
    member,
    microseconds,
    number,
    on,
    placed,
    sample,
)

TODAY = number(on(0))


def table(rows: Sequence[Row]) -> Any:
    times = (("at_us", "record_time"), ("state_us", "state_time"))
    typed = [row | {name: row[time] and microseconds(row[time]) for name, time in times} for row in rows]
    return pa.Table.from_pylist(typed, EventRows.schema())


def test_events_are_those_of_each_group_and_day() -> None:
    rows = placed([joined(0, "a"), joined(0, "b"), joined(DAY, "c"), sample(DAY, "Stable", "d")])
    events = read_day_events(table(rows), np.array([7, 8, 7, 8]))

    assert [sorted(events[group]) for group in (7, 8)] == [[TODAY, TODAY + 1]] * 2
    assert [record.member_id for record in events[7][TODAY + 1].records] == ["c"]
    assert events[8][TODAY + 1].samples.member_counts.tolist() == [1]


def test_records_are_in_the_order_of_their_log_each_once() -> None:
    rows = placed([joined(20, "a"), epoch(10, 1), joined(30, "b")])
    events = read_day_events(table([*rows[::-1], *rows]), np.zeros(6, np.int64))

    assert [record.source_offset for record in events[0][TODAY].records] == [0, 1, 2]


def test_without_events_there_are_no_groups() -> None:
    assert read_day_events(table([]), np.zeros(0, np.int64)) == {}


@pytest.mark.parametrize(
    ("members", "longest_ms"),
    [
        ([], 0),
        ([member("a", 60), member("b", 300)], 300_000),
        ([member("a", 60), member("b", None)], 60_000),
        ([member("a", None)], None),
        # A static member may stay away for as long as its session timeout.
        ([member("a", 60), member("b", 60, instance="i")], None),
    ],
)
def test_the_longest_rebalance_timeout_is_unknown_with_static_members(
    members: list[Row], longest_ms: int | None
) -> None:
    events = read_day_events(table(placed([generation(0, 1, *members)])), np.zeros(1, np.int64))
    (record,) = events[0][TODAY].records

    assert record.join_timeout_ms == longest_ms
    assert record.member_ids == tuple(row["member_id"] for row in members)


def test_a_sample_without_a_list_leaves_members_unknown() -> None:
    rows = [sample(0, "Stable"), sample(60, "Empty"), sample(120, "Stable", "a"), sample(120, "Stable", "a")]
    events = read_day_events(table(rows), np.zeros(4, np.int64))

    assert events[0][TODAY].samples.member_counts.tolist() == [NULL, 0, 1]
