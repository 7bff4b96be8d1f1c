"""Durations of rebalances: which are exact, what bounds the others, and which are open."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance
from tests.pipeline.build.kernels.event_rows import DAY, at, build, microseconds, placed
from tests.pipeline.build.kernels.example_groups import REBALANCES

MINUTE = 60


def of(story: str) -> list[Rebalance]:
    return [row for day in build(placed(REBALANCES[story]), range(-1, 4)) for row in day.rebalances]


def took(story: str, number: int) -> tuple[str, int | None]:
    (row,) = [row for row in of(story) if row.generation == number]
    return row.duration_quality, row.duration_ms


def test_commits_during_a_rebalance_do_not_shorten_its_bound() -> None:
    """The broker accepts commits of the old generation until all members have joined. It took 15.2 s."""
    assert took("held up", 2) == ("bound", 30_200)


@pytest.mark.parametrize(
    ("story", "number", "longest_s"),
    [
        ("long after", 2, MINUTE + 1.5),
        ("another member's timeout", 2, 300 + 1.5),
        ("after a night", 3, MINUTE + 1.5),
        ("emptied", 2, MINUTE + 1),
        ("first of all", 1, MINUTE + 1.5),
    ],
)
def test_a_join_phase_lasts_no_longer_than_the_longest_rebalance_timeout(
    story: str, number: int, longest_s: float
) -> None:
    """Half a second later the record was written; a second is for a timer that is late."""
    assert took(story, number) == ("timeout", longest_s * 1_000)


@pytest.mark.parametrize(("story", "number"), [("given up once", 3), ("static", 2), ("old broker", 2)])
def test_a_rebalance_of_unknown_length_is_bounded_by_the_record_before(story: str, number: int) -> None:
    assert took(story, number) == ("bound", (7_200 - 5) * 1_000)


@pytest.mark.parametrize(
    ("story", "number"), [("records before are lost", 7), ("clock set back", 2), ("after two nights", 2)]
)
def test_a_rebalance_without_a_usable_time_before_it_has_no_duration(story: str, number: int) -> None:
    assert took(story, number) == ("bound", None)


def who(story: str, number: int) -> tuple[int | None, int | None, tuple[str, ...] | None, tuple[str, ...] | None]:
    (row,) = [row for row in of(story) if row.generation == number]
    return row.members_before, row.members_after, row.joined, row.left


def test_it_is_unknown_who_joined_if_the_generation_before_is_lost() -> None:
    """Compaction keeps the newest record of a group, and those after its last run."""
    assert who("generation lost", 1) == (0, 1, ("a",), ())
    assert who("generation lost", 3) == (None, 1, None, None)
    assert who("generation lost", 4) == (1, 2, ("a",), ())
    assert who("created again, first generation lost", 2) == (None, 1, None, None)
    assert took("generation lost", 3) == ("bound", 55_000)


def test_the_first_generation_of_a_group_has_no_members_before() -> None:
    assert who("created again, removal lost", 1) == (0, 1, ("b",), ())


def test_a_generation_that_is_written_again_is_no_other_rebalance() -> None:
    assert [row.generation for row in of("written again")] == [1]
    assert [row.generation for row in of("epoch written again")] == [1, 2]
    assert took("epoch written again", 2) == ("exact", 20_000)


def test_the_last_phase_is_the_time_from_the_last_join_to_the_record() -> None:
    assert [row.sync_ms for row in of("held up")] == [500, 200]
    assert [row.sync_ms for row in of("emptied")] == [500, None]


def test_a_classic_rebalance_belongs_to_the_date_on_which_it_can_have_begun() -> None:
    today, tomorrow = build(placed(REBALANCES["over midnight"]), (0, 1))

    assert [row.generation for row in today.rebalances] == [1, 2]
    assert today.rebalances[1].started_at == microseconds(at(DAY / 2 - 20))
    assert tomorrow.rebalances == ()


@pytest.mark.parametrize("story", REBALANCES)
def test_classic_rebalances_of_a_group_never_overlap(story: str) -> None:
    spans = [
        (row.started_at, row.ended_at or 0) for row in of(story) if row.group_protocol == "classic" and row.duration_ms
    ]

    assert all(one[1] <= other[0] for one, other in pairwise(sorted(spans)))


def test_a_member_that_joins_with_an_epoch_has_not_reached_the_one_before() -> None:
    assert took("newcomer", 2) == ("exact", 0)
    assert took("newcomer", 3) == ("overtaken", 30_000)
    assert took("newcomer", 4) == ("exact", 20_000)


@pytest.mark.parametrize("story", ["replaced", "replaced after midnight", "replaced, and stable after midnight"])
def test_a_member_that_replaces_another_is_not_counted_beside_it(story: str) -> None:
    """A static member that starts again has another id; m1 never reached the epoch."""
    assert took(story, 3) == ("open", None)


def test_an_epoch_is_overtaken_if_a_member_reaches_it_after_the_next_began() -> None:
    assert took("late", 3) == ("overtaken", 10_000)
    assert took("late", 4) == ("exact", 5_000)


def test_a_group_that_is_created_again_counts_from_the_beginning() -> None:
    rows = of("deleted and created")

    assert [(row.generation, row.duration_ms, row.members_after) for row in rows] == [
        (1, 1_000, 1),
        (2, 0, 0),
        (1, 4_000, 1),
    ]


def test_a_rebalance_is_followed_until_the_end_of_the_next_day() -> None:
    assert took("reached the next day", 2) == ("exact", (DAY - 10) * 1_000)
    assert took("reached two days later", 2) == ("open", None)
    assert took("removed the next day", 2) == took("removed", 2) == ("open", None)
    assert took("overtaken the next day", 2) == ("overtaken", (DAY - 10) * 1_000)
    assert took("overtaken two days later", 2) == ("open", None)


@pytest.mark.parametrize("story", ["reached two days later", "overtaken two days later"])
def test_the_date_after_a_date_without_events_is_not_the_next_day(story: str) -> None:
    (today,) = build(placed(REBALANCES[story]), (0,))

    assert today.rebalances[-1].duration_quality == "open"
