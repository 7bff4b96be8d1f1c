"""`pipeline compact`: few large files in place of many small ones, and old dates go. Needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import date as day_of
from typing import Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.failing import is_gone
from kafka_groups.pipeline.storage.joining import SmallFile, count_rows, is_small, join, pack
from kafka_groups.pipeline.storage.layout import date_path, dates_of, files_by_batch, new_staging, numbered
from kafka_groups.pipeline.storage.publishing import JOINED, joined_batches, remove_directory
from kafka_groups.pipeline.storage.swapping import check_exchange, swap_files
from kafka_groups.pipeline.tables import TABLES, Table

_FACTS: Final = tuple(table for table in TABLES.values() if not table.derived)
_ABANDONED_S: Final = 24 * 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Compacted:
    """What was done: dates of tables with joined files, their files before and after; dates of tables removed.

    `rows` counts by table what was written anew.
    """

    rows: dict[str, int]
    dates: int
    files_before: int
    files_after: int
    removed: tuple[tuple[str, str], ...]

    @property
    def removed_dates(self) -> int:
        """How many dates of tables were removed."""
        return len(self.removed)


def compact(
    storage: Storage, *, min_files: int = 2, target_mb: int = 128, keep: timedelta | None = None, now: datetime
) -> Compacted:
    """Joins small files of facts, date by date, and removes dates that ended more than `keep` ago (`now`: with a zone).

    No row changes. A batch that a writer may repeat, its newest, is left alone; so is the newest date of each table
    by `keep`. Readers see each row once at every moment; a query that listed its files before a date changed may end
    with an error of a missing file, and is right when run again. StorageError leaves every date as it was or as it
    should be, and another run goes on from there.
    """
    with storage.lock("compact"):
        removed = _remove_old(storage, keep, now) if keep is not None else ()
        storage.clean_staging(_ABANDONED_S)
        before = after = dates = 0
        rows: dict[str, int] = {}
        for table, date, piles in _plan(storage, max(min_files, 2), target_mb * 1024 * 1024):
            if not dates:
                check_exchange(storage.place)
            if _join_date(storage, table, date, piles):
                dates += 1
                before += sum(map(len, piles))
                after += len(piles)
                rows[table.name] = rows.get(table.name, 0) + sum(file.rows for pile in piles for file in pile)
    return Compacted(rows=rows, dates=dates, files_before=before, files_after=after, removed=removed)


def _plan(storage: Storage, min_files: int, target_bytes: int) -> Iterator[tuple[Table, str, list[list[SmallFile]]]]:
    newest = _newest_batches(storage)
    for table in _FACTS:
        for date in dates_of(storage.place, table.name):
            small = _small_files(storage, table, date, newest, target_bytes)
            piles = list(pack(small, target_bytes)) if len(small) >= min_files else []
            if piles:
                yield table, date, piles


def _newest_batches(storage: Storage) -> dict[str, int]:
    # Over all tables: a batch that wrote to one of them only may be repeated as a whole.
    newest: dict[str, int] = {}
    for table in _FACTS:
        for found in storage.batches(table):
            if one := numbered(found.batch):
                newest[one[0]] = max(one[1], newest.get(one[0], -1))
    return newest


def _small_files(
    storage: Storage, table: Table, date: str, newest: dict[str, int], target_bytes: int
) -> list[SmallFile]:
    found: list[SmallFile] = []
    for batch, files in sorted(files_by_batch(storage.place, table.name, date).items()):
        one = numbered(batch)
        if one and one[1] >= newest.get(one[0], -1):
            continue
        counted = [(file, _rows_of(storage, file.path)) for file in files if file.size * 2 <= target_bytes]
        found += [SmallFile(file.path, batch, file.size, rows) for file, rows in counted if rows is not None]
    return [file for file in found if is_small(file, target_bytes)]


def _rows_of(storage: Storage, path: str) -> int | None:
    try:
        return count_rows(storage.place, path)
    except StorageError as error:
        if is_gone(error):
            return None
        raise


def _join_date(storage: Storage, table: Table, date: str, piles: list[list[SmallFile]]) -> bool:
    place, staging = storage.place, new_staging(storage.place)
    try:
        joined = [join(place, table, pile, staging) for pile in piles]
        gone = [file for pile in piles for file in pile]
        with storage.changing():
            _note_joined(storage, gone)
            return swap_files(place, table.name, date, {file.path for file in gone}, joined, staging)
    except StorageError as error:
        if is_gone(error):  # its batch was published anew meanwhile: next time
            return False
        raise
    finally:
        place.delete(staging)


def _note_joined(storage: Storage, gone: list[SmallFile]) -> None:
    # Before the swap: from then on, a batch that comes again would be there twice.
    known = joined_batches(storage.place)
    found = dict(known)
    for file in gone:
        if one := numbered(file.batch):
            found[one[0]] = max(one[1], found.get(one[0], -1))
    if found != known:
        storage.save_note(JOINED, found)


def _remove_old(storage: Storage, keep: timedelta, now: datetime) -> tuple[tuple[str, str], ...]:
    removed = []
    first = (now - keep).astimezone(UTC).date()
    for table in TABLES.values():
        for date in dates_of(storage.place, table.name)[:-1]:
            if day_of.fromisoformat(date) < first:
                _remove_date(storage, table, date)
                removed.append((table.name, date))
    return tuple(removed)


def _remove_date(storage: Storage, table: Table, date: str) -> None:
    staging = new_staging(storage.place)
    try:
        with storage.changing():
            remove_directory(storage.place, date_path(storage.place, table.name, date), staging)
    finally:
        storage.place.delete(staging)
