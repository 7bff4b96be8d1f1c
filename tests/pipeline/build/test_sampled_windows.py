"""Verdicts where log ends are sampled less often than a group commits, and where commits are known from samples alone.

Each story has a cluster of its own.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

from kafka_groups.pipeline.build.frames import WindowCommits
from kafka_groups.pipeline.build.kernels.committed_offsets import new_commits
from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
from kafka_groups.pipeline.build.kernels.verdict_evidence import find_context, find_window_commits
from kafka_groups.pipeline.frames.arrays import NULL
from kafka_groups.verdicts import COMMIT_POINTS, SAMPLE_POINTS
from tests.pipeline.build.builds import built, of, read, seconds_after_noon
from tests.pipeline.fact_rows import Row, commit, ends

MINUTE: Final = 60
BEFORE: Final = 0.1  # a sample requests the commits first, and then the log ends
RulesAt = dict[tuple[str, float], str]


@pytest.mark.parametrize(
    ("is_record", "lags"),
    [
        # The last log end that was known at the time. Before the first one nothing was.
        (True, [NULL, 90, 90, 90, 150, 150, 30]),
        # The log end of the sample's own run, which comes after it.
        (False, [90, 90, 150, 150, 150, 30, 60]),
    ],
    ids=["records", "samples"],
)
def test_the_lag_at_a_commit_is_that_of_the_log_end_at_its_time(is_record: bool, lags: list[int]) -> None:
    at_us, ends_us = (np.array(times) * 1_000_000 for times in ([-30, 0, 15, 45, 60, 90, 150], [0, 60, 120, 180]))
    commits = new_commits(
        key=np.zeros(len(at_us), np.int64),
        at_us=at_us,
        committed_offset=10 + np.arange(len(at_us)),
        source_offset=np.arange(len(at_us)) if is_record else np.full(len(at_us), NULL),
    )
    log_ends = new_log_ends(
        partition=np.zeros(len(ends_us), np.int64),
        at_us=ends_us,
        log_end=np.array([100, 160, 40, 70]),
    )
    partition_of_key = np.zeros(1, np.int64)
    context = find_context(commits, log_ends, partition_of_key)
    found = find_window_commits(WindowCommits.empty(), commits, log_ends, context, slot_length_ms=1_000)
    advanced = np.arange(len(at_us))
    expected = [lag if lag == NULL else lag - moved for lag, moved in zip(lags, advanced.tolist(), strict=True)]
    assert found.lag.tolist() == expected


def samples(minutes: int, committed: int, produced: int, *, until: int) -> tuple[list[Row], list[Row]]:
    """Samples of each minute: a group that moves by so much a minute until then, and log ends that grow by so much."""
    times = range(minutes)
    commits = [commit(MINUTE * minute - BEFORE, 10 + committed * min(minute, until)) for minute in times]
    return commits, [ends(MINUTE * minute, 1_000 + produced * minute) for minute in times]


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> RulesAt:
    """The rule of the partition, by cluster and minutes since noon."""
    slow = [commit(5 * index, 60 * index, source=index) for index in range(1, 121)]
    of_first, ends_of_first = samples(13, 0, 0, until=0)
    of_ended, ends_of_ended = samples(35, 10, 20, until=15)
    facts = {
        "offset_commits": [*of("slow", slow), *of("first", of_first), *of("ended", of_ended)],
        "partition_offsets": [
            *of("slow", (ends(MINUTE * minute, 60 * MINUTE * minute) for minute in range(11))),
            *of("first", ends_of_first),
            *of("ended", ends_of_ended),
        ],
    }
    rows = read(built(tmp_path_factory.mktemp("sampled"), facts), "lag_history")
    return {(row["cluster_id"], (seconds_after_noon(row["observed_at"]) or 0) / MINUTE): row["rule"] for row in rows}


def rules_of(rules: RulesAt, cluster: str) -> list[str]:
    return [rule for (name, _), rule in sorted(rules.items()) if name == cluster]


def test_a_group_that_commits_between_samples_can_fall_behind(rules: RulesAt) -> None:
    # At noon it had not committed. Each later sample is a point.
    assert rules_of(rules, "slow") == [
        *["lag_unknown"] * (COMMIT_POINTS - 1),
        *["falling_behind"] * (11 - COMMIT_POINTS),
    ]


def test_an_offset_that_never_moved_is_stopped_after_ten_minutes(rules: RulesAt) -> None:
    assert rules_of(rules, "first") == [*["incomplete"] * 10, *["stopped"] * 3]


def test_a_group_that_ended_is_stopped_though_samples_go_on(rules: RulesAt) -> None:
    # The window is full and nine minutes long; the last commit was fifteen minutes after noon.
    stopped = 15 + 9
    assert rules_of(rules, "ended") == [
        "incomplete",
        *["lag_unknown"] * (SAMPLE_POINTS - 2),
        *["falling_behind"] * (stopped - SAMPLE_POINTS + 1),
        *["stopped"] * (35 - stopped),
    ]
