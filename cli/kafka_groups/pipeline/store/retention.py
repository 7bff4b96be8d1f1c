"""Retention: removal of old dates of tables, and of samples that were never finished.

From old dates of group_events, only the last record of each key stays (`last_records`). Metadata have the first dates
that were retained: no build derives an older date again, even if the next run has a longer retention.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final, TypeAlias

from kafka_groups.pipeline.store.compaction_plan import count_rows
from kafka_groups.pipeline.store.data_files import KEPT, SAMPLE, DataFile, new_batch_name
from kafka_groups.pipeline.store.last_records import find_last_records
from kafka_groups.pipeline.store.metadata_files import RETENTION
from kafka_groups.pipeline.store.parquet_sorting import copy_rows
from kafka_groups.pipeline.store.progress_steps import StepCounter
from kafka_groups.pipeline.store.storage import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, SAMPLE_RUNS, STORED_TABLES, TABLES, Table
from kafka_groups.progress import Progress

# A build writes the last two dates again, each from its facts and the facts of the seven dates before it. With fewer
# dates, groups that have not committed for some days would be missing.
MIN_RETENTION: Final = timedelta(days=8)
# A sample without a row in sample_runs after this time has failed.
_LONGEST_SAMPLE: Final = timedelta(days=1)

# The files of each date (YYYY-MM-DD), in ascending order of the dates.
FilesByDate: TypeAlias = dict[str, list[DataFile]]


def uniform_retention(age: timedelta) -> dict[Table, timedelta]:
    """Return the same retention for every documented table except sample_runs.

    That table has no retention, because samples count only if it has their row.
    """
    return {table: age for table in TABLES.values() if table != SAMPLE_RUNS}


def remove_old_dates(
    storage: Storage, retention: Mapping[Table, timedelta], now: datetime, progress: Progress
) -> Iterator[tuple[str, str]]:
    """Remove the dates that are older than their `retention`; yield table and date of each completely removed date.

    `retention` maps each table to how long a date is kept after its end, at least MIN_RETENTION; `now` is in UTC. The
    newest date of each table stays. The lock "compact" must be held.

    Each date is removed just before it is yielded, so nothing is removed before the first element is requested.
    `progress` is called with the number of finished pairs of a table and a date. Raises StorageError; dates that were
    removed before the error stay removed.
    """
    old_files = {table: _find_old_dates(storage, table, now - age) for table, age in retention.items()}
    if retention:
        _save_first_dates(storage, retention, now)
    counter = StepCounter(progress, "removing old dates", sum(map(len, old_files.values())))
    for table, files_by_date in old_files.items():
        kept_indexes = find_last_records(storage.directory, files_by_date) if table == GROUP_EVENTS else {}
        for day, files in files_by_date.items():
            if _remove_date(storage, table, files, kept_indexes.get(day, [])):
                yield table.name, day
            counter.add(1)


def remove_failed_samples(storage: Storage, now: datetime) -> None:
    """Remove the rows of samples that began more than a day ago, and are not in sample_runs; `now` is in UTC.

    Samples that are newer than the newest sample in sample_runs stay, because that table may come from an older backup.
    Without any finished sample, all samples stay. The lock "compact" must be held. Raises StorageError.
    """
    finished_samples: set[str] = set()
    for file in storage.files(SAMPLE_RUNS):
        finished_samples |= storage.samples_in(file)
    newest_finished_sample = max(finished_samples, default="")
    # Names of samples sort by their time.
    first_kept_sample = min(new_batch_name(SAMPLE, now - _LONGEST_SAMPLE), newest_finished_sample)
    for table in STORED_TABLES.values():
        failed_files = [file for file in storage.files(table, unfinished=True) if file.batch < first_kept_sample]
        if failed_files:
            storage.swap(table, failed_files, [], keeps_rows=False)


def _find_old_dates(storage: Storage, table: Table, first_kept_time: datetime) -> FilesByDate:
    """Return the files of the table's dates before `first_kept_time` (in UTC), without the table's newest date."""
    files_of_dates = [(day, list(files)) for day, files in groupby(storage.files(table), attrgetter("date"))]
    first_kept_date = first_kept_time.date().isoformat()
    return {day: files for day, files in files_of_dates[:-1] if day < first_kept_date}


def _save_first_dates(storage: Storage, retention: Mapping[Table, timedelta], now: datetime) -> None:
    """Save the first dates that are retained, which never become earlier; `now` is in UTC.

    A date is derived from facts of all tables, so there is one first date for all of them.
    """
    metadata = storage.read_metadata(RETENTION)
    first_date = str(metadata.get("first_date", ""))
    first_derived_dates = dict(metadata.get("derived", {}))
    for table, age in retention.items():
        first_kept_date = (now - age).date().isoformat()
        if table.is_derived:
            first_derived_dates[table.name] = max(first_kept_date, str(first_derived_dates.get(table.name, "")))
        else:
            first_date = max(first_date, first_kept_date)
    storage.save_metadata(RETENTION, {"first_date": first_date, "derived": first_derived_dates})


def _remove_date(storage: Storage, table: Table, files: Sequence[DataFile], kept_indexes: Sequence[int]) -> bool:
    """Remove the rows of a date except those with the given indexes; return whether the date was removed completely.

    Nothing changes, and False is returned, if all rows are kept, or if another program removed one of the files. The
    files may be larger than memory, but the kept rows may not.
    """
    if not kept_indexes:
        return storage.swap(table, files, [], keeps_rows=False)
    if len(kept_indexes) < count_rows(files):
        kept_files = copy_rows(storage.directory, files, KEPT, kept_indexes)
        storage.swap(table, files, kept_files, keeps_rows=False)
    return False
