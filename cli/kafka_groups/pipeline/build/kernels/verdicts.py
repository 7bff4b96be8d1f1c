"""Verdicts at all observations at once: the table of rules of `kafka_groups.verdicts`, over columns of evidence.

The first rule that holds gives the verdict. Tests hold this kernel and `kafka_groups.verdicts.judge` equal.

A group that stopped three minutes ago, and one that has no lag; unknown numbers are NaN:

    >>> evidence = {
    ...     "lag": np.array([30.0, 0.0]),
    ...     "offset_changes": np.array([9.0, 9.0]),
    ...     "silent_ms": np.array([180_000.0, 180_000.0]),
    ...     "usual_wait_ms": np.array([5_000.0, 5_000.0]),
    ... }
    >>> [RULE_NAMES[index] for index in judge_evidence(evidence, {}, Limits(), RULES[2:3] + RULES[9:10])]
    ['stopped', 'no_lag']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields, replace
from typing import Any, Final

import numpy as np

from kafka_groups.pipeline.build.frames import KeyProgress, LagMinima, LogStarts, Observations
from kafka_groups.pipeline.build.kernels.lag_minima import carry_minima, measure_growths
from kafka_groups.pipeline.build.kernels.log_starts import measure_deletion
from kafka_groups.pipeline.build.kernels.progress import (
    find_previous_offsets,
    measure_progress,
    usual_intervals,
    usual_waits,
)
from kafka_groups.pipeline.build.kernels.segments import is_segment_start, last_index_until, place_where, segment_starts
from kafka_groups.pipeline.frames.arrays import NULL, Array, Flags, Floats, Ints
from kafka_groups.verdicts import (
    KNOWN,
    OPERATORS,
    RULES,
    UNKNOWN,
    VERDICT_OF,
    VERDICTS,
    Comparison,
    Limits,
    Rule,
)

# The names of rules, from that of the best verdict to that of the worst; a rule is its index here.
RULE_NAMES: Final = tuple(VERDICT_OF)
# The rank of the verdict of each rule, 0 for OK.
RANK_OF_RULE: Final = np.array([VERDICTS.index(verdict) for verdict in VERDICT_OF.values()])

Evidence = Mapping[str, Floats]


def judge_observations(
    observations: Observations,
    carried_progress: KeyProgress,
    carried_minima: LagMinima,
    carried_starts: LogStarts,
    limits: Limits,
    rules: Sequence[Rule] = RULES,
) -> tuple[KeyProgress, LagMinima, LogStarts]:
    """Judge all observations; return the progress after each, with its verdict, and minima and log starts to carry on.

    `observations` are sorted by key and time; `carried_progress`, `carried_minima` and `carried_starts` come from
    earlier days.
    """
    progress, evidence = measure_progress(observations, carried_progress, limits)
    has_lag = observations.lag > limits.allowed_lag
    previous_offset = find_previous_offsets(observations, carried_progress)
    deletion_evidence, log_starts = measure_deletion(observations, previous_offset, carried_starts)
    known_evidence = {**{name: to_known(values) for name, values in evidence.items()}, **deletion_evidence}
    minima, growths = _measure_growths(observations, carried_minima, has_lag, progress)
    rule_of_row = judge_evidence(known_evidence, growths, limits, rules)
    verdict_since_ms = _find_verdict_starts(progress, carried_progress, rule_of_row)
    return replace(progress, rule=rule_of_row, verdict_since_ms=verdict_since_ms), minima, log_starts


def judge_evidence(
    evidence: Evidence, growths: Mapping[int, Evidence], limits: Limits, rules: Sequence[Rule] = RULES
) -> Ints:
    """Judge each row: return the first of `rules` that holds, by its index in RULE_NAMES.

    `evidence` has the columns of `verdicts.Evidence`, and `growths` those of `verdicts.Growth`, by the length of a
    third in ms. NaN is unknown.
    """
    row_count = len(next(iter(evidence.values())))
    limit_columns = {
        field.name: np.full(row_count, value) for field, value in zip(fields(limits), astuple(limits), strict=True)
    }
    columns: Evidence = {**evidence, **limit_columns}
    conditions = [_evaluate_rule(rule, columns, growths, row_count) for rule in rules]
    rule_index = np.select(conditions, [RULE_NAMES.index(rule.name) for rule in rules], RULE_NAMES.index("incomplete"))
    return rule_index.astype(np.int64)


def to_known(values: Array) -> Floats:
    """Return numbers as evidence, with NaN in place of NULL."""
    return np.where(values == NULL, np.nan, values.astype(np.float64))


def _evaluate_rule(rule: Rule, columns: Evidence, growths: Mapping[int, Evidence], row_count: int) -> Flags:
    """Return a mask of the rows at which a rule holds; a rule with thirds has to hold in one of its windows.

    `columns` are the evidence and the limits, `growths` as in `judge_evidence`.
    """
    windows = [columns]
    if rule.thirds_ms:
        windows = [{**columns, **growths[third_ms]} for third_ms in rule.thirds_ms if third_ms in growths]
    holds_in_any_window = np.zeros(row_count, np.bool_)
    for window in windows:
        holds_in_window = np.ones(row_count, np.bool_)
        for comparison in rule.comparisons:
            holds_in_window &= _compare(comparison, window)
        holds_in_any_window |= holds_in_window
    return holds_in_any_window


def _compare(comparison: Comparison, columns: Evidence) -> Any:
    """Return a mask of the rows at which a comparison holds; it does not hold with an unknown number (NaN)."""
    values = columns[comparison.name]
    if comparison.operator in (KNOWN, UNKNOWN):
        return np.isnan(values) == (comparison.operator == UNKNOWN)
    compared_values = columns[comparison.other] if isinstance(comparison.other, str) else comparison.other
    return OPERATORS[comparison.operator](values, compared_values * comparison.factor)


def _measure_growths(
    observations: Observations, carried_minima: LagMinima, has_lag: Flags, progress: KeyProgress
) -> tuple[LagMinima, dict[int, Evidence]]:
    """Return the minima that the next day needs, and the growth of the lag at each observation with a lag."""
    is_known = observations.lag != NULL
    column_names = LagMinima.names()
    day_minima = LagMinima(**{name: getattr(observations, name)[is_known] for name in column_names})
    all_minima = LagMinima.join(carried_minima, day_minima)
    order = np.lexsort((all_minima.at_ms, all_minima.log_number, all_minima.incarnation, all_minima.key))
    sorted_minima = all_minima.take(order)
    is_on_day = order >= len(carried_minima)
    is_wanted = np.zeros(len(sorted_minima), np.bool_)
    is_wanted[is_on_day] = has_lag[is_known]
    wait_ms = np.zeros(len(sorted_minima))
    interval_ms = np.zeros(len(sorted_minima))
    wait_ms[is_on_day] = usual_waits(progress)[is_known]
    interval_ms[is_on_day] = usual_intervals(progress)[is_known]
    growths: dict[int, Evidence] = {
        third_ms: {name: place_where(is_known, values[is_on_day]) for name, values in growth.items()}
        for third_ms, growth in measure_growths(sorted_minima, is_wanted, wait_ms, interval_ms).items()
    }
    return carry_minima(sorted_minima), growths


def _find_verdict_starts(progress: KeyProgress, carried_progress: KeyProgress, rule_of_row: Ints) -> Ints:
    """Return for each row when its verdict began (ms since 1970): no row of its key since then has another one.

    `carried_progress` has the verdicts of earlier days; `rule_of_row` is the rule of each row.
    """
    verdict_rank = RANK_OF_RULE[rule_of_row]
    start_index = segment_starts(progress.key)
    is_verdict_start = is_segment_start(progress.key, verdict_rank)
    since_ms = progress.at_ms[last_index_until(is_verdict_start, start_index)] if len(rule_of_row) else progress.at_ms
    key_count = int(max(progress.key.max(initial=-1), carried_progress.key.max(initial=-1))) + 1
    carried_rank = np.full(key_count, NULL)
    carried_rank[carried_progress.key] = RANK_OF_RULE[carried_progress.rule]
    carried_since_ms = np.full(key_count, NULL)
    carried_since_ms[carried_progress.key] = carried_progress.verdict_since_ms
    is_first_verdict = last_index_until(is_verdict_start, start_index) == start_index
    continues_carried_verdict = is_first_verdict & (carried_rank[progress.key] == verdict_rank)
    return np.where(continues_carried_verdict, carried_since_ms[progress.key], since_ms)
