"""`pipeline compact`: few large files in place of many small ones, and old dates go. Needs no Spark.

thinning.py  what is left of group_events when its old dates go
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import date as day_of
from typing import Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.compacting.thinning import thin
from kafka_groups.pipeline.storage import KEPT, Storage
from kafka_groups.pipeline.storage.failing import is_gone
from kafka_groups.pipeline.storage.formats import DataFile
from kafka_groups.pipeline.storage.joining import SmallFile, is_small, join, pack
from kafka_groups.pipeline.storage.layout import new_staging, numbered
from kafka_groups.pipeline.storage.notes import RETENTION
from kafka_groups.pipeline.storage.publishing import JOINED, joined_batches
from kafka_groups.pipeline.tables import GROUP_EVENTS, TABLES, Table

_FACTS: Final = tuple(table for table in TABLES.values() if not table.derived)
# A build makes the last date and the one before it anew, each from its own facts and those of seven dates before: with
# fewer, groups that have not committed for some days would be gone from them.
LEAST_KEEP: Final = timedelta(days=8)
_ABANDONED_S: Final = 24 * 3600.0
# A backfill of the same grid takes the place of the one before, also years later. It is a file a day as it is.
_REPLACEABLE: Final = "backfill-"


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
    storage: Storage, *, min_files: int = 2, target_mb: int = 128, keep: timedelta | None = None, now: datetime
) -> Compacted:
    """Joins small files of facts, date by date, and removes dates that ended more than `keep` ago (`now`: with a zone).

    With less than LEAST_KEEP (of a build that looks back seven days), what is built later lacks idle groups. Of
    group_events the last record of each group and member stays, whatever its date: it tells who is there today.
    No row changes. A batch that a writer may repeat is not joined: its newest, and all of a backfill; left alone is the
    newest date of each table by `keep`. Readers see each row once at every moment. A query that listed its files before
    a date changed goes on with them (delta), or may end with an error of a missing file and is right when run again
    (parquet). StorageError leaves every date as it was or as it should be, and another run goes on from there.
    """
    with storage.lock("compact"):
        removed = _remove_old(storage, keep, now) if keep is not None else ()
        storage.clean_staging(_ABANDONED_S)
        before = after = 0
        dates: set[str] = set()
        for table, date, piles in _plan(storage, max(min_files, 2), target_mb * 1024 * 1024):
            if not dates:
                storage.format.check_swap()
            if _join_date(storage, table, date, piles):
                dates.add(date)
                before += sum(map(len, piles))
                after += len(piles)
        storage.format.tidy()
    return Compacted(dates=len(dates), files_before=before, files_after=after, removed=removed)


def _plan(storage: Storage, min_files: int, target_bytes: int) -> Iterator[tuple[Table, str, list[list[SmallFile]]]]:
    newest = _newest_batches(storage)
    for table in _FACTS:
        by_date: dict[str, list[DataFile]] = {}
        for file in storage.format.files(table.name):
            by_date.setdefault(file.date, []).append(file)
        for date, files in by_date.items():
            small = _small_files(storage, files, newest, target_bytes)
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
    storage: Storage, files: Sequence[DataFile], newest: dict[str, int], target_bytes: int
) -> list[SmallFile]:
    found: list[SmallFile] = []
    for file in files:
        if _may_come_again(file.batch, newest) or file.bytes * 2 > target_bytes:
            continue
        rows = _rows_of(storage, file)
        if rows is not None:
            found.append(SmallFile(file.path, file.batch, file.bytes, rows))
    return [file for file in found if is_small(file, target_bytes)]


def _may_come_again(batch: str, newest: dict[str, int]) -> bool:
    """Or has to be known by its name: what retention left is no news to a build."""
    one = numbered(batch)
    return one[1] >= newest.get(one[0], -1) if one else batch == KEPT or batch.startswith(_REPLACEABLE)


def _rows_of(storage: Storage, file: DataFile) -> int | None:
    try:
        return storage.rows_of(file)
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
            return storage.format.swap(table.name, date, {file.path for file in gone}, joined, staging)
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
    # Before anything goes: a build makes nothing anew for being gone from before this date. What went stays gone,
    # however much the next run keeps.
    known = str(storage.note(RETENTION).get("first_date", ""))
    storage.save_note(RETENTION, {"first_date": max(known, first.isoformat())})
    for table in TABLES.values():
        old = [date for date in storage.format.dates(table.name)[:-1] if day_of.fromisoformat(date) < first]
        if table == GROUP_EVENTS:
            whole = _may_change(storage)
            removed += [(table.name, date) for date in thin(storage, [date for date in old if date not in whole])]
            continue
        for date in old:
            _remove_date(storage, table, date)
            removed.append((table.name, date))
    return tuple(removed)


def _may_change(storage: Storage) -> set[str]:
    """Dates of group_events with a batch that may be repeated: it would stand beside what was left of it."""
    newest = _newest_batches(storage)
    files = storage.format.files(GROUP_EVENTS.name)
    return {file.date for file in files if (one := numbered(file.batch)) and one[1] >= newest.get(one[0], -1)}


def _remove_date(storage: Storage, table: Table, date: str) -> None:
    staging = new_staging(storage.place)
    try:
        with storage.changing():
            storage.format.remove(table.name, date, staging)
    finally:
        storage.place.delete(staging)
