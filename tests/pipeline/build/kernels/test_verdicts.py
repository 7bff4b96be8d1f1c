"""The rules on many windows at once give the verdicts of `kafka_groups.verdicts` on each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from kafka_groups.pipeline.build.kernels.evidence_windows import Evidence
from kafka_groups.pipeline.build.kernels.verdicts import RULES, judge_evidence
from kafka_groups.pipeline.build.partition_batch import PartitionBatch
from kafka_groups.pipeline.build.partition_stage import build_partition_days
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.frames.arrays import NULL
from kafka_groups.verdicts import SAMPLE_POINTS, Point, Rules, Window, judge, sampled_window
from tests.pipeline.build.facts import stage_facts
from tests.verdict_cases import CASES, Case
from tests.verdict_streams import RULES as STREAM_RULES
from tests.verdict_streams import Scenario, commit_windows, simulate

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def evidence_of(window: Window, rules: Rules) -> Evidence:
    slots = list(window.commits)[-rules.intervals :]
    missing = rules.intervals - len(slots)

    def matrix(values: Sequence[int | None]) -> Any:
        return np.array([[NULL] * missing + [NULL if value is None else value for value in values]], np.int64)

    last = ([Point(NULL, NULL, 0)] * SAMPLE_POINTS + list(window.points))[-SAMPLE_POINTS:]
    assert window.current_lag is not None
    return Evidence(
        at_ms=np.array([window.now_ms]),
        current_lag=np.array([window.current_lag]),
        min_end=np.array([min(window.ends, default=NULL)]),
        is_sampled=np.array([window.is_sampled]),
        slot_ms=matrix([commit.at_ms for commit in slots]),
        committed_offset=matrix([commit.offset for commit in slots]),
        commit_lag=matrix([commit.lag for commit in slots]),
        point_end=np.array([[point.end for point in last]]),
        point_lag=np.array([[point.lag for point in last]]),
    )


@pytest.mark.parametrize("case", [case for case in CASES if case.window.current_lag is not None], ids=lambda c: c.name)
def test_a_window_gets_the_rule_of_the_table(case: Case) -> None:
    judged = judge_evidence(evidence_of(case.window, case.rules), case.rules)
    assert RULES[judged.rule[0]] == case.rule
    assert judged.complete[0] == judge(case.window, case.rules).complete


def judged_by_the_stage(facts: Any) -> list[str]:
    staged = stage_facts(facts)
    batch = PartitionBatch.from_rows(staged.rows)
    days = build_partition_days(batch, StageSettings(staged.days, STREAM_RULES, 7), staged.summary)
    return [RULES[rule] for day in days for rule in day.statuses.rule]


def facts_of(scenario: Scenario, *, is_sampled: bool) -> Any:
    history = simulate(scenario)
    same = {"cluster_id": "c", "topic": "t", "partition": 0}

    def at(ms: int) -> datetime:
        return MIDNIGHT + timedelta(milliseconds=ms)

    offsets: list[tuple[int, int, int | None]]
    if is_sampled:
        offsets = [(each.at_ms, each.offset, None) for each in history.samples]
    else:
        offsets = [(each.at_ms, each.offset, index) for index, each in enumerate(history.commits)]
    commits = [
        same
        | {"group": "g", "commit_time": at(ms), "committed_offset": offset, "tombstone": False, "source_offset": source}
        | {"origin": "topic" if source is not None else "sample"}
        for ms, offset, source in offsets
    ]
    ends = [same | {"origin": "sample", "observed_at": at(e.at_ms), "log_end_offset": e.offset} for e in history.ends]
    return {"offset_commits": commits, "partition_offsets": ends}


@pytest.mark.parametrize("reads", [1.0, 0.9])
@pytest.mark.parametrize("stream", ["constant", "wave", "poisson"])
@pytest.mark.parametrize(("commit_s", "sample_s"), [(1, 60), (5, 15), (37, 15)])
def test_the_stage_judges_a_stream_as_the_rules_do(stream: str, commit_s: int, sample_s: int, reads: float) -> None:
    scenario = Scenario(stream=stream, commit_s=commit_s, sample_s=sample_s, reads=reads, evaluations=1_500 // sample_s)
    history = simulate(scenario)
    wanted = [judge(window, STREAM_RULES).rule for window in commit_windows(history) if window.commits]
    assert judged_by_the_stage(facts_of(scenario, is_sampled=False)) == wanted
    windows = (sampled_window(history.samples[:until], STREAM_RULES) for until in range(1, len(history.samples) + 1))
    sampled = [judge(window, STREAM_RULES).rule for window in windows]
    assert judged_by_the_stage(facts_of(scenario, is_sampled=True)) == sampled
