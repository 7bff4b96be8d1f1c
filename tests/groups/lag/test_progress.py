"""The progress of a group on a partition, poll after poll: moves, waits, members, resets and floors of the lag."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import pytest

from kafka_groups.groups.lag.progress import Observation, Progress, evidence_of, observe, wait_strength
from kafka_groups.verdicts import (
    HOUR_MS,
    LONG_PERIOD_MS,
    LONG_THIRDS_MS,
    MINUTE_MS,
    SHORT_PERIOD_MS,
    SHORT_THIRDS_MS,
    WAIT_HALF_LIFE_MS,
    Evidence,
    Growth,
    Limits,
)

LIMITS: Final = Limits()
START_MS: Final = 1_790_002_800_000  # the begin of an hour
SECOND_MS: Final = 1_000


def poll(at_ms: int, offset: int, end: int, **changed: Any) -> Observation:
    return Observation(offset, end, START_MS + at_ms, **changed)


def watch(polls: Sequence[Observation], limits: Limits = LIMITS) -> Progress:
    progress = observe(None, polls[0], polls[0], limits)
    for previous, seen in pairwise(polls):
        progress = observe(progress, previous, seen, limits)
    return progress


def evidence(*polls: Observation, limits: Limits = LIMITS) -> Evidence:
    return evidence_of(watch(polls, limits), polls[-1])


def moves_after(*waits_ms: int) -> list[Observation]:
    """Return polls each ten seconds with a lag, and at moves after these waits."""
    polls = [poll(0, 0, 1_000)]
    at_ms = 0
    for offset, wait_ms in enumerate(waits_ms):
        polls += [poll(at_ms + waited, offset, 1_000) for waited in range(10_000, wait_ms, 10_000)]
        at_ms += wait_ms
        polls.append(poll(at_ms, offset + 1, 1_000))
    return polls


def test_the_first_poll_shows_no_move_and_no_wait() -> None:
    seen = evidence(poll(0, 10, 30))
    assert seen == Evidence(20, None, 0, 0, 0, 0, empty_ms=None, lost_records=0, unread_at_last_change=None)


def test_a_group_waits_from_its_last_move() -> None:
    seen = evidence(poll(0, 10, 30), poll(5_000, 20, 40), poll(12_000, 20, 50))
    assert (seen.offset_changes, seen.waiting_ms, seen.silent_ms) == (1, 7_000, 7_000)


def test_a_group_does_not_wait_before_there_is_a_lag() -> None:
    assert evidence(poll(0, 30, 30), poll(60_000, 30, 30), poll(90_000, 30, 40)).waiting_ms == 30_000


@pytest.mark.parametrize(("allowed_lag", "waiting_ms"), [(9, 60_000), (10, 0)])
def test_an_allowed_lag_does_not_begin_a_wait(allowed_lag: int, waiting_ms: int) -> None:
    polls = poll(0, 30, 40), poll(60_000, 30, 40)
    assert evidence(*polls, limits=Limits(allowed_lag=allowed_lag)).waiting_ms == waiting_ms


def test_a_wait_goes_on_while_the_commit_is_above_the_log_end() -> None:
    seen = evidence(poll(0, 10, 20), poll(60_000, 10, 5))
    assert (seen.lag, seen.waiting_ms, seen.growths) == (None, 60_000, {})


@pytest.mark.parametrize(
    ("waits_s", "usual_s"),
    [((), 0), ((30,), 30), ((30, 90), 30), ((30, 90, 60), 60), ((90, 60, 30, 10), 60), ((90, 10, 90, 10), 90)],
)
def test_the_usual_wait_is_the_second_longest_or_the_only_one(waits_s: tuple[int, ...], usual_s: int) -> None:
    seen = evidence(*moves_after(*(each * SECOND_MS for each in waits_s)))
    assert seen.usual_wait_ms == pytest.approx(usual_s * SECOND_MS, rel=0.01)


def test_gaps_between_polls_are_no_waits_of_the_group() -> None:
    """Polls each minute, twice an hour without any, and a group that moves each minute."""
    minutes = [minute for minute in range(300) if not (60 <= minute < 120 or 180 <= minute < 240)]
    polls = [poll(minute * MINUTE_MS, minute, 1_000) for minute in minutes]
    assert MINUTE_MS <= evidence(*polls).usual_wait_ms <= 1.5 * MINUTE_MS


def test_a_commit_above_the_end_of_a_new_log_need_not_be_reached_again() -> None:
    seen = evidence(*(poll(at * MINUTE_MS, *pair) for at, pair in enumerate([(1_010, 5), (1_010, 8), (10, 15)])))
    assert seen.to_reach == 0


def test_a_wait_counts_half_after_its_half_life() -> None:
    polls = moves_after(60_000, 60_000, 60_000)
    progress = watch(polls)
    later = polls[-1]._replace(at_ms=polls[-1].at_ms + WAIT_HALF_LIFE_MS)
    usual_ms = [evidence_of(progress, each).usual_wait_ms for each in (polls[-1], later)]
    assert usual_ms[1] == pytest.approx(usual_ms[0] / 2, rel=0.001)


def test_an_outage_is_forgotten_with_time() -> None:
    outage_ms, day_ms = HOUR_MS, 24 * HOUR_MS
    steady = [MINUTE_MS] * 3
    polls = moves_after(outage_ms, outage_ms, *steady)
    much_later = [each._replace(at_ms=each.at_ms + 4 * day_ms) for each in moves_after(*steady, *steady)]
    joined = [*polls, *(each._replace(offset=each.offset + 100) for each in much_later)]
    assert watch(polls).strengths[0] > wait_strength(MINUTE_MS, polls[-1].at_ms)
    assert evidence(*joined[:-1]).usual_wait_ms < 2 * MINUTE_MS


def test_a_wait_of_less_than_a_millisecond_counts_as_one() -> None:
    assert wait_strength(0, START_MS) == wait_strength(1, START_MS)
    assert wait_strength(2, START_MS) > wait_strength(1, START_MS)


def test_unread_records_are_those_that_the_poll_before_a_move_saw() -> None:
    seen = [
        evidence(poll(0, 10, 30), poll(1_000, offset, 90), poll(2_000, offset, 99)).unread_at_last_change
        for offset in (20, 30, 40)
    ]
    assert seen == [10, 0, 0]


def members(*counts: int | None) -> list[Observation]:
    return [poll(index * MINUTE_MS, 10, 30, members=count) for index, count in enumerate(counts)]


@pytest.mark.parametrize(
    ("counts", "minutes"),
    [
        ((2, 2), None),
        ((0,), 0),
        ((2, 0, 0), 1),
        ((0, None, 0), 2),
        ((0, 2, 0), 0),
        ((None, None, 0), 0),
        ((0, 0, None), None),
        ((0, 0, 1), None),
    ],
)
def test_a_group_is_empty_since_the_first_poll_without_members(
    counts: tuple[int | None, ...], minutes: int | None
) -> None:
    assert evidence(*members(*counts)).empty_ms == (None if minutes is None else minutes * MINUTE_MS)


def test_unknown_members_keep_since_when_the_group_is_empty() -> None:
    assert watch(members(0, None, None)).empty_since_ms == START_MS
    assert watch(members(0, 3, None)).empty_since_ms is None


def test_a_lower_commit_has_to_reach_the_highest_one_again() -> None:
    polls = [poll(0, 80, 99), poll(1_000, 30, 99), poll(2_000, 50, 99), poll(3_000, 80, 99), poll(4_000, 90, 99)]
    assert [evidence(*polls[: count + 1]).to_reach for count in range(5)] == [0, 50, 30, 0, 0]


@pytest.mark.parametrize(
    ("before", "after", "to_reach"), [(2, 2, 50), (None, None, 50), (0, 2, 0), (2, 0, 0), (0, None, 0), (None, 2, 50)]
)
def test_a_lower_commit_without_members_is_a_known_reset(before: int | None, after: int | None, to_reach: int) -> None:
    assert evidence(poll(0, 80, 99, members=before), poll(1_000, 30, 99, members=after)).to_reach == to_reach


def test_a_reset_that_the_journal_has_is_known() -> None:
    polls = poll(0, 80, 99, members=2), poll(1_000, 30, 99, members=2, is_reset=True), poll(2_000, 20, 99, members=2)
    assert evidence(*polls[:2]).to_reach == 0
    assert evidence(*polls).to_reach == 10


def test_members_that_leave_later_do_not_explain_a_rewind() -> None:
    polls = poll(0, 80, 99, members=2), poll(1_000, 30, 99, members=2), poll(2_000, 30, 99, members=0)
    assert evidence(*polls).to_reach == 50


def test_records_below_the_log_start_are_lost_and_no_lag() -> None:
    seen = evidence(poll(0, 10, 50, start=30))
    assert (seen.lag, seen.lost_records) == (20, 20)


def test_a_floor_is_the_first_lowest_lag_of_its_period() -> None:
    lags = (7, 4, 4, 9)
    polls = [poll(index * MINUTE_MS, 100 + index - lag, 100 + index) for index, lag in enumerate(lags)]
    progress = watch([*polls, poll(SHORT_PERIOD_MS, 90, 110)])
    assert [(floor.lag, floor.end, floor.at_ms - START_MS) for floor in progress.short_floors] == [
        (4, 101, MINUTE_MS),
        (20, 110, SHORT_PERIOD_MS),
    ]
    assert [floor.lag for floor in progress.long_floors] == [4]


def test_floors_that_no_window_reaches_are_dropped() -> None:
    hours = 3 * LONG_THIRDS_MS[-1] // HOUR_MS
    polls = [poll(index * SHORT_PERIOD_MS, 10, 20) for index in range(13 * (hours + 9))]
    progress = watch(polls)
    assert len(progress.short_floors) == 3 * SHORT_THIRDS_MS[-1] // SHORT_PERIOD_MS + 1
    assert len(progress.long_floors) == 3 * LONG_THIRDS_MS[-1] // LONG_PERIOD_MS + 1


def test_a_floor_stays_if_the_lag_is_unknown() -> None:
    polls = [poll(0, 10, 20), poll(HOUR_MS, 10, 5)]
    assert watch(polls).short_floors == watch(polls[:1]).short_floors


def test_growth_is_unknown_until_each_third_has_a_floor() -> None:
    minutes = 5
    polls = [poll(index * minutes * MINUTE_MS, 0, 100 * (index + 1)) for index in range(40)]
    first = next(index for index in range(40) if evidence(*polls[: index + 1]).growths)
    assert first * minutes == 25


def test_growth_compares_the_floors_of_three_thirds() -> None:
    lags = (10, 11, 20, 21, 30, 31, 45)
    polls = [poll(index * SHORT_PERIOD_MS, 1_000 * index, 1_000 * index + lag) for index, lag in enumerate(lags)]
    growth = evidence(*polls).growths[SHORT_THIRDS_MS[0]]
    expected = Growth(
        grown=20,
        grown_early=10,
        grown_late=10,
        produced=4_020,
        records_per_poll=1_005,
        records_per_poll_share=502.5,
        chance_records=63.4,
        previous_floor=30,
        third_ms=SHORT_THIRDS_MS[0],
    )
    assert tuple(growth) == pytest.approx(tuple(expected), rel=0.01)


def test_a_lower_lag_of_the_current_period_is_the_last_floor() -> None:
    lags = (10, 11, 20, 21, 30, 31, 5)
    polls = [poll(index * SHORT_PERIOD_MS, 1_000 * index, 1_000 * index + lag) for index, lag in enumerate(lags)]
    growth = evidence(*polls).growths[SHORT_THIRDS_MS[0]]
    assert (growth.grown, growth.grown_late, growth.previous_floor) == (-5, -15, 30)


def test_a_group_without_a_lag_has_no_growth() -> None:
    polls = [poll(index * SHORT_PERIOD_MS, 0, 10) for index in range(8)]
    assert evidence(*polls).growths
    assert evidence(*polls, poll(8 * SHORT_PERIOD_MS, 10, 10)).growths == {}


@pytest.mark.parametrize(("poll_s", "wait_s", "records"), [(30, 600, 30), (600, 30, 30), (600, 600, 600)])
def test_a_floor_is_uncertain_by_the_records_of_a_poll_or_a_shorter_wait(
    poll_s: int, wait_s: int, records: int
) -> None:
    strengths = {each_s: (wait_strength(each_s * SECOND_MS, START_MS),) for each_s in (poll_s, wait_s)}
    polls = [poll(index * SHORT_PERIOD_MS, 0, 300 * (index + 1)) for index in range(12)]
    progress = watch(polls)._replace(strengths=strengths[wait_s], intervals=strengths[poll_s])
    growth = evidence_of(progress, polls[-1]).growths[SHORT_THIRDS_MS[0]]
    assert growth.records_per_poll == pytest.approx(records, rel=0.1)
    assert growth.records_per_poll_share == pytest.approx(growth.records_per_poll * wait_s / 600, rel=0.1)


def test_one_long_gap_between_polls_is_not_the_usual_interval() -> None:
    polls = [poll(at_s * SECOND_MS, 0, 10) for at_s in (0, 60, 120, 3_720, 3_780)]
    assert watch(polls).intervals[-1] < wait_strength(62 * SECOND_MS, polls[-1].at_ms)
