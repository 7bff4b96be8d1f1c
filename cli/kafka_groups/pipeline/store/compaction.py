"""`pipeline compact`: few large files in place of many small ones, and old dates go. Needs no Spark.

Of group_events the last record of each key stays, as compaction leaves it in a log. These records are states: a stable
group, a member that has been there for a year, the topics of a share group are written once, and without that record
nobody would be known to be there. What samples saw counts on its own day only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafka_groups.pipeline.store import DataFile, Storage, layout, parquet_files
from kafka_groups.pipeline.store.root_directory import as_storage_error
from kafka_groups.pipeline.tables import GROUP_EVENTS, SAMPLE_RUNS, STORED_TABLES, TABLES, Table
from kafka_groups.progress import Progress, ignore_progress

# A build writes the last date and the one before it again, each from its own facts and those of seven dates before:
# with fewer, groups that have not committed for some days would be missing from them.
LEAST_KEEP: Final = timedelta(days=8)
_LOST_SAMPLES: Final = timedelta(days=1)  # one that has no row of its own by then has failed
# Samples that come when their date is sorted are left alone until they are so many of its rows: one of eight.
_SHARE_OF_LATE: Final = 8
_FACTS: Final = tuple(table for table in TABLES.values() if not table.derived)
_CLOCKS_US: Final = 600_000_000  # coordinators' clocks differ by less, and recreated logs begin later
_KEY: Final = ("cluster_id", "group", "type", "member_id")
_READ: Final = {
    **{name: ds.field(name) for name in (*_KEY, "origin", "tombstone", "source_offset")},
    # A record without a time is of the first date of all.
    "at_us": pc.coalesce(ds.field("record_time").cast(pa.timestamp("us", "UTC")).cast(pa.int64()), pa.scalar(0)),
    # Those of other types are long, and not needed.
    "details": pc.if_else(ds.field("type") == "ConsumerGroupRegularExpression", ds.field("details"), pa.scalar(None)),
}
_DATE: Final = attrgetter("date")
_Part = tuple[str, list[DataFile]]  # files of one table and date, and the batch that they become


def keep_all(kept: timedelta) -> dict[Table, timedelta]:
    """Return the same retention for all tables that can have one: samples count only with their rows in sample_runs."""
    return {table: kept for table in TABLES.values() if table != SAMPLE_RUNS}


@dataclass(kw_only=True, slots=True)
class Compacted:
    """What was done so far: dates with joined files in any table, those files before and after; what was removed."""

    joined: frozenset[str] = frozenset()
    files_before: int = 0
    files_after: int = 0
    removed: tuple[tuple[str, str], ...] = ()  # table and date

    @property
    def dates(self) -> int:
        """How many dates have joined files."""
        return len(self.joined)

    @property
    def removed_dates(self) -> int:
        """How many dates were removed from any table."""
        return len({day for _, day in self.removed})


def compact(
    storage: Storage,
    *,
    keep: Mapping[Table, timedelta] = MappingProxyType({}),
    now: datetime,
    progress: Progress = ignore_progress,
    begun: Callable[[Compacted], None] = lambda _done: None,
) -> Compacted:
    """Join small files of facts, date by date, and remove dates of tables that ended longer ago than `keep`.

    `now` has a time zone. `keep` leaves the newest date of each table alone, and the last record of each group and
    member in group_events. The samples of a date are sorted when it is over: then the offsets of a partition take a few
    bits each. Readers see each row once at every moment. StorageError leaves every date as it was or as it should be,
    and another run goes on from there. `progress` is called with the number of removed dates of tables, then with that
    of sorted rows; `begun` with the result, which grows.
    """
    done, now = Compacted(), now.astimezone(UTC)
    begun(done)
    with storage.lock("compact"):
        old = _old_dates(storage, keep, now)
        step = _Steps(progress, "removing old dates", sum(map(len, old.values())))
        for table, dates in old.items():
            last = _last_rows(storage, dates) if table == GROUP_EVENTS else {}
            for day, files in dates.items():
                if _remove(storage, table, files, last.get(day, [])):
                    done.removed += ((table.name, day),)
                step(1)
        _remove_lost_samples(storage, before=layout.new_batch_name(layout.SAMPLE, now - _LOST_SAMPLES))
        _sort(storage, _plan_joins(storage), done, progress, "compacting")
        _sort(storage, _plan_sorts(storage, before=now.date().isoformat()), done, progress, "sorting samples")
        for table in STORED_TABLES.values():
            storage.log(table).vacuum()
    return done


def _old_dates(
    storage: Storage, keep: Mapping[Table, timedelta], now: datetime
) -> dict[Table, dict[str, list[DataFile]]]:
    """Return the dates to remove, by table, with their files. From now on, no build makes them again.

    The first dates that are kept are saved: what was removed stays so, however much the next run keeps.
    """
    note = storage.note(layout.RETENTION)
    begin, derived = str(note.get("first_date", "")), dict(note.get("derived", {}))
    old = {}
    for table, kept in keep.items():
        first = (now - kept).date().isoformat()
        by_date = [(day, list(files)) for day, files in groupby(storage.files(table), _DATE)]
        old[table] = {day: files for day, files in by_date[:-1] if day < first}
        if table.derived:
            derived[table.name] = max(first, str(derived.get(table.name, "")))
        else:  # a date is derived from all facts of it
            begin = max(begin, first)
    if keep:
        storage.save_note(layout.RETENTION, {"first_date": begin, "derived": derived})
    return old


def _remove(storage: Storage, table: Table, files: Sequence[DataFile], rows: Sequence[int]) -> bool:
    """Remove files of a date, which may be larger than memory, except these rows. Return whether all is gone."""
    if rows and len(rows) == _count_rows(files):
        return False
    new = parquet_files.sort_files(storage.place, files, layout.KEPT, only=rows) if rows else []
    return storage.swap(table, files, new, same_rows=False) and not rows


def _last_rows(storage: Storage, dates: Mapping[str, Sequence[DataFile]]) -> dict[str, list[int]]:
    """Return by date which rows are the last record of their key, unless it removes the key.

    These dates alone determine which record is the last: days after them are built from what was then.
    """
    last: dict[tuple[str | None, ...], _Record] = {}
    for day, files in dates.items():
        for key, record in _records(storage, day, files):
            if key not in last or last[key].is_before(record):
                last[key] = record
        # Later dates have nothing older, except where clocks differ: members that left need not be remembered for long.
        midnight_us = int(datetime.fromisoformat(f"{day}T00:00Z").timestamp()) * 1_000_000
        last = {key: each for key, each in last.items() if not each.is_tombstone or each.at_us >= midnight_us}
    rows: dict[str, list[int]] = {day: [] for day in dates}
    for each in last.values():
        if not each.is_tombstone:
            rows[each.day].append(each.row)
    return rows


def _records(storage: Storage, day: str, files: Sequence[DataFile]) -> Iterator[tuple[tuple[str | None, ...], _Record]]:
    """Yield the records of the topic, each after its key; that of a regular expression includes its text."""
    dataset = parquet_files.open_dataset(storage.place, files)
    with as_storage_error("read the tables", storage.into):
        batches = ([column.to_pylist() for column in batch.columns] for batch in dataset.to_batches(columns=_READ))
        rows = (row for columns in batches for row in zip(*columns, strict=True))
        for number, (*key, origin, tombstone, offset, at_us, details) in enumerate(rows):
            if origin == "topic":
                pattern = None if details is None else json.loads(details).get("regular_expression")
                yield (*key, pattern), _Record(bool(tombstone), offset, at_us, day, number)


def _remove_lost_samples(storage: Storage, before: str) -> None:
    """Remove the rows of samples that were never finished, of batches whose names are less than `before`.

    Those that are newer than the newest finished one stay: the table of samples may come from a backup.
    """
    finished = {sample for file in storage.files(SAMPLE_RUNS) for sample in storage.samples_in(file)}
    before = min(before, max(finished, default=""))
    for table in STORED_TABLES.values():
        if old := [file for file in storage.files(table, unfinished=True) if file.batch < before]:
            storage.swap(table, old, [], same_rows=False)


def _sort(storage: Storage, plan: Iterable[_Part], done: Compacted, progress: Progress, what: str) -> None:
    """Put sorted files, of the planned batches, in place of the planned ones."""
    planned = list(plan)
    step = _Steps(progress, what, sum(_count_rows(old) for _, old in planned))
    for batch, old in planned:
        new = parquet_files.sort_files(storage.place, old, batch, is_sorted=step)
        if storage.swap(STORED_TABLES[old[0].table], old, new, same_rows=True):
            done.joined |= {old[0].date}
            done.files_before += len(old)
            done.files_after += len(new)


def _plan_joins(storage: Storage) -> Iterator[_Part]:
    """Yield small files of one table and date that will be one, those of samples apart."""
    for table in _FACTS:
        for _, of_date in groupby(storage.files(table), _DATE):
            small = [file for file in of_date if parquet_files.is_small(file)]
            for batch in (layout.COMPACTED, layout.COMPACTED_SAMPLES):
                piles = parquet_files.pack(file for file in small if _joined_batch(file) == batch)
                yield from ((batch, pile) for pile in piles)


def _plan_sorts(storage: Storage, before: str) -> Iterator[_Part]:
    """Yield the files of samples of one table and date before this one, except where only few of them came late."""
    for table in _FACTS:
        found = (file for file in storage.files(table) if file.date < before)
        for _, of_date in groupby(found, _DATE):
            files = [file for file in of_date if file.batch == layout.SORTED_SAMPLES or _is_of_samples(file)]
            late = _count_rows(file for file in files if file.batch != layout.SORTED_SAMPLES)
            if len(files) > 1 and late * _SHARE_OF_LATE >= _count_rows(files):
                yield layout.SORTED_SAMPLES, files


def _joined_batch(file: DataFile) -> str | None:
    """Return the batch of what the file may be joined to; None if it is sorted, or has to be found by its name."""
    if file.batch in {layout.KEPT, layout.SORTED_SAMPLES} or file.batch.startswith(layout.BACKFILL):
        return None
    return layout.COMPACTED_SAMPLES if _is_of_samples(file) else layout.COMPACTED


def _is_of_samples(file: DataFile) -> bool:
    return file.batch == layout.COMPACTED_SAMPLES or file.batch.startswith(layout.SAMPLE)


def _count_rows(files: Iterable[DataFile]) -> int:
    return sum(file.rows for file in files)


class _Record(NamedTuple):
    """A record of a key, and where it stands among the rows of its date."""

    is_tombstone: bool
    offset: int
    at_us: int
    day: str
    row: int

    def is_before(self, other: _Record) -> bool:
        """Compare by offset; by time where they are too far apart, for a recreated topic begins again with 0."""
        is_far = abs(self.at_us - other.at_us) > _CLOCKS_US
        return self.at_us < other.at_us if is_far else self.offset < other.offset


class _Steps:
    """Counts how much of what is planned is settled, as a bar shows it."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total, self._done = progress, what, total, 0
        if total:
            self(0)

    def __call__(self, count: int) -> None:
        self._done += count
        self._progress(self._what, self._done, self._total)
