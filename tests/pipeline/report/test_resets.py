"""The finding on known resets: one for each group, from all days of the period, and never for a rewind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_groups.pipeline.report.history import Finding, History
from kafka_groups.pipeline.report.history_reader import read_history
from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends

DAY_S: Final = 86_400
START_MS: Final = int(NOON.timestamp() * 1_000)


def sampled(*offsets: int, members: int = 0, partition: int = 0, step_s: int = 60, group: str = "g") -> list[Row]:
    """Return samples of a commit, one after another; all see this number of members."""
    return [
        commit(place * step_s, offset, member_count=members, partition=partition, group=group)
        for place, offset in enumerate(offsets, 1)
    ]


def report(directory: Path, commits: Sequence[Row], **options: Any) -> History:
    """Return a report of the two days after NOON, with a log end a second after each commit."""
    times = {((row["commit_time"] - NOON).total_seconds(), row["partition"]) for row in commits}
    log_ends = [ends(seconds + 1, 1_000, partition=partition) for seconds, partition in sorted(times)]
    storage = built(directory, {"offset_commits": commits, "partition_offsets": log_ends})
    return read_history(storage, since_ms=START_MS, until_ms=START_MS + 2 * DAY_S * 1_000, now_ms=5, **options)


def resets_in(history: History) -> list[Finding]:
    return [finding for finding in history.findings if finding.kind == "known_reset"]


def test_a_reset_without_members_is_a_finding_with_offsets_and_time(tmp_path: Path) -> None:
    history = report(tmp_path, sampled(500, 300, 300))

    (finding,) = resets_in(history)
    assert (finding.cluster_id, finding.group, finding.topic) == ("c", "g", None)
    assert finding.message == (
        "Group g: its offset on t-0 was set back from 500 to 300, no later than 2026-11-20T12:02:01.000Z. "
        "It had no members in a sample, so this is a reset, and no REWIND."
    )
    assert [group.rule for group in history.groups] != ["rewound"]


@pytest.mark.parametrize("members", [1, None])
def test_an_offset_that_members_may_have_set_back_is_no_finding(tmp_path: Path, members: Any) -> None:
    history = report(tmp_path, sampled(500, 300, 300, members=members))

    assert resets_in(history) == []
    assert [group.rule for group in history.groups] == ["rewound"]


def test_resets_of_several_partitions_and_days_are_one_finding(tmp_path: Path) -> None:
    commits = [*sampled(500, 400, 450), *sampled(500, 7, partition=1, step_s=DAY_S - 600)]

    (finding,) = resets_in(report(tmp_path, commits))
    assert "its offsets were set back 2 times, the last time on t-1 from 500 to 7, no later than" in finding.message


def test_only_selected_groups_that_exist_have_a_finding(tmp_path: Path) -> None:
    commits = [*sampled(500, 300), *sampled(500, 300, group="other")]

    history = report(tmp_path, commits, groups=["other"])
    assert [finding.group for finding in resets_in(history)] == ["other"]


def test_the_row_after_a_reset_has_the_highest_offset_before_it(tmp_path: Path) -> None:
    # Records show a commit that no sample saw.
    commits = [
        *sampled(500, 300, 300),
        commit(61, 500, source=1),
        commit(90, 800, source=2),
        commit(120.5, 300, source=3),
    ]
    log_ends = [ends(seconds, 1_000) for seconds in (62, 121, 181)]
    storage = built(tmp_path, {"offset_commits": commits, "partition_offsets": log_ends})

    rows = read(storage, "lag_history")
    assert [(row["observed_at"], row["offset_before_reset"]) for row in rows] == [
        (at(62), None),
        (at(121), 800),
        (at(181), None),
    ]
