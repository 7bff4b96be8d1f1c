"""`pipeline compact`: few large files in place of many small ones, and old dates go. Needs no Spark.

progress.py    how much of what is planned is settled
removing.py    old dates go
thinning.py    what is left of group_events when its old dates go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kafka_groups.pipeline.compacting.progress import Progress, Steps
from kafka_groups.pipeline.compacting.removing import old_dates, remove
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.joining import is_small, join, pack
from kafka_groups.pipeline.storage.layout import BACKFILL, KEPT, SAMPLE, begin_name
from kafka_groups.pipeline.tables import TABLES, Table

# A build makes the last date and the one before it anew, each from its own facts and those of seven dates before: with
# fewer, groups that have not committed for some days would be gone from them.
LEAST_KEEP: Final = timedelta(days=8)
_LOST_SAMPLES: Final = timedelta(days=1)  # one that has no row of its own by then has failed
_FACTS: Final = tuple(table for table in TABLES.values() if not table.derived)


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
    keep: timedelta | None = None,
    now: datetime,
    progress: Progress = lambda _what, _done, _total: None,
    begun: Callable[[Callable[[], Compacted]], None] = lambda _so_far: None,
) -> Compacted:
    """Joins small files of facts, date by date, and removes dates that ended more than `keep` ago (`now`: with a zone).

    With less than LEAST_KEEP (of a build that looks back seven days), what is built later lacks idle groups. Of
    group_events the last record of each group and member stays, whatever its date: it tells who is there today.
    No row changes. Files of a backfill, one a day, are not joined; left alone is the newest date of each table by
    `keep`. Readers see each row once at every moment; a query goes on with the files that
    it listed. StorageError leaves every date as it was or as it should be, and another run goes on from there.
    `progress` is told of the old dates of tables how many are gone, then of small files how many are settled; `begun`
    is given what tells, at any time, what was done so far.
    """
    work = _Work(storage, progress)
    begun(work.done)
    with storage.lock("compact"):
        if keep is not None:
            work.remove_old(keep, now)
        storage.remove_lost_samples(before=begin_name(SAMPLE, now - _LOST_SAMPLES))
        work.join_all(max(min_files, 2), target_mb * 1024 * 1024)
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
        """What is in the tables, and not what is under way."""
        return Compacted(
            dates=len(self._dates),
            files_before=self._before,
            files_after=self._after,
            removed=tuple(self._removed),
        )

    def remove_old(self, keep: timedelta, now: datetime) -> None:
        """Dates that ended longer ago go from all tables."""
        old = old_dates(self._storage, keep, now)
        step = Steps(self._progress, "removing old dates", sum(map(len, old.values())))
        for table, dates in old.items():
            for date in remove(self._storage, table, dates):
                self._removed.append((table.name, date))
                step()
            # Of group_events, dates may stay, thinner than they were.
            step.complete(len(dates))

    def join_all(self, min_files: int, target_bytes: int) -> None:
        """Small files, date by date."""
        planned = list(_plan(self._storage, min_files, target_bytes))
        step = Steps(self._progress, "compacting", sum(len(files) for *_, files in planned))
        for table, date, files in planned:
            small = _small_files(files, target_bytes, step.still)
            piles = list(pack(small, target_bytes)) if len(small) >= min_files else []
            if piles:
                self._join(table, date, piles, step)
            # Those that no other was found for, too.
            step.complete(len(files))

    def _join(self, table: Table, date: str, piles: list[list[DataFile]], step: Steps) -> None:
        if _join_date(self._storage, table, date, piles, step):
            self._dates.add(date)
            self._before += sum(map(len, piles))
            self._after += len(piles)


def _plan(storage: Storage, min_files: int, target_bytes: int) -> Iterator[tuple[Table, str, list[DataFile]]]:
    """Dates of tables with files that may be small: their rows are not counted yet."""
    for table in _FACTS:
        by_date: dict[str, list[DataFile]] = {}
        for file in storage.files(table):
            if not _is_named(file.batch) and file.bytes * 2 <= target_bytes:
                by_date.setdefault(file.date, []).append(file)
        yield from ((table, date, files) for date, files in by_date.items() if len(files) >= min_files)


def _is_named(batch: str) -> bool:
    """Return whether files are found by their names: of a backfill, or what retention left of a date."""
    return batch == KEPT or batch.startswith(BACKFILL)


def _small_files(files: Sequence[DataFile], target_bytes: int, is_seen: Callable[[], None]) -> list[DataFile]:
    for _ in files:
        is_seen()
    return [file for file in files if is_small(file, target_bytes)]


def _join_date(
    storage: Storage, table: Table, date: str, piles: list[list[DataFile]], is_read: Callable[[], None]
) -> bool:
    joined = [join(storage.place, table, date, pile, is_read) for pile in piles]
    return storage.swap(table, {file.path for pile in piles for file in pile}, joined)
