"""`losing_data` from moves of the log start: never on simulated healthy groups, and before slow ones lose records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from kafka_groups.pipeline.build.frames import KeyProgress, LagMinima, LogStarts
from kafka_groups.pipeline.build.kernels.verdicts import RULE_NAMES, judge_observations
from kafka_groups.pipeline.frames.arrays import Flags, Floats, Ints
from kafka_groups.verdicts import Evidence, Limits, judge
from tests.verdicts.retention import RETENTIONS, Retention
from tests.verdicts.shapes import SHAPES, Fault
from tests.verdicts.simulation import LIMITS, make_streams
from tests.verdicts.streams import Stream, observe

HOUR_MS: Final = 3_600_000
FINE: Final = RETENTIONS[0]
COARSE: Final = RETENTIONS[2]
LOSING: Final = RULE_NAMES.index("losing_data")


class Judged(NamedTuple):
    """Evaluations of partitions: key, time, whether `losing_data` was given, and whether records were lost."""

    key: Ints
    at_s: Floats
    is_losing: Flags
    is_lost: Flags


def judge_streams(streams: Sequence[Stream], poll_s: float, retention: Retention) -> Judged:
    seen = observe(streams, poll_s, has_commits=True, retention=retention)
    before = (KeyProgress.empty(), LagMinima.empty(), LogStarts.empty())
    progress, _, _ = judge_observations(seen.observations, *before, LIMITS)
    observations = seen.observations
    return Judged(observations.key, seen.at_s, progress.rule == LOSING, observations.lost_records > 0)


def alarmed_cells(name: str, commits_s: Sequence[float], polls_s: Sequence[float]) -> list[str]:
    """Return the cells of a healthy shape with any evaluation `losing_data`."""
    alarmed = []
    for commit_s in commits_s:
        streams = make_streams(SHAPES[name], commit_s, hours=8, count=8)
        for poll_s, retention in product(polls_s, RETENTIONS):
            judged = judge_streams(streams, poll_s, retention)
            assert not judged.is_lost.any()
            if judged.is_losing.any():
                alarmed.append(f"{commit_s} s, {poll_s} s, {retention.name}: {judged.is_losing.mean():.2%}")
    return alarmed


def leads_min(slow: float, commit_s: float, poll_s: float, retention: Retention) -> list[float]:
    """Return how many minutes before its first lost record each stream that is slow by a share is `losing_data`."""
    fault = Fault(name=f"slow by {slow:.0%}", slow=slow)
    streams = make_streams(SHAPES["constant"], commit_s, hours=12, count=8, fault=fault)
    judged = judge_streams(streams, poll_s, retention)
    leads = []
    for key in range(len(streams)):
        at_s = [judged.at_s[(judged.key == key) & flags].min() for flags in (judged.is_losing, judged.is_lost)]
        leads.append((at_s[1] - at_s[0]) / 60)
    return leads


@pytest.mark.parametrize("name", ["constant", "hourly reader", "0.01 records/s", "bursts each 70 s"])
def test_healthy_groups_never_lose_data(name: str) -> None:
    assert alarmed_cells(name, [300], [60]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_healthy_groups_of_every_shape_never_lose_data(name: str) -> None:
    assert alarmed_cells(name, [5, 300], [60, 300]) == []


@pytest.mark.parametrize(("retention", "poll_s"), list(product((FINE, COARSE), (60, 300))))
def test_a_slow_group_is_warned_of_over_an_hour_before_it_loses_records(retention: Retention, poll_s: float) -> None:
    assert min(leads_min(0.3, 300, poll_s, retention)) > 60


def test_a_group_that_loses_records_by_the_third_move_is_not_warned_of_before() -> None:
    assert max(leads_min(0.5, 5, 60, COARSE)) == 0


CLOSE: Final = Evidence(
    lag=500,
    members=1,
    offset_changes=1,
    waiting_ms=0,
    silent_ms=0,
    usual_wait_ms=0,
    start_moves=3,
    loss_ms=20.0 * HOUR_MS,
    kept_ms=100.0 * HOUR_MS,
    unread_at_deletion=1,
)


@pytest.mark.parametrize(
    ("others", "rule"),
    [
        ({}, "losing_data"),
        ({"start_moves": 2}, "incomplete"),
        ({"start_moves": None, "loss_ms": None, "kept_ms": None, "unread_at_deletion": None}, "incomplete"),
        ({"unread_at_deletion": 0}, "incomplete"),
        ({"loss_ms": 20.0 * HOUR_MS + 1}, "incomplete"),
        ({"loss_ms": 24.0 * HOUR_MS, "kept_ms": 120.0 * HOUR_MS}, "losing_data"),
        ({"loss_ms": 24.0 * HOUR_MS + 1, "kept_ms": 500.0 * HOUR_MS}, "incomplete"),
        ({"lag": 0}, "no_lag"),
        ({"retention_left_ms": 20 * HOUR_MS, "retention_ms": 200 * HOUR_MS, "start_moves": 0}, "losing_data"),
    ],
)
def test_three_moves_an_old_lag_and_a_loss_within_the_alert_are_needed(others: dict[str, Any], rule: str) -> None:
    evidence = CLOSE._replace(**others)
    assert judge(evidence, Limits()) == rule


def test_a_longer_alert_warns_earlier() -> None:
    evidence = CLOSE._replace(loss_ms=30.0 * HOUR_MS, kept_ms=200.0 * HOUR_MS)
    assert judge(evidence, Limits()) == "incomplete"
    assert judge(evidence, Limits(retention_alert_ms=30 * HOUR_MS)) == "losing_data"


def test_the_log_start_of_every_retention_moves_by_segments() -> None:
    for retention in RETENTIONS:
        starts = retention.log_starts(np.arange(8 * 3_600).astype(np.float64) * 10)
        moves = np.unique(np.diff(starts[starts > 0]))
        assert moves.tolist() == [0, pytest.approx(retention.segment_s * 10, rel=0.5)]
