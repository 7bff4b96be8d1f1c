"""Moves of the log start: the kernel measures what the plain definition does, however days are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any, Final

import numpy as np
import pytest

from kafka_groups.pipeline.build.frames import KeyProgress, LogStarts, Observations
from kafka_groups.pipeline.build.kernels.log_starts import measure_deletion
from kafka_groups.pipeline.build.kernels.observations import new_observations
from kafka_groups.pipeline.build.kernels.progress import (
    carry_progress,
    find_previous_offsets,
    measure_progress,
)
from kafka_groups.pipeline.frames.arrays import NULL
from kafka_groups.verdicts import Limits
from tests.pipeline.plain_verdicts import Seen
from tests.pipeline.plain_verdicts import measure_deletion as measure_plainly

NAMES: Final = ("start_moves", "loss_ms", "kept_ms", "unread_at_deletion")
START_MS: Final = 1_790_000_000_000
Evidence = list[dict[str, Any]]


def random_observations(chance: Random) -> list[Seen]:
    """Return observations of a group on a log whose start moves by retention, or follows the commit."""
    is_purged = chance.random() < 0.3
    at_ms, offset, end, start, log = START_MS, 100, 100, 100, 0
    seen = []
    for _ in range(chance.choice((1, 20, 60))):
        at_ms += chance.randrange(1, 600_000)
        end += chance.randrange(100)
        before = offset
        if chance.random() < 0.7:
            offset = chance.randrange(offset, end + 1)
        if chance.random() < 0.4:
            start = chance.randrange(before, offset + 1) if is_purged else min(end, start + chance.randrange(90))
        if chance.random() < 0.03:
            offset, end, start, log = 0, 10, 0, log + 1
        # A broker that was no longer the leader may have returned an old log start.
        shown = max(0, start - 50) if chance.random() < 0.05 else start
        seen.append(Seen(at_ms, offset, end, shown, log))
    return seen


def to_observations(rows: Sequence[tuple[int, Seen]]) -> Observations:
    def column(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.array([getattr(seen, name) for _, seen in rows], np.int64)

    observations = new_observations(
        at_ms=column("at_ms"), committed_offset=column("offset"), log_end=column("end"), log_start=column("start")
    )
    return replace(observations, key=np.array([key for key, _ in rows], np.int64), log_number=column("log"))


def measure_days(keys: Sequence[Sequence[Seen]], cuts: Sequence[float]) -> list[Evidence]:
    """Return what the kernel measures at each observation of each key, cut into days at these shares."""
    carried = KeyProgress.empty()
    starts = LogStarts.empty()
    measured: list[Evidence] = [[] for _ in keys]
    for since, until in pairwise((0, *cuts, 1)):
        rows = [
            (key, seen) for key, own in enumerate(keys) for seen in own[int(since * len(own)) : int(until * len(own))]
        ]
        observations = to_observations(rows)
        evidence, starts = measure_deletion(observations, find_previous_offsets(observations, carried), starts)
        progress, _ = measure_progress(observations, carried, Limits())
        carried = carry_progress(carried, replace(progress, rule=np.zeros(len(progress), np.int64)))
        for place, (key, _) in enumerate(rows):
            measured[key].append({name: float(evidence[name][place]) for name in NAMES})
    return measured


@pytest.mark.parametrize("seed", range(30))
def test_days_of_history_measure_what_all_observations_show(seed: int) -> None:
    chance = Random(seed)
    keys = [random_observations(chance) for _ in range(6)]
    cuts = sorted(chance.random() for _ in range(seed % 4))
    measured = measure_days(keys, cuts)
    for own, rows in zip(keys, measured, strict=True):
        for count, row in enumerate(rows, 1):
            of_log = [seen for seen in own[:count] if seen.log == own[count - 1].log]
            expected = measure_plainly(of_log)
            assert row == pytest.approx({name: expected.get(name, np.nan) for name in NAMES}, nan_ok=True), (
                seed,
                count,
            )


def test_no_observation_measures_nothing_and_keeps_what_was_carried() -> None:
    carried = LogStarts(**{name: np.array([7]) for name in LogStarts.names()})
    evidence, starts = measure_deletion(to_observations([]), np.zeros(0, np.int64), carried)
    assert {name: len(values) for name, values in evidence.items()} == dict.fromkeys(NAMES, 0)
    assert starts.log_start.tolist() == [7]


def test_a_log_start_that_follows_the_commit_is_not_judged() -> None:
    # Kafka Streams deletes what it has read of a repartition topic.
    offsets = np.arange(8) * 100
    observations = new_observations(
        at_ms=START_MS + np.arange(8) * 30_000,
        committed_offset=offsets + 20,
        log_end=offsets + 500,
        log_start=np.maximum(0, offsets - 80),
    )
    previous_offset = find_previous_offsets(observations, KeyProgress.empty())
    evidence, starts = measure_deletion(observations, previous_offset, LogStarts.empty())
    assert evidence["start_moves"].tolist() == [0] * 8
    assert starts.log_start.tolist() == [620]


def test_an_unknown_log_start_is_no_move() -> None:
    seen = [Seen(START_MS + place * 1_000, 50, 90, start, log=0) for place, start in enumerate((0, 10, 20, 30, 30))]
    observations = to_observations([(0, one) for one in seen])
    observations = replace(observations, log_start=np.array([0, 10, NULL, 30, NULL]))
    evidence, _ = measure_deletion(observations, np.full(5, 50), LogStarts.empty())
    assert evidence["start_moves"].tolist() == [0, 1, 1, 2, 2]
