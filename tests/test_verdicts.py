"""The rules of verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.verdicts import (
    COMMIT_POINTS,
    SAMPLE_POINTS,
    VERDICTS,
    Commit,
    LogEnd,
    Point,
    Rules,
    Sample,
    Verdict,
    Window,
    judge,
    judge_group,
    moves,
    sampled_window,
)
from tests.verdict_cases import BURROW, CASES, GROWING, Case
from tests.verdict_strategies import commits
from tests.verdict_streams import (
    History,
    Scenario,
    commit_windows,
    measure,
    old_verdicts,
    share_of,
    simulate,
    verdicts,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_window_gets_the_verdict_of_the_table(case: Case) -> None:
    complete = min(1.0, len(case.window.commits) / case.rules.intervals)

    assert judge(case.window, case.rules) == Verdict(VERDICTS[case.rule], case.rule, complete)


def test_the_table_has_a_case_for_every_rule() -> None:
    assert {case.rule for case in CASES} == set(VERDICTS)


def test_every_difference_from_burrow_has_a_reason() -> None:
    assert [case.name for case in BURROW] == [f"Burrow's test {number}" for number in range(16)]
    assert all((VERDICTS[case.rule] == case.burrow) == (case.reason is None) for case in BURROW)


@given(commits, st.none() | st.integers(-5, 50))
def test_a_stopped_window_is_still_stopped_later(history: list[Commit], lag: int | None) -> None:
    now = max((commit.at_ms for commit in history), default=0) + 700_000
    window = Window(tuple(history[-10:]), (30, 40), (), now, lag)

    if judge(window, Rules()).rule == "stopped":
        assert judge(window._replace(now_ms=now + 1_000_000), Rules()).rule == "stopped"


@given(commits, st.integers(1, 50))
def test_commits_without_a_known_lag_are_neither_stalled_nor_falling_behind(history: list[Commit], lag: int) -> None:
    unknown = [commit._replace(lag=None) for commit in history]
    window = Window(unknown[-10:], (60,), (), unknown[-1].at_ms if unknown else 0, lag)

    assert judge(window, Rules()).rule in {"no_commits", "incomplete", "lag_unknown", "rewound"}


def test_a_group_has_the_verdict_of_its_worst_partition() -> None:
    fine, unknown, slow, stopped, stalled, rewound = (
        Verdict(VERDICTS[rule], rule, complete)
        for rule, complete in (
            ("no_lag", 1.0),
            ("lag_unknown", 0.3),
            ("falling_behind", 0.9),
            ("stopped", 1.0),
            ("stalled", 1.0),
            ("rewound", 1.0),
        )
    )

    assert judge_group([fine, fine]) == Verdict("OK", "no_lag", 1.0)
    assert judge_group([fine, unknown]) == Verdict("UNKNOWN", "lag_unknown", 0.5)
    assert judge_group([unknown, slow]) == Verdict("WARN", "falling_behind", 0.0)
    assert judge_group([slow, stopped, fine, fine]) == Verdict("STOP", "stopped", 0.75)
    assert judge_group([stalled, stopped]) == Verdict("STALL", "stalled", 1.0)
    assert judge_group([rewound, stalled]) == Verdict("REWIND", "rewound", 1.0)
    assert judge_group([]) == Verdict("UNKNOWN", "no_commits", 0.0)


def test_samples_show_a_commit_when_they_first_show_its_offset() -> None:
    samples = [Sample(offset, 10, at_ms) for at_ms, offset in enumerate((7, 7, 8, 8, 7, 9))]

    assert [(each.offset, each.at_ms) for each in moves(samples)] == [(7, 0), (8, 2), (7, 4), (9, 5)]


def test_a_window_of_samples_has_the_lags_at_which_offsets_were_first_seen() -> None:
    samples = [Sample(5, 9, 0), Sample(5, 12, 60_000), Sample(20, 18, 120_000), Sample(20, 26, 180_000)]

    assert sampled_window(samples, Rules(intervals=3)) == Window(
        commits=[Commit(5, 0, 4), Commit(20, 120_000, 0)],
        ends=[12, 18, 26],
        points=[Point(9, 4, 0), Point(18, 0, 120_000)],
        now_ms=180_000,
        current_lag=6,
        is_sampled=True,
    )


def test_a_window_of_samples_is_as_long_as_the_rules_say() -> None:
    samples = [Sample(place, 100, 60_000 * place) for place in range(30)]

    window = sampled_window(samples, Rules(intervals=4))

    assert [commit.offset for commit in window.commits] == [26, 27, 28, 29]
    assert [point.lag for point in window.points] == list(range(82, 70, -1))
    assert len(window.points) == SAMPLE_POINTS


def test_one_sample_of_a_group_that_is_behind_says_nothing() -> None:
    assert judge(sampled_window([Sample(5, 9, 0)], Rules()), Rules()).rule == "incomplete"


def test_an_offset_that_does_not_move_is_stopped_after_ten_minutes_of_samples() -> None:
    samples = [Sample(5, 9, 60_000 * minute) for minute in range(13)]

    found = [judge(sampled_window(samples[: minute + 1], Rules()), Rules()).rule for minute in range(13)]

    assert found == ["incomplete"] * 11 + ["stopped"] * 2


def test_the_kind_of_window_decides_how_many_points_are_enough() -> None:
    of_commits = Window([Commit(1, 0, 9), Commit(2, 1, 9)], (99,), GROWING, 2, 900)

    assert judge(of_commits, Rules()).rule == "falling_behind"
    assert judge(of_commits._replace(is_sampled=True), Rules()).rule == "lag_unknown"


BARS = [
    Scenario(stream=stream, rate=rate, commit_s=commit_s, sample_s=sample_s, jitter_s=jitter_s, evaluations=200)
    for stream, rate, commit_s, sample_s, jitter_s in (
        ("constant", 10, 1, 60, 0),
        ("constant", 100, 5, 15, 0.2),
        ("wave", 100, 1, 60, 0),
        ("wave", 10, 5, 15, 0.2),
        ("daily wave", 100, 1, 15, 0),
        ("daily wave", 10, 5, 60, 0.2),
        ("poisson", 10, 0.5, 15, 0.2),
        ("poisson", 10, 5, 60, 0.2),
        ("poisson", 100, 5, 15, 0.02),
    )
]


@pytest.mark.parametrize("scenario", BARS, ids=str)
def test_a_healthy_group_is_no_warning_and_one_that_reads_nine_of_ten_records_is(scenario: Scenario) -> None:
    _, of_commits, of_samples = measure(scenario)

    for found, points in ((of_commits, COMMIT_POINTS), (of_samples, SAMPLE_POINTS)):
        assert found.healthy <= 0.01
        assert found.slow >= 0.99
        assert found.first <= 2 * points


@pytest.mark.parametrize(
    ("stream", "commit_s", "sample_s", "false_alarms"),
    [("constant", 1, 60, 1), ("constant", 5, 60, 1), ("wave", 1, 60, 0.5)],
)
def test_the_old_rules_warned_of_healthy_groups(
    stream: str, commit_s: float, sample_s: int, false_alarms: float
) -> None:
    history = simulate(Scenario(stream=stream, commit_s=commit_s, sample_s=sample_s, jitter_s=0, evaluations=200))

    assert share_of("WARN", old_verdicts(history)) >= false_alarms
    assert share_of("WARN", verdicts(commit_windows(history))) == 0


def test_burrows_own_rule_misses_a_group_that_reads_nine_of_ten_records() -> None:
    """Against the last known log end, the lag falls with every commit until the next log end is known."""
    history = simulate(Scenario(reads=0.9))

    assert share_of("WARN", old_verdicts(history, is_interpolated=False)[1:]) == 0
    assert share_of("WARN", verdicts(commit_windows(history))[2 * COMMIT_POINTS :]) == 1


def test_commits_that_are_further_apart_than_samples_are_no_false_alarm() -> None:
    """Log ends between two commits are compared with a straight line, so only one of them is a point."""
    history = simulate(Scenario(stream="wave", commit_s=120, sample_s=15, evaluations=400))

    assert share_of("WARN", verdicts(commit_windows(history))) == 0


def test_one_ingest_and_one_sample_are_no_evidence() -> None:
    history = simulate(Scenario(reads=0.9, evaluations=1))

    assert old_verdicts(history) == ["WARN"]
    assert verdicts(commit_windows(history)) == ["UNKNOWN"]


def test_a_group_that_begins_to_fall_behind_is_a_warning_within_two_windows() -> None:
    healthy = [Commit(100 * second, 1_000 * second, 0) for second in range(600)]
    slow = [Commit(60_000 + 90 * second, 600_000 + 1_000 * second) for second in range(600)]
    observed = [LogEnd(1_500 * place + 50, 15_000 * place) for place in range(1, 80)]

    found = verdicts(commit_windows(History([*healthy, *slow], observed, [])))

    onset = 600 // 15
    assert set(found[5:onset]) == {"OK"}
    assert found.index("WARN") - onset <= 2 * COMMIT_POINTS
    assert set(found[found.index("WARN") :]) == {"WARN"}


@pytest.mark.parametrize(
    "numbers", [{"intervals": 0}, {"allowed_lag": -1}, {"minimum_complete": 1.5}, {"minimum_complete": float("nan")}]
)
def test_rules_that_no_window_can_have_are_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="has a number that is out of range"):
        Rules(**numbers)
