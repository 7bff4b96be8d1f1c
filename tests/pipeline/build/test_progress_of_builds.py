"""What a build reports while it works, and that there is one at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.tables import GROUP_DAILY
from tests.pipeline.build.builds import build_here
from tests.pipeline.fact_rows import commit, ends, new_storage, put_all
from tests.pipeline.store.commits import count_rows


def test_progress_begins_at_0_grows_and_ends_with_all_steps(tmp_path: Path) -> None:
    storage, reports = new_storage(tmp_path), list[tuple[str, int, int]]()
    put_all(storage, "b", {"offset_commits": [commit(0, 1, source=1)], "partition_offsets": [ends(60, 5)]})

    built = build_here(storage, progress=lambda *step: reports.append(step))

    labels, done, totals = ([*column] for column in zip(*reports, strict=True))
    assert {*totals} == {3}
    assert done == [0, 1, 2, 3]
    # One label for each step, and the last one again when it is finished.
    assert labels == ["summary of the facts", "lag, verdicts and rebalances", "tables", "tables"]
    assert {name for name, rows in built.rows.items() if rows} == {
        "lag_history",
        "group_status",
        "topic_daily",
        "group_daily",
    }

    reports.clear()
    assert build_here(storage, progress=lambda *step: reports.append(step)).dates == ()
    assert reports == []


def test_a_second_build_at_the_same_time_is_refused(tmp_path: Path) -> None:
    """It reads the state that it wrote, which another one would replace."""
    storage = new_storage(tmp_path)
    put_all(storage, "b", {"offset_commits": [commit(0, 1, source=1)]})

    with storage.lock("build"), pytest.raises(StorageError, match="is locked"):
        build_here(storage)

    assert count_rows(storage, GROUP_DAILY) == 0
