"""The kernel gives the verdicts of `kafka_groups.verdicts` on the same evidence, and reads the same table of rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Final

import numpy as np
import pytest

from kafka_groups.groups.lag.progress import Observation
from kafka_groups.pipeline.build.frames import KeyProgress, LagMinima, LogStarts, Observations
from kafka_groups.pipeline.build.kernels.lag_minima import measure_growths
from kafka_groups.pipeline.build.kernels.progress import carry_progress
from kafka_groups.pipeline.build.kernels.verdicts import RULE_NAMES, judge_evidence, judge_observations
from kafka_groups.pipeline.frames.arrays import NULL, Floats
from kafka_groups.verdicts import (
    LONG_THIRDS_MS,
    NO_COMMITS,
    OUT_OF_ORDER,
    RULES,
    SHORT_THIRDS_MS,
    VERDICT_OF,
    Comparison,
    Evidence,
    Growth,
    Limits,
    Rule,
    judge,
)
from tests.verdicts.random_polls import judge_polls, random_polls

LIMITS: Final = (Limits(), Limits(stop_after_ms=30_000), Limits(allowed_lag=5, stop_after_ms=0))
# Polls see no commits. No comparison judges a group without commits, and a share group.
RULES_OF_POLLS: Final = {*VERDICT_OF} - {"stalled", NO_COMMITS, OUT_OF_ORDER}
THIRDS_MS: Final = (*SHORT_THIRDS_MS, *LONG_THIRDS_MS)
Verdicts = list[tuple[str, int]]


def to_observations(polls: Sequence[tuple[int, Observation]]) -> Observations:
    def column(values: list[int | None]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.array([NULL if value is None else value for value in values], np.int64)

    zeros, unknown = np.zeros(len(polls), np.int64), np.full(len(polls), NULL)
    return Observations(
        key=column([key for key, _ in polls]),
        incarnation=zeros,
        log_number=zeros,
        at_ms=column([poll.at_ms for _, poll in polls]),
        committed_offset=column([poll.offset for _, poll in polls]),
        log_start=unknown,
        log_end=column([poll.end for _, poll in polls]),
        lag=column([poll.lag for _, poll in polls]),
        lost_records=column([max(0, poll.start - poll.offset) for _, poll in polls]),
        member_count=column([poll.members for _, poll in polls]),
        commit_ms=unknown,
        repeated_commits=unknown,
        highest_offset=column([poll.offset for _, poll in polls]),
    )


def judge_days(
    polls_of_keys: Sequence[Sequence[Observation]],
    limits: Limits,
    rules: Sequence[Rule] = RULES,
    *,
    cuts: Sequence[float] = (),
) -> list[Verdicts]:
    """Return what the kernel gives at each poll of each key, if every key's polls are cut into days at these shares."""
    carried = KeyProgress.empty()
    floors = LagMinima.empty()
    starts = LogStarts.empty()
    judged: list[Verdicts] = [[] for _ in polls_of_keys]
    bounds = (0, *cuts, 1)
    for since, until in pairwise(bounds):
        day = [
            (key, poll)
            for key, polls in enumerate(polls_of_keys)
            for poll in polls[int(since * len(polls)) : int(until * len(polls))]
        ]
        progress, floors, starts = judge_observations(to_observations(day), carried, floors, starts, limits, rules)
        carried = carry_progress(carried, progress)
        for key, rule, since_ms in zip(progress.key, progress.rule, progress.verdict_since_ms, strict=True):
            judged[key].append((RULE_NAMES[rule], int(since_ms)))
    return judged


def compare_seeds(seeds: range) -> Counter[str]:
    """Return how often each rule was given, after both judges gave the same ones on the polls of all seeds."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        chance = Random(seed)
        polls_of_keys = [random_polls(chance) for _ in range(8)]
        limits, cuts = chance.choice(LIMITS), sorted(chance.random() for _ in range(seed % 3))
        expected = [judge_polls(polls, limits) for polls in polls_of_keys]
        assert judge_days(polls_of_keys, limits, cuts=cuts) == expected, (seed, limits, cuts)
        counts.update(rule for verdicts in expected for rule, _ in verdicts)
    return counts


def test_polls_and_days_of_history_get_equal_verdicts() -> None:
    assert set(compare_seeds(range(12))) == RULES_OF_POLLS


@pytest.mark.slow
def test_very_many_polls_and_days_get_equal_verdicts() -> None:
    assert set(compare_seeds(range(1_000, 1_250))) == RULES_OF_POLLS


def random_evidence(chance: Random) -> Evidence:
    """Return evidence with numbers near the thresholds of rules, many of them unknown."""

    def some(*values: int | None) -> int | None:
        return chance.choice(values)

    minute = 60_000
    growths = {}
    for third_ms in THIRDS_MS:
        if chance.random() < 0.5:
            produced = chance.choice((0, 400, 10_000))
            early, late = (chance.randrange(-50, 300) for _ in range(2))
            wait = chance.choice((0.0, 10.0, 200.0))
            growths[third_ms] = Growth(
                early + late, early, late, produced, wait, wait / 8, produced**0.5, chance.randrange(60), third_ms
            )
    return Evidence(
        lag=some(None, 0, 5, 6, 50),
        members=some(None, 0, 0, 1),
        offset_changes=chance.randrange(5),
        waiting_ms=chance.choice((0, 2 * minute - 1, 2 * minute, 20 * minute)),
        silent_ms=chance.choice((0, 2 * minute - 1, 2 * minute, 15 * minute - 1, 15 * minute)),
        usual_wait_ms=chance.choice((0, 80_000, 10 * minute, 60 * minute)),
        empty_ms=some(None, 0, 2 * minute),
        repeated_commits=some(None, 2, 3),
        to_reach=chance.choice((0, 0, 0, 1)),
        lost_records=some(None, 0, 0, 1),
        start_moves=some(None, 2, 3),
        loss_ms=some(None, 0, 12 * 60 * minute, 25 * 60 * minute),
        kept_ms=some(None, 60 * 60 * minute, 1_000 * 60 * minute),
        unread_at_deletion=some(None, 0, 1),
        unread_at_last_change=some(None, 0, 5, 6),
        growths=growths,
    )


def judge_columns(rows: Sequence[Evidence], limits: Limits, rules: Sequence[Rule]) -> list[str]:
    """Return the rules that the kernel gives on rows of evidence."""

    def column(values: Iterator[float | None]) -> Floats:
        return np.array([np.nan if value is None else value for value in values], np.float64)

    evidence = {name: column(getattr(row, name) for row in rows) for name in Evidence._fields if name != "growths"}
    growths = {
        third_ms: {
            name: column(getattr(row.growths.get(third_ms), name, None) for row in rows) for name in Growth._fields
        }
        for third_ms in THIRDS_MS
    }
    return [RULE_NAMES[index] for index in judge_evidence(evidence, growths, limits, rules)]


def compare_evidence(rules: Sequence[Rule]) -> Counter[str]:
    """Return how often each rule was given, after both judges gave the same ones on random evidence."""
    chance = Random(len(rules))
    rows = [random_evidence(chance) for _ in range(2_000)]
    counts: Counter[str] = Counter()
    for limits in LIMITS:
        expected = [judge(row, limits, rules) for row in rows]
        assert judge_columns(rows, limits, rules) == expected
        counts.update(expected)
    return counts


def test_polls_and_history_have_the_same_rule_on_the_same_evidence() -> None:
    assert set(compare_evidence(RULES)) == {*VERDICT_OF} - {NO_COMMITS, OUT_OF_ORDER}


def change(rule_name: str, old: Comparison, new: Comparison) -> tuple[Rule, ...]:
    """Return the table with another comparison in the rules of a name."""
    rules = tuple(
        rule._replace(comparisons=tuple(new if each == old else each for each in rule.comparisons))
        if rule.name == rule_name
        else rule
        for rule in RULES
    )
    assert rules != RULES
    return rules


CHANGES: Final = {
    "threshold": ("stopped", Comparison("silent_ms", ">", "usual_wait_ms", 1.5), 3.0, ">"),
    "comparison": ("rewound", Comparison("to_reach", ">", 0), 1.0, "<"),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_a_changed_rule_changes_verdicts_of_polls_and_of_history_equally(changed: str) -> None:
    rule_name, old, factor, sign = CHANGES[changed]
    rules = change(rule_name, old, old._replace(factor=factor, operator=sign))
    chance = Random(5)
    polls_of_keys = [random_polls(chance) for _ in range(10)]
    before = judge_days(polls_of_keys, Limits())
    after = judge_days(polls_of_keys, Limits(), rules)
    assert before == [judge_polls(polls, Limits()) for polls in polls_of_keys]
    assert after == [judge_polls(polls, Limits(), rules) for polls in polls_of_keys]
    given = [sum(rule == rule_name for verdicts in judged for rule, _ in verdicts) for judged in (before, after)]
    assert given[0] != given[1]
    assert compare_evidence(rules)


def test_the_kernel_measures_every_field_of_growth() -> None:
    size = 7
    rows = LagMinima(
        key=np.zeros(size, np.int64),
        incarnation=np.zeros(size, np.int64),
        log_number=np.zeros(size, np.int64),
        at_ms=np.arange(size) * 600_000,
        lag=np.arange(size) * 10,
        log_end=np.arange(size) * 100,
    )
    growths = measure_growths(rows, np.ones(size, np.bool_), np.full(size, 60_000.0), np.full(size, 60_000.0))
    assert set(growths) == set(THIRDS_MS)
    assert {tuple(growth) for growth in growths.values()} == {Growth._fields}


def test_no_observations_give_no_verdicts() -> None:
    before = (KeyProgress.empty(), LagMinima.empty(), LogStarts.empty())
    assert [len(after) for after in judge_observations(to_observations([]), *before, Limits())] == [0, 0, 0]
