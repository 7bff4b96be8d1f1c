"""Retention removes old dates and failed samples, and notes which dates are not to be made again."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.store.retention import uniform_retention
from kafka_groups.pipeline.tables import LAG_HISTORY, OFFSET_COMMITS, SAMPLE_RUNS
from tests.pipeline.store.commits import FIRST, append, append_at_once, commits, count_rows, rows_of, seen

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


def run_of(sample: str) -> Any:
    return rows_of(SAMPLE_RUNS, [{"cluster_id": "here", "sample": sample, "sampled_at": FIRST}])


def test_failed_samples_older_than_a_finished_one_are_removed(storage: Storage) -> None:
    samples = ("sample-20261101T1-a", "sample-20261101T2-b", "sample-20261101T3-c")
    append_at_once(storage, {sample: [commits([number])] for number, sample in enumerate(samples)})
    compact(storage, now=NOW)
    assert seen(storage) == Counter(range(3))
    append(storage, "sample-20261101T2-b", run_of("sample-20261101T2-b"), table=SAMPLE_RUNS)
    compact(storage, now=NOW)
    assert seen(storage) == Counter([1, 2])
    assert count_rows(storage, OFFSET_COMMITS) == 1


def test_old_dates_are_removed_except_the_newest_of_each_table(storage: Storage) -> None:
    append_at_once(storage, {f"w-{day:08}": [commits([day], day=day)] for day in range(4)})
    days = [dt.datetime(2026, 10, day, tzinfo=dt.UTC) for day in (1, 2)]
    lags = rows_of(LAG_HISTORY, [{"cluster_id": "here", "group": "g", "observed_at": day} for day in days])
    append(storage, "build", lags, table=LAG_HISTORY)
    day_three = dt.datetime(2026, 11, 3, 0, 0, tzinfo=dt.UTC)
    kept = compact(storage, retention=uniform_retention(dt.timedelta(days=1)), now=day_three + dt.timedelta(hours=23))
    assert kept.removed_table_dates == (("offset_commits", "2026-11-01"), ("lag_history", "2026-10-01"))
    done = compact(storage, retention=uniform_retention(dt.timedelta(days=1)), now=NOW)
    assert done.removed_table_dates == (("offset_commits", "2026-11-02"), ("offset_commits", "2026-11-03"))
    assert done.removed_dates == 2
    assert seen(storage) == Counter([3])


def test_first_dates_are_saved_and_never_become_earlier(storage: Storage) -> None:
    append_at_once(storage, {f"w-{day}": [commits([day], day=day)] for day in range(2)})
    for days in (10, 90):
        retention = {OFFSET_COMMITS: dt.timedelta(days=days), LAG_HISTORY: dt.timedelta(days=2 * days)}
        compact(storage, retention=retention, now=NOW)
        assert storage.read_metadata("retention") == {
            "first_date": "2026-11-10",
            "derived": {"lag_history": "2026-10-31"},
        }


def test_a_compaction_without_a_retention_saves_no_date(storage: Storage) -> None:
    compact(storage, now=NOW)
    assert storage.read_metadata("retention") == {}
