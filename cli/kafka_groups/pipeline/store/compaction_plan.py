"""Plans of a compaction: which files of a table and date are replaced by sorted ones.

Rows of samples are joined separately from other rows, because sorted samples take only a few bits each. Files of
backfills stay as they are, because a repeated backfill finds the earlier rows by the names of these files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from kafka_groups.pipeline.store import parquet_sorting
from kafka_groups.pipeline.store.data_files import (
    BACKFILL,
    COMPACTED,
    COMPACTED_SAMPLES,
    KEPT,
    SAMPLE,
    SORTED_SAMPLES,
    DataFile,
)
from kafka_groups.pipeline.store.storage import Storage
from kafka_groups.pipeline.tables import FACT_TABLES

TARGET_BYTES: Final = 128 * 1024 * 1024  # The size of a large file, which is left as it is.
# Samples may arrive after their date was sorted. They are sorted once they have this share of the date's rows.
_MIN_LATE_SHARE: Final = 1 / 8


class Replacement(NamedTuple):
    """Files of one table and date, and the name of the batch of the sorted files that replace them."""

    batch: str
    files: list[DataFile]

    @property
    def rows(self) -> int:
        """The number of rows in the files."""
        return count_rows(self.files)


def count_rows(files: Iterable[DataFile]) -> int:
    """Return the number of rows in all files together."""
    return sum(file.rows for file in files)


def plan_joins(storage: Storage) -> list[Replacement]:
    """Return for each table of facts and date which small files become one; samples are not mixed with other rows."""
    replacements = []
    for files in _files_by_date(storage):
        small_files = [file for file in files if _is_small(file)]
        for batch in (COMPACTED, COMPACTED_SAMPLES):
            joinable_files = [file for file in small_files if _joined_batch(file) == batch]
            replacements += [Replacement(batch, files_to_join) for files_to_join in _group_by_size(joinable_files)]
    return replacements


def plan_sorts(storage: Storage, before: str) -> list[Replacement]:
    """Return for each table of facts and each date before `before` which files of samples are sorted together.

    `before` is YYYY-MM-DD: the samples of a date are sorted once the date is over. They are sorted again when at least
    one in eight of the rows is in files that came later.
    """
    replacements = []
    for files in _files_by_date(storage):
        sample_files = [file for file in files if file.batch == SORTED_SAMPLES or _has_samples(file)]
        late_row_count = count_rows(file for file in sample_files if file.batch != SORTED_SAMPLES)
        has_enough_late_rows = late_row_count >= count_rows(sample_files) * _MIN_LATE_SHARE
        if files[0].date < before and len(sample_files) > 1 and has_enough_late_rows:
            replacements.append(Replacement(SORTED_SAMPLES, sample_files))
    return replacements


def _files_by_date(storage: Storage) -> Iterator[list[DataFile]]:
    """Yield the files of each table of facts and each date, except files of unfinished samples."""
    for table in FACT_TABLES:
        for _date, files in groupby(storage.files(table), attrgetter("date")):
            yield list(files)


def _is_small(file: DataFile) -> bool:
    """Return whether the file has at most half of the bytes and half of the rows of a large file."""
    return file.bytes * 2 <= TARGET_BYTES and file.rows * 2 <= parquet_sorting.ROWS_AT_ONCE


def _group_by_size(files: Iterable[DataFile]) -> Iterator[list[DataFile]]:
    """Yield lists of two or more successive files with at most TARGET_BYTES and ROWS_AT_ONCE rows together.

    A file that would be alone in its list is not yielded.
    """
    files_to_join: list[DataFile] = []
    for file in files:
        size_bytes = sum(earlier_file.bytes for earlier_file in files_to_join) + file.bytes
        if size_bytes > TARGET_BYTES or count_rows(files_to_join) + file.rows > parquet_sorting.ROWS_AT_ONCE:
            if len(files_to_join) > 1:
                yield files_to_join
            files_to_join = []
        files_to_join.append(file)
    if len(files_to_join) > 1:
        yield files_to_join


def _joined_batch(file: DataFile) -> str | None:
    """Return the batch of the file into which this one is joined; None if it is not joined."""
    if file.batch in {KEPT, SORTED_SAMPLES} or file.batch.startswith(BACKFILL):
        return None
    return COMPACTED_SAMPLES if _has_samples(file) else COMPACTED


def _has_samples(file: DataFile) -> bool:
    """Return whether the file has rows of samples that are not yet sorted together with all samples of their date."""
    return file.batch == COMPACTED_SAMPLES or file.batch.startswith(SAMPLE)
