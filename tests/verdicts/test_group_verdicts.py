"""The verdict of a group, from those of its partitions."""

from __future__ import annotations

from kafka_groups.verdicts import NO_COMMITS, VERDICT_OF, Verdict, judge_group


def test_a_group_has_the_verdict_of_its_worst_partition() -> None:
    verdicts = [Verdict(VERDICT_OF[rule], rule, 1) for rule in ("no_lag", "stopped", "rewound", "incomplete")]
    assert judge_group(verdicts).rule == "stopped"
    assert judge_group(verdicts[2:]).rule == "rewound"
    assert judge_group([verdicts[0], verdicts[3]]).rule == "incomplete"


def test_of_equal_verdicts_the_rule_that_is_first_in_the_table_wins() -> None:
    verdicts = [Verdict("WARN", rule) for rule in ("slow_leak", "losing_data", "falling_behind")]
    assert judge_group(verdicts).rule == "losing_data"


def test_a_group_is_ok_since_its_last_partition_is() -> None:
    verdicts = [Verdict("OK", "no_lag", 30), Verdict("OK", "keeping_up", 20), Verdict("OK", "no_lag")]
    assert judge_group(verdicts) == Verdict("OK", "keeping_up", 30)


def test_a_group_has_an_alarm_since_its_first_partition_has() -> None:
    verdicts = [Verdict("WARN", "slow_leak", 10), Verdict("WARN", "falling_behind", 20), Verdict("OK", "no_lag", 1)]
    assert judge_group(verdicts) == Verdict("WARN", "falling_behind", 10)


def test_a_group_without_a_known_time_has_none() -> None:
    assert judge_group([Verdict("STOP", "stopped")]) == Verdict("STOP", "stopped", None)


def test_a_group_without_commits_is_unknown() -> None:
    assert judge_group([]) == Verdict("UNKNOWN", NO_COMMITS)
