"""What a compaction reports while it works, and what it reports of its work where something ends it."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.compaction import CompactionResult, compact
from kafka_groups.pipeline.store.retention import uniform_retention
from kafka_groups.pipeline.tables import Table
from tests.pipeline.store.commits import append_at_once, commits, seen

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
Told = list[tuple[str, int, int]]


@pytest.fixture
def filled(storage: Storage) -> Storage:
    """Three days of five small files each, and a fourth of one that may come again."""
    batches = {f"w-{number:08}": [commits([number], day=number % 3)] for number in range(15)}
    append_at_once(storage, batches | {"w-00000015": [commits([15], day=3)]})
    return storage


def ends_at(many: int, what: str) -> Callable[[str, int, int], None]:
    """Return a progress function that interrupts the compaction at this number of rows."""

    def progress(given: str, done: int, _total: int) -> None:
        if (given, done) == (what, many):
            raise KeyboardInterrupt

    return progress


def interrupted(
    storage: Storage, progress: Callable[[str, int, int], None], retention: Mapping[Table, dt.timedelta]
) -> CompactionResult:
    """Return the result that an interrupted compaction reports."""
    begun: list[CompactionResult] = []
    with pytest.raises(KeyboardInterrupt):
        compact(storage, now=NOW, progress=progress, on_start=begun.append, retention=retention)
    return begun[0]


def test_progress_grows_from_0_to_the_rows_of_all_small_files(filled: Storage) -> None:
    given: Told = []
    compact(filled, now=NOW, progress=lambda *at: given.append(at))

    settled = [number for _, number, _ in given]
    assert (settled[0], settled[-1], settled) == (0, 15, sorted(settled))
    assert set(settled) == {0, 5, 10, 15}
    assert {(what, total) for what, _, total in given} == {("compacting", 15)}

    given.clear()
    assert compact(filled, now=NOW, progress=lambda *at: given.append(at)).dates == 0
    assert given == []


def test_progress_counts_the_removed_dates(filled: Storage) -> None:
    given: Told = []
    compact(filled, retention=uniform_retention(dt.timedelta(days=17)), now=NOW, progress=lambda *at: given.append(at))

    removed = [(number, total) for what, number, total in given if what == "removing old dates"]
    assert (removed[0], removed[-1], removed) == ((0, 2), (2, 2), sorted(removed))


@pytest.mark.parametrize(("at", "dates"), [(0, 0), (5, 0), (10, 1)])
def test_an_interrupted_compaction_reports_the_dates_that_it_joined(filled: Storage, at: int, dates: int) -> None:
    done = interrupted(filled, ends_at(at, "compacting"), retention={})

    assert (done.dates, done.files_before, done.files_after) == (dates, 5 * dates, dates)
    assert seen(filled) == Counter(range(16))
    assert compact(filled, now=NOW).dates == 3 - dates


def test_an_interrupted_compaction_reports_the_dates_that_it_removed(filled: Storage) -> None:
    done = interrupted(filled, ends_at(1, "removing old dates"), retention=uniform_retention(dt.timedelta(days=17)))

    assert (done.removed_table_dates, done.dates) == ((("offset_commits", "2026-11-01"),), 0)
