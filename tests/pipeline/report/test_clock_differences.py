"""The finding on clocks of brokers that differ: one for each cluster, on its newest day."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_groups.pipeline.report.history import Finding
from kafka_groups.pipeline.report.history_reader import read_history
from tests.pipeline.build.builds import built, of
from tests.pipeline.fact_rows import NOON, Row, commit, event

DAY: Final = 86_400
START_MS: Final = int(NOON.timestamp() * 1_000)


def commits_across_a_move(ahead_s: float, *, seconds: int = 60, **others: Any) -> list[Row]:
    """Return a commit of the clock that is ahead, and one of the right clock at the same time, behind it in the log."""
    return [
        commit(seconds + ahead_s, 10, source=seconds, **others),
        commit(seconds, 20, source=seconds + 1, **others),
    ]


def clock_findings(directory: Path, commits: list[Row], events: Sequence[Row] = (), **options: Any) -> list[Finding]:
    """Return the findings on clocks in a report of the two days after NOON."""
    storage = built(directory, {"offset_commits": commits, "group_events": events})
    history = read_history(storage, since_ms=START_MS, until_ms=START_MS + 2 * DAY * 1_000, now_ms=5, **options)
    return [finding for finding in history.findings if finding.kind == "clock_difference"]


def test_a_coordinator_that_moves_to_another_clock_is_a_finding(tmp_path: Path) -> None:
    (finding,) = clock_findings(tmp_path, commits_across_a_move(20))

    assert (finding.cluster_id, finding.group, finding.topic) == ("c", None, None)
    assert finding.message == (
        "Broker clocks differ by at least 20s, or one was set back: commit times of group g fell by that on "
        "2026-11-20. Times of lag and of rebalances may be off by as much."
    )


@pytest.mark.parametrize(("ahead_s", "count"), [(0, 0), (4.999, 0), (5, 1)])
def test_clocks_are_reported_from_five_seconds_on(tmp_path: Path, ahead_s: float, count: int) -> None:
    assert len(clock_findings(tmp_path, commits_across_a_move(ahead_s))) == count


def test_a_cluster_has_one_finding_with_its_largest_difference(tmp_path: Path) -> None:
    commits = [*commits_across_a_move(20, group="a"), *commits_across_a_move(60, group="b")]
    others = of("other", commits_across_a_move(30, group="z"))

    findings = clock_findings(tmp_path, [*commits, *others])

    assert [(finding.cluster_id, finding.message.partition(",")[0]) for finding in findings] == [
        ("c", "Cluster c: broker clocks differ by at least 1m"),
        ("other", "Cluster other: broker clocks differ by at least 30s"),
    ]


def test_clocks_are_not_reported_if_they_differed_on_an_earlier_day(tmp_path: Path) -> None:
    assert clock_findings(tmp_path, [*commits_across_a_move(20), commit(DAY, 30, source=90)]) == []


def test_only_the_selected_groups_show_a_difference_of_clocks(tmp_path: Path) -> None:
    commits = [*commits_across_a_move(20, group="a"), *commits_across_a_move(60, group="b")]

    (finding,) = clock_findings(tmp_path, commits, groups=["a"])

    assert "of group a fell" in finding.message


def test_a_removed_group_shows_no_difference_of_clocks(tmp_path: Path) -> None:
    removal = event(120, "group_removed", "GroupMetadata", source=90, is_tombstone=True)

    assert clock_findings(tmp_path, [*commits_across_a_move(20), commit(119, None, source=89)], [removal]) == []
