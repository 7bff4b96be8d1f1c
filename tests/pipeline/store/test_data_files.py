"""Lists of files as rows, and the names of batches."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from kafka_groups.pipeline.store.data_files import (
    DATA_FILE_SCHEMA,
    SAMPLE,
    DataFile,
    from_rows,
    new_batch_name,
    to_rows,
)

FILES = [
    DataFile("offset_commits", "2026-11-01", "/data/offset_commits/date=2026-11-01/ingest-1.ab.parquet", 3, 2_000),
    DataFile("group_events", "1970-01-01", "bucket/mes données/group_events/x.parquet", 0, 2**40),
]


@pytest.mark.parametrize("files", [FILES, []])
def test_files_survive_as_rows_of_a_batch_or_a_table(files: list[DataFile]) -> None:
    rows = to_rows(files)
    assert rows.schema == DATA_FILE_SCHEMA
    assert from_rows(rows) == files
    assert from_rows(pa.Table.from_batches([rows])) == files


def test_columns_of_rows_of_files_may_come_in_any_order() -> None:
    rows = to_rows(FILES)
    assert from_rows(rows.select(sorted(rows.schema.names))) == FILES


def test_a_file_knows_the_batch_that_wrote_it() -> None:
    assert [file.batch for file in FILES] == ["ingest-1", "x"]


def test_names_of_batches_are_unique_and_sort_by_second() -> None:
    times = [datetime(2026, 11, 1, 12, 0, second, tzinfo=UTC) for second in (1, 1, 2)]
    names = [new_batch_name(SAMPLE, at) for at in times]
    assert len({*names}) == 3
    assert max(names[:2]) < names[2]
    assert names[2].startswith("sample-20261101T120002Z-")
