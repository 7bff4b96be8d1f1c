"""A report names groups whose last commit is too old for the dates that were built last, as of these dates only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafka_groups.pipeline.report.history_reader import read_history
from tests.pipeline.build.builds import built, of
from tests.pipeline.fact_rows import NOON, commit

DAY = 86_400


def test_groups_without_rows_are_named_if_the_period_ends_with_the_last_date(tmp_path: Path) -> None:
    """Cluster `away` was not read again, so that its groups are not known to be stale."""
    same = commit(-9 * DAY, 1, source=1, group="same")
    facts = [*of("away", [same])]
    for cluster in ("a", "b"):
        facts += of(cluster, [same, commit(0, 1, source=2, group="young")])
    storage = built(tmp_path, {"offset_commits": facts})

    def sentences(until: float, **wanted: Any) -> list[str]:
        until_ms = int((NOON.timestamp() + until) * 1_000)
        history = read_history(storage, since_ms=until_ms - DAY * 1_000, until_ms=until_ms, **wanted)
        return [sentence for sentence in history.missing if "no row since then" in sentence]

    assert sentences(0) == [
        "1 group has no commit in the 7 days before 2026-11-20 on cluster a, and no row since then: same.",
        "1 group has no commit in the 7 days before 2026-11-20 on cluster b, and no row since then: same.",
    ]
    assert sentences(0, groups=["young"]) == []
    assert sentences(-DAY) == []
