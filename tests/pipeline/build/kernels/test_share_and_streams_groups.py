"""Rebalances of share and streams groups, from records as Kafka 4.3.1 writes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance
from tests.pipeline.build.kernels.event_rows import (
    Row,
    at_time,
    build,
    epoch,
    generation,
    joined,
    left,
    placed,
    removed,
    stable,
)


def of(kind: str, rows: Iterable[Row]) -> list[Row]:
    """Return records of a KIP-848 group as those of another kind, in the order of a log."""
    return placed(row | {"record_name": row["record_name"].replace("Consumer", kind, 1)} for row in rows)


def rebalances(rows: list[Row]) -> list[Rebalance]:
    (day,) = build(rows)
    return [*day.rebalances]


def summary(row: Rebalance) -> tuple[Any, ...]:
    return row.generation, row.duration_quality, row.duration_ms, row.members_before, row.members_after, row.joined


# A share group begins with epoch 2. All records of a heartbeat are in one batch, and no member revokes anything.
SHARE = of(
    "Share",
    [
        *(joined(0, "a"), epoch(0, 2), stable(0, 2, "a")),
        *(joined(60, "b"), epoch(60, 3), stable(60, 3, "b"), stable(64.5, 3, "a", since=2)),
        *(left(90, "b"), epoch(90, 4)),
    ],
)
# A streams group begins with epoch 2, and assigns tasks some seconds later. Then `b` waits for tasks of `a`.
STREAMS = of(
    "Streams",
    [
        *(joined(0, "a"), epoch(0, 2), stable(0, 1, "a"), epoch(5, 3), stable(5, 3, "a", since=1)),
        *(joined(7, "b"), epoch(7, 4), stable(7, 4, "b", state="UNRELEASED_TASKS")),
        *(stable(10, 3, "a", since=3, state="UNREVOKED_TASKS"), stable(12, 4, "b", since=4)),
        *(stable(15.4, 4, "a", since=3),),
    ],
)


def test_a_share_group_rebalances_until_all_members_have_their_assignment() -> None:
    rows = rebalances(SHARE)
    assert {row.group_protocol for row in rows} == {"share"}
    assert [summary(row) for row in rows] == [
        (2, "exact", 0, 0, 1, ("a",)),
        (3, "exact", 4_500, 1, 2, ("b",)),
        (4, "open", None, 2, 1, ()),
    ]
    assert rows[2].left == ("b",)


def test_a_streams_group_rebalances_until_all_tasks_are_released() -> None:
    rows = rebalances(STREAMS)
    assert {row.group_protocol for row in rows} == {"streams"}
    assert [summary(row) for row in rows] == [
        (2, "overtaken", 5_000, 0, 1, ("a",)),
        (3, "exact", 0, 1, 1, ()),
        (4, "exact", 8_400, 1, 2, ("b",)),
    ]


def test_an_epoch_of_a_group_without_members_is_no_rebalance() -> None:
    """A change of an Empty share group's start offsets increases its epoch."""
    emptied = of("Share", [joined(0, "a"), epoch(0, 2), left(9, "a"), epoch(9, 3), epoch(30, 4)])
    assert [row.generation for row in rebalances(emptied)] == [2, 3]


@pytest.mark.parametrize("kind", ["Share", "Streams"])
def test_a_removed_group_is_dead_and_begins_again_without_members(kind: str) -> None:
    rows = of(
        kind, [joined(0, "a"), epoch(0, 2), left(9, "a"), epoch(9, 3), removed(20), joined(40, "b"), epoch(40, 2)]
    )
    days = build(rows)
    assert [at_time(days, seconds) for seconds in (15, 30, 50)] == [("Empty", 0), ("Dead", 0), (None, 1)]
    last = days[0].rebalances[-1]
    assert (last.members_before, last.members_after, last.joined) == (0, 1, ("b",))


@pytest.mark.parametrize("rows", [SHARE, STREAMS], ids=["share", "streams"])
def test_a_rebalance_does_not_depend_on_where_midnight_is(rows: list[Row]) -> None:
    """Each record but the first may be the first one after midnight."""
    (whole,) = build(rows)
    shifts = {row["record_time"] for row in rows[1:]}
    for first in sorted(shifts):
        move = first.replace(hour=0, minute=0, second=0, microsecond=0) - first
        moved = [row | {"record_time": row["record_time"] + move} for row in rows]
        days = build(moved, (-1, 0))
        found = [row for day in days for row in day.rebalances]
        assert [summary(row) for row in found] == [summary(row) for row in whole.rebalances]


def test_members_of_a_streams_group_are_not_those_of_a_later_kip_848_group() -> None:
    """The removal of the streams group is lost, and the KIP-848 group is downgraded."""
    streams = [joined(0, "a"), epoch(0, 2), left(9, "a")]
    moved = [joined(60, "b"), epoch(60, 2), stable(61, 2, "b"), left(90, "b"), removed(90), generation(90.1, 3, "b")]
    rows = [*of("Streams", streams), *moved]
    classic = [row for row in rebalances(placed(rows)) if row.group_protocol == "classic"]
    assert [(row.members_before, row.joined, row.left) for row in classic] == [(1, (), ())]
