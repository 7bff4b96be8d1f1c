"""Verdicts where log ends are sampled less often than a group commits, and where commits are known from samples alone.

Each story has a cluster of its own.
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.pipeline.build.builds import built, of, read, seconds_after_noon
from tests.pipeline.fact_rows import Row, commit, ends

MINUTE: Final = 60
BEFORE: Final = 0.1  # a sample requests the commits first, and then the log ends
RulesAt = dict[tuple[str, float], str]


def samples(minutes: int, committed: int, produced: int, *, until: int) -> tuple[list[Row], list[Row]]:
    """Return one sample a minute: commits and log ends grow by given numbers of records a minute."""
    times = range(minutes)
    commits = [commit(MINUTE * minute - BEFORE, 10 + committed * min(minute, until)) for minute in times]
    return commits, [ends(MINUTE * minute, 1_000 + produced * minute) for minute in times]


def samples_of_runs(minutes: int) -> tuple[list[Row], list[Row]]:
    """Return one sample a minute: 20 records are written a minute, and every five minutes all are read at once."""
    times = range(minutes)
    commits = [commit(MINUTE * minute - BEFORE, 1_000 + 20 * (minute // 5 * 5)) for minute in times]
    return commits, [ends(MINUTE * minute, 1_000 + 20 * minute) for minute in times]


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> RulesAt:
    """The rule of the partition, by cluster and minutes since noon."""
    slow = [commit(5 * index, 60 * index, source=index) for index in range(1, 337)]
    sampled = {
        "first": samples(18, 0, 0, until=0),
        "ended": samples(35, 10, 20, until=15),
        "runs": samples_of_runs(22),
    }
    facts = {
        "offset_commits": [*of("slow", slow), *(row for name in sampled for row in of(name, sampled[name][0]))],
        "partition_offsets": [
            *of("slow", (ends(MINUTE * minute, 60 * MINUTE * minute) for minute in range(29))),
            *(row for name in sampled for row in of(name, sampled[name][1])),
        ],
    }
    rows = read(built(tmp_path_factory.mktemp("sampled"), facts), "lag_history")
    return {(row["cluster_id"], (seconds_after_noon(row["observed_at"]) or 0) / MINUTE): row["rule"] for row in rows}


def rules_of(rules: RulesAt, cluster: str) -> list[str]:
    return [rule for (name, _), rule in sorted(rules.items()) if name == cluster]


def test_a_group_that_commits_between_samples_can_fall_behind(rules: RulesAt) -> None:
    # At noon it had not committed. In minute 25, the first of three thirds of ten minutes ends in minute 5.
    assert rules_of(rules, "slow") == [*["incomplete"] * 24, *["falling_behind"] * 4]


def test_an_offset_that_never_moved_is_stopped_after_15_minutes(rules: RulesAt) -> None:
    assert rules_of(rules, "first") == [*["incomplete"] * 15, *["stopped_unseen"] * 3]


def test_a_group_that_ended_is_stopped_though_samples_go_on(rules: RulesAt) -> None:
    # It moved once a minute, for the last time fifteen minutes after noon.
    assert rules_of(rules, "ended") == [*["incomplete"] * (15 + 2), *["stopped"] * (35 - 17)]


def test_a_group_that_reads_every_five_minutes_has_not_stopped_in_between(rules: RulesAt) -> None:
    # Three waits of five minutes show what is usual. Until then, its moves show that it reads all that samples saw.
    assert rules_of(rules, "runs") == [
        *["no_lag", *["incomplete"] * 4],
        *["no_lag", *["keeping_up"] * 4],
        *["no_lag", *["keeping_up"] * 4],
        *["no_lag", "keeping_up", *["batch"] * 3],
        *["no_lag", "keeping_up"],
    ]
