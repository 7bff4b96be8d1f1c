"""Burrow's rules, without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.pipeline.steps.burrow_rules import VERDICTS, Commit, Verdict, Window, judge, judge_group, thin
from kafka_groups.verdicts import Rules
from tests.pipeline.steps.verdict_cases import CASES, Case

commits = st.lists(
    st.builds(Commit, st.integers(0, 50), st.integers(0, 20_000), st.none() | st.integers(0, 9)), max_size=30
).map(lambda drawn: sorted(drawn, key=lambda commit: commit.at_ms))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_window_gets_the_verdict_of_the_table(case: Case) -> None:
    verdict = judge(case.window, case.rules)

    assert (verdict.status, verdict.rule) == (case.status, case.rule)
    assert verdict.complete == len(case.window.commits) / case.rules.intervals


def test_the_table_has_a_case_for_every_rule_except_no_commits() -> None:
    assert {case.rule for case in CASES} == set(VERDICTS) - {"no_commits"}


def test_a_window_without_commits_is_ok() -> None:
    assert judge(Window((), (5,), 0, 7), Rules()) == Verdict("OK", "no_commits", 0.0)


@given(commits, st.none() | st.integers(-5, 50))
def test_a_stopped_window_is_still_stopped_later(history: list[Commit], lag: int | None) -> None:
    now = max((commit.at_ms for commit in history), default=0)
    window = Window(tuple(history[-10:]), (30, 40), now, lag)

    if judge(window, Rules()).rule == "stopped":
        assert judge(replace(window, now_ms=now + 1_000_000), Rules()).rule == "stopped"


def test_a_group_has_the_verdict_of_its_worst_partition() -> None:
    fine, slow, stopped, rewound = (
        Verdict(VERDICTS[rule], rule, complete)
        for rule, complete in (("no_lag", 1.0), ("falling_behind", 0.9), ("stopped", 1.0), ("rewound", 1.0))
    )

    assert judge_group([fine, fine]) == Verdict("OK", "no_lag", 1.0)
    assert judge_group([fine, slow]) == Verdict("WARN", "falling_behind", 0.5)
    assert judge_group([slow, stopped, fine, fine]) == Verdict("ERR", "stopped", 0.75)
    assert judge_group([rewound, stopped]) == Verdict("ERR", "rewound", 1.0)
    assert judge_group([]) == Verdict("OK", "no_commits", 0.0)


def test_a_slot_has_the_time_of_its_first_and_the_offset_and_lag_of_its_last_commit() -> None:
    history = [Commit(1, 999, 9), Commit(2, 1_000, 8), Commit(3, 1_999, None), Commit(4, 2_000, 6)]

    assert thin(history, 1_000) == [Commit(1, 999, 9), Commit(3, 1_000, None), Commit(4, 2_000, 6)]


@given(commits, st.integers(0, 20_000), st.integers(1, 5_000))
def test_earlier_commits_do_not_change_which_later_ones_are_kept(
    history: list[Commit], since: int, distance: int
) -> None:
    since -= since % distance
    later = [commit for commit in history if commit.at_ms >= since]

    assert thin(later, distance) == [commit for commit in thin(history, distance) if commit.at_ms >= since]


@given(commits, st.integers(1, 5_000))
def test_thinning_twice_changes_nothing(history: list[Commit], distance: int) -> None:
    once = thin(history, distance)

    assert thin(once, distance) == once
