"""The days of share groups in a report: they have findings of their start offsets, and none of commits."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.history_reader import read_history
from tests.pipeline.build.builds import built
from tests.pipeline.build.test_share_groups import share
from tests.pipeline.fact_rows import NOON, ends

NOON_MS = int(NOON.timestamp() * 1_000)
DAY_MS = 86_400_000


def reported(directory: Path, *, log_start: int) -> History:
    """Return the report on a share group with a start offset of 5, whose log start offset is `log_start` at last."""
    shares = [share(seconds, 5, 3) for seconds in (0, 60)]
    log_ends = [ends(0, 20, start=0), ends(60, 20, start=log_start)]
    storage = built(directory, {"share_offsets": shares, "partition_offsets": log_ends})
    return read_history(storage, since_ms=NOON_MS - DAY_MS // 2, until_ms=NOON_MS + 120_000)


def test_a_share_group_has_no_findings_of_commits(tmp_path: Path) -> None:
    history = reported(tmp_path, log_start=2)
    (group,) = history.groups
    assert (group.group, group.lag, group.is_unused) == ("s", 3, False)
    assert [finding for finding in history.findings if finding.group is not None] == []
    assert not any("no commit" in sentence or "without a known log end" in sentence for sentence in history.missing)


def test_lost_records_of_a_share_group_are_those_below_its_start_offset(tmp_path: Path) -> None:
    (finding,) = (each for each in reported(tmp_path, log_start=9).findings if each.group is not None)
    assert (finding.kind, finding.message) == (
        "retention_risk",
        "Group s: its start offset is 4 records below the log start offset; it can no longer read them.",
    )
