"""`pipeline compact`: few large files in place of many small ones, and old dates go. Needs no Spark.

progress.py    how much of what is planned is settled
removing.py    old dates go
thinning.py    what is left of group_events when its old dates go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from kafka_groups.pipeline.maintenance.progress import Progress, Steps
from kafka_groups.pipeline.maintenance.retention import old_dates, remove
from kafka_groups.pipeline.schemas import SAMPLE_RUNS, TABLES, Table
from kafka_groups.pipeline.storage import DataFile, NewFile, Storage
from kafka_groups.pipeline.storage.compaction import is_small, join, pack
from kafka_groups.pipeline.storage.layout import (
    BACKFILL,
    COMPACTED,
    COMPACTED_SAMPLES,
    KEPT,
    SAMPLE,
    SORTED_SAMPLES,
    begin_name,
)
from kafka_groups.pipeline.storage.sorted_samples import sort_samples

# A build writes the last date and the one before it again, each from its own facts and those of seven dates before:
# with fewer, groups that have not committed for some days would be missing from them.
LEAST_KEEP: Final = timedelta(days=8)
_LOST_SAMPLES: Final = timedelta(days=1)  # one that has no row of its own by then has failed
# Samples that come when their date is sorted are left alone until they are so many of its rows: one of eight.
_SHARE_OF_LATE: Final = 8
KEEP_EVERYTHING: Final[Mapping[Table, timedelta]] = MappingProxyType({})
_FACTS: Final = tuple(table for table in TABLES.values() if not table.derived)


def keep_all(kept: timedelta) -> dict[Table, timedelta]:
    """Return the same retention for all tables that can have one: samples count only with their rows in sample_runs."""
    return {table: kept for table in TABLES.values() if table != SAMPLE_RUNS}


@dataclass(frozen=True, kw_only=True, slots=True)
class Compacted:
    """What was done: dates with joined files in any table, those files before and after; (table, date)s removed."""

    dates: int
    files_before: int
    files_after: int
    removed: tuple[tuple[str, str], ...]

    @property
    def removed_dates(self) -> int:
        """How many dates were removed from any table."""
        return len({date for _, date in self.removed})


def compact(
    storage: Storage,
    *,
    min_files: int = 2,
    target_mb: int = 128,
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
    `progress` is called with the number of deleted old dates of tables, then with the number of settled small files;
    `begun` receives a function that returns, at any time, what was completed so far.
    """
    work = _Work(storage, progress)
    begun(work.done)
    with storage.lock("compact"):
        work.remove_old(keep, now)
        storage.remove_lost_samples(before=begin_name(SAMPLE, now - _LOST_SAMPLES))
        work.join_all(max(min_files, 2), target_mb * 1024 * 1024)
        work.sort_samples(before=now.astimezone(UTC).date().isoformat())
        storage.vacuum()
    return work.done()


class _Work:
    """One compaction, and what it has done so far."""

    def __init__(self, storage: Storage, progress: Progress) -> None:
        self._storage, self._progress = storage, progress
        self._dates: set[str] = set()
        self._before = self._after = 0
        self._removed: list[tuple[str, str]] = []

    def done(self) -> Compacted:
        """Return what is in the tables, and not what is under way."""
        return Compacted(
            dates=len(self._dates),
            files_before=self._before,
            files_after=self._after,
            removed=tuple(self._removed),
        )

    def remove_old(self, keep: Mapping[Table, timedelta], now: datetime) -> None:
        """Remove the dates that ended longer ago."""
        old = old_dates(self._storage, keep, now)
        step = Steps(self._progress, "removing old dates", sum(map(len, old.values())))
        for table, dates in old.items():
            for date in remove(self._storage, table, dates):
                self._removed.append((table.name, date))
                step()
            # Of group_events, dates may stay, thinner than they were.
            step.complete(len(dates))

    def join_all(self, min_files: int, target_bytes: int) -> None:
        """Join small files, date by date."""
        planned = list(_plan(self._storage, min_files, target_bytes))
        step = Steps(self._progress, "compacting", sum(len(files) for *_, files in planned))
        for table, date, batch, files in planned:
            small = _small_files(files, target_bytes, step.still)
            piles = list(pack(small, target_bytes)) if len(small) >= min_files else []
            new = [join(self._storage.place, table, date, pile, step, batch=batch) for pile in piles]
            self._swap(table, date, [file for pile in piles for file in pile], new)
            # Those that no other was found for, too.
            step.complete(len(files))

    def sort_samples(self, before: str) -> None:
        """Sort the samples of dates before this one, each date as a whole."""
        planned = list(_plan_sorting(self._storage, before))
        step = Steps(self._progress, "sorting samples", sum(_count_rows(files) for *_, files in planned))
        for table, date, files in planned:
            new = sort_samples(self._storage.place, table, date, files, step)
            self._swap(table, date, files, new)
            step.complete(_count_rows(files))

    def _swap(self, table: Table, date: str, old: list[DataFile], new: list[NewFile]) -> None:
        if new and self._storage.swap(table, {file.path for file in old}, new):
            self._dates.add(date)
            self._before += len(old)
            self._after += len(new)


def _plan(storage: Storage, min_files: int, target_bytes: int) -> Iterator[tuple[Table, str, str, list[DataFile]]]:
    """Yield dates of tables with files that may be small, those of samples apart, and the batch that they will be."""
    for table in _FACTS:
        found: dict[tuple[str, str], list[DataFile]] = {}
        for file in storage.files(table):
            if not _is_left_alone(file.batch) and file.bytes * 2 <= target_bytes:
                found.setdefault((file.date, _joined_batch(file.batch)), []).append(file)
        yield from ((table, *key, files) for key, files in found.items() if len(files) >= min_files)


def _plan_sorting(storage: Storage, before: str) -> Iterator[tuple[Table, str, list[DataFile]]]:
    """Yield dates of tables whose samples are not sorted together, except where only few of them came late."""
    for table in _FACTS:
        found: dict[str, list[DataFile]] = {}
        for file in storage.files(table):
            if file.date < before and (file.batch == SORTED_SAMPLES or _joined_batch(file.batch) == COMPACTED_SAMPLES):
                found.setdefault(file.date, []).append(file)
        for date, files in found.items():
            late = _count_rows(file for file in files if file.batch != SORTED_SAMPLES)
            if len(files) > 1 and late * _SHARE_OF_LATE >= _count_rows(files):
                yield table, date, files


def _is_left_alone(batch: str) -> bool:
    """Return whether files are found by their names (of a backfill, or what retention left), or are sorted already."""
    return batch in {KEPT, SORTED_SAMPLES} or batch.startswith(BACKFILL)


def _joined_batch(batch: str) -> str:
    return COMPACTED_SAMPLES if batch == COMPACTED_SAMPLES or batch.startswith(SAMPLE) else COMPACTED


def _count_rows(files: Iterable[DataFile]) -> int:
    return sum(file.rows for file in files)


def _small_files(files: Sequence[DataFile], target_bytes: int, is_seen: Callable[[], None]) -> list[DataFile]:
    for _ in files:
        is_seen()
    return [file for file in files if is_small(file, target_bytes)]
