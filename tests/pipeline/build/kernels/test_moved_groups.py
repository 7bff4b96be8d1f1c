"""Groups that change their protocol, with their members and without, and groups that are deleted."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance
from tests.pipeline.build.kernels.event_rows import (
    DAY,
    Row,
    at,
    at_time,
    build,
    epoch,
    generation,
    joined,
    left,
    microseconds,
    placed,
    removed,
    sample,
    stable,
)
from tests.pipeline.build.kernels.example_groups import MIDNIGHT, THERE_AND_BACK, joins

HOUR = 3_600


def moves(*lost: int) -> dict[tuple[str, int], Rebalance]:
    """Return rebalances by protocol and generation, after compaction removed the records at some indices."""
    (day,) = build([row for index, row in enumerate(THERE_AND_BACK) if index not in lost])
    return {(row.group_protocol, row.generation): row for row in day.rebalances}


def who(row: Rebalance) -> tuple[Any, ...]:
    return row.members_before, row.members_after, row.joined, row.left


def test_a_group_that_was_just_created_has_not_rebalanced() -> None:
    rows = [row for (protocol, _), row in moves().items() if protocol == "classic"]

    assert [row.generation for row in rows] == [1, 3]
    assert who(rows[0]) == (0, 1, ("stays",), ())
    assert (rows[0].started_at, rows[0].duration_ms) == (microseconds(at(0)), 1_000)  # since it was created


def test_a_member_that_stays_while_its_group_moves_has_not_joined() -> None:
    rows = moves()

    assert who(rows["consumer", 1]) == (1, 1, (), ())
    assert who(rows["consumer", 2]) == (1, 2, ("newer",), ())
    assert who(rows["classic", 3]) == (2, 1, (), ("newer",))


def test_it_is_not_known_who_joined_if_the_classic_group_that_moved_is_lost() -> None:
    """Compaction leaves the removal alone."""
    rows = moves(0, 1)

    assert who(rows["consumer", 1]) == (None, 1, None, None)
    assert who(rows["consumer", 2]) == (1, 2, ("newer",), ())


def test_the_first_epoch_that_remains_does_not_show_who_joined_with_it() -> None:
    assert who(moves(0, 1, 2, 4)["consumer", 2]) == (None, 2, None, None)


@pytest.mark.parametrize("number", [1, 2])
def test_the_first_epoch_of_a_new_group_has_no_members_before(number: int) -> None:
    """Groups begin with epoch 1, and since Kafka 4.3 with 2."""
    (day,) = build(placed([joined(1, "first"), epoch(1, number)]))

    assert [who(row) for row in day.rebalances] == [(0, 1, ("first",), ())]


def test_members_are_those_of_the_last_record_of_a_batch() -> None:
    """The state of the classic group is not that of the KIP-848 group that it became."""
    days = build(THERE_AND_BACK)

    assert [at_time(days, seconds) for seconds in (2, 12, 21)] == [("Stable", 1), (None, 2), ("Stable", 1)]


@pytest.mark.parametrize(
    ("rows", "between", "state"),
    [
        ([generation(0, 1, "m"), removed(10, "GroupMetadata")], "Dead", "Dead"),
        ([generation(0, 1, "m"), removed(10, "GroupMetadata"), epoch(10.2, 2)], "Stable", "Stable"),
        ([epoch(0, 1), removed(10), generation(10.2, 2, "m")], None, "Stable"),
        ([generation(0, 1, "m"), removed(10, "GroupMetadata"), epoch(HOUR, 1)], "Dead", "Dead"),
        ([generation(0, 1, "m"), removed(10, "GroupMetadata"), removed(11)], "Dead", "Dead"),
        ([epoch(0, 2) | {"record_name": "ShareGroupMetadata"}, removed(10, "ShareGroupMetadata")], "Dead", "Dead"),
        ([removed(10, "ShareGroupMetadata"), generation(10.2, 1, "m"), removed(10.3, "GroupMetadata")], "Dead", "Dead"),
    ],
)
def test_a_group_moves_only_if_a_record_of_the_other_protocol_follows(
    rows: list[Row], between: str | None, state: str | None
) -> None:
    """A group that moved is not dead; what its state is between the two records was known before, or is not."""
    days = build(placed(rows))

    assert [at_time(days, seconds)[0] for seconds in (10.1, 10.5)] == [between, state]


def test_a_group_that_moves_at_midnight_is_dead_until_its_next_record() -> None:
    """Brokers write both records in one batch with one time, so that midnight does not come between them."""
    upgraded = [generation(0, 1, "m"), removed(MIDNIGHT - 0.1, "GroupMetadata"), *joins(MIDNIGHT + 0.1, 2, "m")]
    downgraded = [*joins(0, 1, "m"), removed(MIDNIGHT - 0.1), generation(MIDNIGHT + 0.1, 2, "m")]

    for rows, state in ((upgraded, None), (downgraded, "Stable")):
        days = build(placed(rows), (0, 1))
        assert at_time(days, MIDNIGHT) == ("Dead", 0)
        assert at_time(days, MIDNIGHT + 1) == (state, 1)


@pytest.mark.parametrize("shows", [stable(DAY + 130, 3, "b", since=2), left(DAY + 130, "b")], ids=["writes", "leaves"])
@pytest.mark.parametrize("upgraded_at", [DAY, 0, -DAY], ids=["same date", "day before", "two days before"])
def test_a_kept_member_whose_join_is_lost_counts_before_it_writes(shows: Row, upgraded_at: float) -> None:
    """An upgrade keeps `a` and `b`; compaction replaced the join of `b`, which no record shows until `n` has joined."""
    rows = placed(
        [
            *(generation(upgraded_at - 60, 1, "a", "b"), removed(upgraded_at, "GroupMetadata")),
            *joins(upgraded_at, 2, "a"),
            *joins(DAY + 100, 3, "n"),
            shows,
        ]
    )

    days = build(rows, (-1, 0, 1))

    (row,) = [row for day in days for row in day.rebalances if row.generation == 3]
    assert who(row) == (2, 3, ("n",), ())
    assert at_time(days, DAY + 110)[1] == 3
    assert at_time(days, DAY + 140)[1] == (3 if shows["event_type"] == "member_assignment" else 2)


def test_a_member_that_is_gone_after_an_upgrade_stays_uncounted() -> None:
    """The classic group's last record is older than a leave that its coordinator knew of: no record shows `b` again."""
    upgraded = [generation(0, 1, "a", "b"), removed(10, "GroupMetadata"), *joins(10, 2, "a"), *joins(DAY, 3, "n")]

    days = build(placed(upgraded), (0, 1))

    assert [at_time(days, seconds)[1] for seconds in (60, DAY + 60)] == [1, 2]


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_a_group_that_is_sampled_without_members_has_none(state: str) -> None:
    days = build([sample(0, "Stable", "a", "b"), sample(60, state)])

    assert [at_time(days, seconds) for seconds in (30, 90)] == [("Stable", 2), (state, 0)]
