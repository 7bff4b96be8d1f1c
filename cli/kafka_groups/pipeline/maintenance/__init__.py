"""`pipeline compact`: few large files in place of many small ones, and old dates go. Needs no Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from types import MappingProxyType
from typing import Final

from kafka_groups.pipeline.maintenance.retention import old_dates, remove
from kafka_groups.pipeline.schemas import SAMPLE_RUNS, STORED, TABLES, Table
from kafka_groups.pipeline.storage import DataFile, Storage, compaction, layout

# A build writes the last date and the one before it again, each from its own facts and those of seven dates before:
# with fewer, groups that have not committed for some days would be missing from them.
LEAST_KEEP: Final = timedelta(days=8)
_LOST_SAMPLES: Final = timedelta(days=1)  # one that has no row of its own by then has failed
# Samples that come when their date is sorted are left alone until they are so many of its rows: one of eight.
_SHARE_OF_LATE: Final = 8
KEEP_EVERYTHING: Final[Mapping[Table, timedelta]] = MappingProxyType({})
_FACTS: Final = tuple(table for table in TABLES.values() if not table.derived)
Progress = Callable[[str, int, int], None]


def keep_all(kept: timedelta) -> dict[Table, timedelta]:
    """Return the same retention for all tables that can have one: samples count only with their rows in sample_runs."""
    return {table: kept for table in TABLES.values() if table != SAMPLE_RUNS}


@dataclass(kw_only=True, slots=True)
class Compacted:
    """What was done so far: dates with joined files in any table, those files before and after; removed dates."""

    joined_dates: set[str] = field(default_factory=set)
    files_before: int = 0
    files_after: int = 0
    removed: tuple[tuple[str, str], ...] = ()  # table and date

    @property
    def dates(self) -> int:
        """How many dates have joined files in any table."""
        return len(self.joined_dates)

    @property
    def removed_dates(self) -> int:
        """How many dates were removed from any table."""
        return len({date for _, date in self.removed})


def compact(
    storage: Storage,
    *,
    keep: Mapping[Table, timedelta] = KEEP_EVERYTHING,
    now: datetime,
    progress: Progress = lambda _what, _done, _total: None,
    begun: Callable[[Callable[[], Compacted]], None] = lambda _so_far: None,
) -> Compacted:
    """Join small files of facts, date by date, and remove dates of tables that ended longer ago than `keep`.

    `now` has a time zone. With less than LEAST_KEEP, a build would lack facts: it derives a date from those of the
    seven dates before it, too. The last record of each group and member in group_events stays, whatever its date: it
    shows which groups and members exist.
    No row changes. The samples of a date are sorted when it is over, because the offsets of a partition take a few bits
    each where they follow one another. Files of a backfill, one a day, are not joined; `keep` leaves the newest date of
    each table alone. Readers see each row once at every moment; a query goes on with the files that it listed.
    StorageError leaves every date as it was or as it should be, and another run goes on from there.
    `progress` is called with the number of deleted old dates of tables, then with that of sorted rows; `begun` receives
    a function that returns, at any time, what was completed so far.
    """
    done = Compacted()
    begun(lambda: done)
    with storage.lock("compact"):
        _remove_old(storage, old_dates(storage, keep, now), done, progress)
        _remove_lost_samples(storage, before=layout.begin_name(layout.SAMPLE, now - _LOST_SAMPLES))
        _sort(storage, list(_plan_joins(storage)), done, "compacting", progress)
        unsorted = list(_plan_sorts(storage, before=now.astimezone(UTC).date().isoformat()))
        _sort(storage, unsorted, done, "sorting samples", progress)
        for table in STORED.values():
            storage.log(table).vacuum()
    return done


def _remove_old(storage: Storage, old: Mapping[Table, list[str]], done: Compacted, progress: Progress) -> None:
    step = _Steps(progress, "removing old dates", sum(map(len, old.values())))
    for table, dates in old.items():
        for date in remove(storage, table, dates):
            if not storage.files(table, [date]):
                done.removed += ((table.name, date),)
            step(1)


def _remove_lost_samples(storage: Storage, before: str) -> None:
    """Remove the rows of samples that were never finished, of batches whose names are less than `before`.

    Those that are newer than the newest finished one stay: the table of samples may come from a backup.
    """
    finished = {sample for file in storage.files(SAMPLE_RUNS) for sample in storage.samples_in(file)}
    before = min(before, max(finished, default=""))
    for table in STORED.values():
        if old := [file for file in storage.lost_files(table) if file.batch < before]:
            storage.swap(table, old, [], same_rows=False)


def _sort(storage: Storage, planned: list[list[DataFile]], done: Compacted, what: str, progress: Progress) -> None:
    """Put sorted files in place of the planned ones, those of a table and date in one commit."""
    step = _Steps(progress, what, sum(map(_count_rows, planned)))
    for old in planned:
        batch = _joined_batch(old[0]) if what == "compacting" else layout.SORTED_SAMPLES
        new = compaction.sort_files(storage.place, old, batch, step)
        if storage.swap(STORED[old[0].table], old, new, same_rows=True):
            done.joined_dates.add(old[0].date)
            done.files_before += len(old)
            done.files_after += len(new)


def _plan_joins(storage: Storage) -> Iterator[list[DataFile]]:
    """Yield small files of one table and date that will be one, those of samples apart.

    Files that are found by their names (of a backfill, or what retention left), or are sorted already, are left alone.
    """
    for table in _FACTS:
        small = [
            file
            for file in storage.files(table)
            if file.batch not in {layout.KEPT, layout.SORTED_SAMPLES}
            and not file.batch.startswith(layout.BACKFILL)
            and compaction.is_small(file)
        ]
        for _, files in groupby(sorted(small, key=_place), _place):
            yield from compaction.pack(files)


def _plan_sorts(storage: Storage, before: str) -> Iterator[list[DataFile]]:
    """Yield the files of samples of one table and date before this one, except where only few of them came late."""
    for table in _FACTS:
        found = [
            file
            for file in storage.files(table)
            if file.date < before
            and (file.batch == layout.SORTED_SAMPLES or _joined_batch(file) == layout.COMPACTED_SAMPLES)
        ]
        for _, of_date in groupby(found, lambda file: file.date):
            files = list(of_date)
            late = _count_rows(file for file in files if file.batch != layout.SORTED_SAMPLES)
            if len(files) > 1 and late * _SHARE_OF_LATE >= _count_rows(files):
                yield files


def _place(file: DataFile) -> tuple[str, str]:
    return file.date, _joined_batch(file)


def _joined_batch(file: DataFile) -> str:
    is_of_samples = file.batch == layout.COMPACTED_SAMPLES or file.batch.startswith(layout.SAMPLE)
    return layout.COMPACTED_SAMPLES if is_of_samples else layout.COMPACTED


def _count_rows(files: Iterable[DataFile]) -> int:
    return sum(file.rows for file in files)


class _Steps:
    """Counts how much of what is planned is settled, as a bar shows it."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total, self._done = progress, what, total, 0
        if total:
            self(0)

    def __call__(self, count: int) -> None:
        self._done += count
        self._progress(self._what, self._done, self._total)
