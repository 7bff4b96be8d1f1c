"""`pipeline compact`: it replaces many small files by few large ones, and removes old dates, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from kafka_groups.pipeline.store import parquet_sorting
from kafka_groups.pipeline.store.compaction_plan import Replacement, plan_joins, plan_sorts
from kafka_groups.pipeline.store.progress_steps import StepCounter
from kafka_groups.pipeline.store.retention import remove_failed_samples, remove_old_dates
from kafka_groups.pipeline.store.storage import Storage
from kafka_groups.pipeline.tables import STORED_TABLES, Table
from kafka_groups.progress import Progress, ignore_progress


@dataclass(kw_only=True, slots=True)
class CompactionResult:
    """The progress of a compaction: the dates that it has compacted or removed. Dates are YYYY-MM-DD.

    - `joined_dates` are the dates with joined or sorted files in any table.
    - `files_before` and `files_after` are the numbers of these files before and after the compaction.
    - `removed_table_dates` has the table and the date of each date that was removed.
    """

    joined_dates: frozenset[str] = frozenset()
    files_before: int = 0
    files_after: int = 0
    removed_table_dates: tuple[tuple[str, str], ...] = ()

    @property
    def dates(self) -> int:
        """The number of dates with joined files."""
        return len(self.joined_dates)

    @property
    def removed_dates(self) -> int:
        """The number of dates that were removed from any table."""
        return len({date for _, date in self.removed_table_dates})


def compact(
    storage: Storage,
    *,
    retention: Mapping[Table, timedelta] = MappingProxyType({}),
    now: datetime,
    progress: Progress = ignore_progress,
    on_start: Callable[[CompactionResult], None] = lambda _compacted: None,
) -> CompactionResult:
    """Join small files of facts, date by date, sort the samples of dates that are over, and remove old dates.

    `retention` maps each table to how long a date is kept after its end. Other tables lose no date. The newest date of
    each table stays, and so does the last record of each group and member in group_events. `now` must have a time zone.
    At every moment, a reader sees each row exactly once.

    `progress` is called with the number of removed dates, then with the numbers of rows in sorted files. `on_start` is
    called with the result before it grows, so that a caller can report what an interrupted call has done. Raises
    StorageError, also if another compaction runs. Each date is then in its old or in its new state, and the next call
    continues.
    """
    compaction_result = CompactionResult()
    now = now.astimezone(UTC)
    on_start(compaction_result)
    with storage.lock("compact"):
        for table_name, date in remove_old_dates(storage, retention, now, progress):
            compaction_result.removed_table_dates += ((table_name, date),)
        remove_failed_samples(storage, now)
        # The second plan has files that the first one has joined.
        _replace_files(storage, plan_joins(storage), compaction_result, progress, "compacting")
        planned_sorts = plan_sorts(storage, before=now.date().isoformat())
        _replace_files(storage, planned_sorts, compaction_result, progress, "sorting samples")
        for table in STORED_TABLES.values():
            storage.log(table).vacuum()
    return compaction_result


def _replace_files(
    storage: Storage,
    replacements: Sequence[Replacement],
    compaction_result: CompactionResult,
    progress: Progress,
    step_name: str,
) -> None:
    """Carry out planned replacements of files by sorted ones, with one commit each, and count them in the result.

    If another program has removed a file of a replacement meanwhile, its other files stay, and the new files are
    deleted (`Storage.swap`). `progress` is called with the step and the number of sorted rows.
    """
    counter = StepCounter(progress, step_name, sum(replacement.rows for replacement in replacements))
    for replacement in replacements:
        old_files = replacement.files
        table = STORED_TABLES[old_files[0].table]
        new_files = parquet_sorting.sort_files(
            storage.directory, old_files, replacement.batch, on_rows_written=counter.add
        )
        if storage.swap(table, old_files, new_files, keeps_rows=True):
            compaction_result.joined_dates |= {old_files[0].date}
            compaction_result.files_before += len(old_files)
            compaction_result.files_after += len(new_files)
