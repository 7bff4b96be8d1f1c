"""The rules of verdicts at their thresholds: just below, at and above them, and with unknown evidence."""

from __future__ import annotations

from typing import Any, Final

import pytest

from kafka_groups.verdicts import (
    HOUR_MS,
    LONG_THIRDS_MS,
    MINUTE_MS,
    NO_COMMITS,
    OUT_OF_ORDER,
    RULES,
    SHORT_THIRDS_MS,
    VERDICT_OF,
    VERDICTS,
    Comparison,
    Evidence,
    Growth,
    Limits,
    Rule,
    judge,
)

LIMITS: Final = Limits(allowed_lag=5, stop_after_ms=2 * MINUTE_MS)
# A group that moved a second ago and reads what is written.
READING: Final = Evidence(
    lag=50,
    members=2,
    offset_changes=9,
    waiting_ms=1_000,
    silent_ms=1_000,
    usual_wait_ms=10_000,
    repeated_commits=0,
    lost_records=0,
    unread_at_last_change=0,
)
# A lag that grows by 100 records of 1,000, evenly.
GROWTH: Final = Growth(
    grown=100,
    grown_early=50,
    grown_late=50,
    produced=1_000,
    records_per_poll=20,
    records_per_poll_share=5,
    chance_records=30,
    previous_floor=50,
    third_ms=SHORT_THIRDS_MS[0],
)


def judge_with(**changed: Any) -> str:
    return judge(READING._replace(**changed), LIMITS)


def judge_growth(window_ms: int, **changed: Any) -> str:
    return judge_with(growths={window_ms: GROWTH._replace(**changed)})


def test_an_unknown_lag_is_unknown_before_any_other_rule() -> None:
    assert judge_with(lag=None, lost_records=9, silent_ms=HOUR_MS) == "lag_unknown"


@pytest.mark.parametrize(("silent_ms", "rule"), [(2 * MINUTE_MS - 1, "keeping_up"), (2 * MINUTE_MS, "stopped")])
def test_a_wait_of_stop_after_is_stopped(silent_ms: int, rule: str) -> None:
    assert judge_with(silent_ms=silent_ms, waiting_ms=silent_ms) == rule


@pytest.mark.parametrize(("silent_ms", "rule"), [(15 * MINUTE_MS, "batch"), (15 * MINUTE_MS + 1, "stopped")])
def test_a_wait_above_one_and_a_half_usual_ones_is_stopped(silent_ms: int, rule: str) -> None:
    assert judge_with(silent_ms=silent_ms, usual_wait_ms=10 * MINUTE_MS) == rule


@pytest.mark.parametrize(("offset_changes", "rule"), [(1, "keeping_up"), (2, "stopped")])
def test_one_change_is_not_enough_for_stopped_with_members(offset_changes: int, rule: str) -> None:
    assert judge_with(offset_changes=offset_changes, silent_ms=2 * MINUTE_MS) == rule


@pytest.mark.parametrize(
    ("members", "empty_ms", "rule"),
    [
        (0, 2 * MINUTE_MS, "stopped"),
        (0, 2 * MINUTE_MS - 1, "keeping_up"),
        (0, None, "keeping_up"),
        (1, 2 * MINUTE_MS, "keeping_up"),
        (None, 2 * MINUTE_MS, "keeping_up"),
    ],
)
def test_without_members_stopped_needs_no_move(members: int | None, empty_ms: int | None, rule: str) -> None:
    assert judge_with(members=members, empty_ms=empty_ms, offset_changes=0, silent_ms=2 * MINUTE_MS) == rule


@pytest.mark.parametrize(
    ("offset_changes", "silent_ms", "rule"),
    [
        (0, 15 * MINUTE_MS - 1, "incomplete"),
        (0, 15 * MINUTE_MS, "stopped_unseen"),
        (1, 15 * MINUTE_MS, "stopped_unseen"),
        (2, 15 * MINUTE_MS, "stopped"),
    ],
)
def test_with_fewer_than_two_changes_fifteen_minutes_are_a_stop(offset_changes: int, silent_ms: int, rule: str) -> None:
    assert judge_with(offset_changes=offset_changes, silent_ms=silent_ms, unread_at_last_change=None) == rule


def test_a_longer_time_until_a_stop_counts_for_groups_that_were_not_seen_to_move() -> None:
    limits = Limits(stop_after_ms=HOUR_MS)
    unseen = READING._replace(offset_changes=0, unread_at_last_change=None)
    rules = [judge(unseen._replace(silent_ms=silent_ms), limits) for silent_ms in (HOUR_MS - 1, HOUR_MS)]
    assert rules == ["incomplete", "stopped_unseen"]


@pytest.mark.parametrize(("lag", "to_reach", "rule"), [(50, 0, "keeping_up"), (50, 1, "rewound"), (5, 1, "no_lag")])
def test_a_commit_below_an_earlier_one_is_rewound_while_it_lags(lag: int, to_reach: int, rule: str) -> None:
    assert judge_with(lag=lag, to_reach=to_reach) == rule


@pytest.mark.parametrize(
    ("repeated_commits", "waiting_ms", "rule"),
    [
        (2, 2 * MINUTE_MS, "keeping_up"),
        (3, 2 * MINUTE_MS - 1, "keeping_up"),
        (3, 2 * MINUTE_MS, "stalled"),
        (None, 2 * MINUTE_MS, "keeping_up"),
    ],
)
def test_three_commits_at_one_offset_are_stalled(repeated_commits: int | None, waiting_ms: int, rule: str) -> None:
    assert judge_with(repeated_commits=repeated_commits, waiting_ms=waiting_ms) == rule


@pytest.mark.parametrize(("waiting_ms", "rule"), [(15 * MINUTE_MS, "keeping_up"), (15 * MINUTE_MS + 1, "stalled")])
def test_commits_of_a_usual_wait_are_not_stalled(waiting_ms: int, rule: str) -> None:
    assert judge_with(repeated_commits=9, waiting_ms=waiting_ms, usual_wait_ms=10 * MINUTE_MS) == rule


@pytest.mark.parametrize(("lost_records", "rule"), [(0, "no_lag"), (1, "losing_data"), (None, "no_lag")])
def test_records_lost_before_the_group_read_them_are_losing_data(lost_records: int | None, rule: str) -> None:
    assert judge_with(lag=0, lost_records=lost_records) == rule


@pytest.mark.parametrize(
    ("retention_h", "left_ms", "rule"),
    [
        (7 * 24, 24 * HOUR_MS, "losing_data"),
        (7 * 24, 24 * HOUR_MS + 1, "keeping_up"),
        (10, 2 * HOUR_MS, "losing_data"),
        (10, 2 * HOUR_MS + 1, "keeping_up"),
        (10, -1, "losing_data"),
        (10, None, "keeping_up"),
        (None, None, "keeping_up"),
    ],
)
def test_records_near_to_their_deletion_are_losing_data(
    retention_h: int | None, left_ms: int | None, rule: str
) -> None:
    retention_ms = None if retention_h is None else retention_h * HOUR_MS
    assert judge_with(retention_ms=retention_ms, retention_left_ms=left_ms) == rule


@pytest.mark.parametrize(("lag", "rule"), [(0, "no_lag"), (5, "no_lag"), (6, "stopped")])
def test_an_allowed_lag_is_no_lag(lag: int, rule: str) -> None:
    assert judge_with(lag=lag, silent_ms=HOUR_MS) == rule


@pytest.mark.parametrize("third_ms", SHORT_THIRDS_MS)
def test_even_growth_of_a_short_window_is_falling_behind(third_ms: int) -> None:
    assert judge_growth(third_ms) == "falling_behind"


@pytest.mark.parametrize("third_ms", LONG_THIRDS_MS)
def test_even_growth_of_a_long_window_is_a_slow_leak(third_ms: int) -> None:
    assert judge_growth(third_ms) == "slow_leak"


@pytest.mark.parametrize(
    ("at_threshold", "above"),
    [
        ({"records_per_poll": 100 / 0.75}, {"records_per_poll": 133}),
        ({"records_per_poll_share": 100 / 3}, {"records_per_poll_share": 33}),
        ({"chance_records": 100 / 3}, {"chance_records": 33}),
        ({"grown_early": 20}, {"grown_early": 21}),
        ({"grown_late": 20}, {"grown_late": 21}),
        ({"previous_floor": 51}, {"previous_floor": 50}),
        ({"third_ms": 14_999}, {"third_ms": 15_000}),
    ],
    ids=lambda changed: next(iter(changed)),
)
@pytest.mark.parametrize("third_ms", [SHORT_THIRDS_MS[0], LONG_THIRDS_MS[0]])
def test_growth_within_chance_waits_or_one_third_is_no_alarm(
    third_ms: int, at_threshold: dict[str, float], above: dict[str, float]
) -> None:
    alarm = "falling_behind" if third_ms in SHORT_THIRDS_MS else "slow_leak"
    assert [judge_growth(third_ms, **changed) for changed in (at_threshold, above)] == ["keeping_up", alarm]


@pytest.mark.parametrize(
    ("third_ms", "produced", "rule"),
    [
        (SHORT_THIRDS_MS[0], 4_000, "keeping_up"),
        (SHORT_THIRDS_MS[0], 3_999, "falling_behind"),
        (LONG_THIRDS_MS[0], 20_000, "keeping_up"),
        (LONG_THIRDS_MS[0], 19_999, "slow_leak"),
    ],
)
def test_growth_is_a_share_of_what_is_produced(third_ms: int, produced: float, rule: str) -> None:
    assert judge_growth(third_ms, produced=produced) == rule


@pytest.mark.parametrize(("lag", "rule"), [(5, "no_lag"), (6, "falling_behind")])
def test_growth_within_the_allowed_lag_is_no_alarm(lag: int, rule: str) -> None:
    growth = GROWTH._replace(previous_floor=0)
    assert judge_with(lag=lag, growths={SHORT_THIRDS_MS[0]: growth}) == rule


@pytest.mark.parametrize(("offset_changes", "rule"), [(2, "keeping_up"), (3, "batch")])
def test_three_waits_make_a_batch_reader(offset_changes: int, rule: str) -> None:
    assert judge_with(offset_changes=offset_changes, silent_ms=5 * MINUTE_MS, usual_wait_ms=5 * MINUTE_MS) == rule


@pytest.mark.parametrize(("unread", "rule"), [(5, "keeping_up"), (6, "incomplete"), (None, "incomplete")])
def test_a_change_to_what_the_poll_before_saw_is_keeping_up(unread: int | None, rule: str) -> None:
    assert judge_with(unread_at_last_change=unread) == rule


def test_a_known_growth_without_an_alarm_is_keeping_up() -> None:
    growth = GROWTH._replace(grown=0, grown_early=0, grown_late=0)
    for third_ms in (*SHORT_THIRDS_MS, *LONG_THIRDS_MS):
        rule = "keeping_up" if third_ms == SHORT_THIRDS_MS[0] else "incomplete"
        assert judge_with(unread_at_last_change=None, growths={third_ms: growth}) == rule


def test_every_comparison_but_known_and_unknown_fails_on_unknown_evidence() -> None:
    for sign, other in ((">", 0), (">=", 0), ("<", 0), ("<=", 0), ("==", 0), (">", "lag")):
        rules = (Rule("stopped", "STOP", (Comparison("empty_ms", sign, other),)), RULES[-1])
        assert judge(READING, LIMITS, rules) == "incomplete"
    rules = (Rule("stopped", "STOP", (Comparison("lag", ">", "empty_ms"),)), RULES[-1])
    assert judge(READING, LIMITS, rules) == "incomplete"


def test_the_last_rule_always_holds() -> None:
    assert RULES[-1].comparisons == ()
    assert RULES[-1].thirds_ms == ()


def test_a_rule_needs_all_evidence_that_is_not_tested_for_absence() -> None:
    assert RULES[0].needs() == ()
    assert RULES[1].needs() == ("lag", "members", "empty_ms", "silent_ms")


def test_all_comparisons_name_evidence_growth_or_limits() -> None:
    names = {*Evidence._fields, *Growth._fields, "allowed_lag", "stop_after_ms", "retention_alert_ms"}
    used = {name for rule in RULES for each in rule.comparisons for name in (each.name, each.other)}
    assert {name for name in used if isinstance(name, str) and name} <= names


def test_verdicts_are_ranked_from_ok_to_stop() -> None:
    assert VERDICTS == ("OK", "UNKNOWN", "WARN", "STALL", "REWIND", "STOP")


def test_rules_are_ranked_by_their_verdicts() -> None:
    ranks = [VERDICTS.index(verdict) for verdict in VERDICT_OF.values()]
    assert ranks == sorted(ranks)
    assert {rule.name: rule.verdict for rule in RULES} | dict.fromkeys((NO_COMMITS, OUT_OF_ORDER), "UNKNOWN") == dict(
        VERDICT_OF
    )


@pytest.mark.parametrize("limits", [{"allowed_lag": -1}, {"stop_after_ms": -1}, {"retention_alert_ms": -1}])
def test_negative_limits_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        Limits(**limits)


def test_limits_of_zero_are_allowed() -> None:
    rules = [judge(READING._replace(silent_ms=waited, usual_wait_ms=0), Limits(stop_after_ms=0)) for waited in (0, 1)]
    assert [VERDICT_OF[rule] for rule in rules] == ["OK", "STOP"]
