"""Sorted Parquet files: the rows of several files of one table and date, rewritten in the order of their identity.

The identity of a row is its columns `Table.identity`. The old files stay until a commit removes them from the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store.data_files import DataFile, NewFile, new_path
from kafka_groups.pipeline.store.datasets import open_dataset
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error
from kafka_groups.pipeline.tables import STORED_TABLES, Table

# The number of rows that are sorted at once: commits take about 600 MB, and the same amount again during the sort.
ROWS_AT_ONCE: Final = 2_000_000
_ROWS_PER_GROUP: Final = 131_072
# A column of times is stored as a dictionary if more rows than this share a time, on average.
_ROWS_PER_TIME: Final = 16
# Columns of an identity that are null in rows of samples.
_NULL_IN_SAMPLES: Final = ("source_partition", "source_offset")


def sort_files(
    directory: RootDirectory,
    files: Sequence[DataFile],
    batch: str,
    *,
    on_rows_written: Callable[[int], None] = lambda _rows: None,
) -> list[NewFile]:
    """Write all rows of the files, sorted by identity, into new files of a batch, and return these.

    All files (at least one) must belong to one table and date. Up to `ROWS_AT_ONCE` rows become one new file. More
    rows, which must come from samples, are sorted one range of keys after another: each new file has one range, and the
    ranges ascend. Columns that this version does not know are kept; columns that older files lack are null.
    `on_rows_written` is called after each new file with the number of its rows.

    Raises StorageError, and leaves no new file, if a file cannot be read or written, or if rows were lost.
    """
    table = STORED_TABLES[files[0].table]
    row_count = sum(file.rows for file in files)
    dataset = open_dataset(directory, files)
    key_ranges = _divide_keys(dataset, table) if row_count > ROWS_AT_ONCE else [None]
    row_tables = (dataset.to_table(filter=key_range) for key_range in key_ranges)
    return _write_parts(directory, files[0], batch, row_tables, row_count, on_rows_written)


def copy_rows(
    directory: RootDirectory, files: Sequence[DataFile], batch: str, row_indexes: Sequence[int]
) -> list[NewFile]:
    """Write some rows of the files, sorted by identity, into one new file of a batch, and return it as a list.

    `row_indexes` are distinct indexes (at least one) in any order. They count the rows of all files, in the order of
    the files, from 0. Columns, `files` and errors are as in `sort_files`.
    """
    dataset = open_dataset(directory, files)
    # This is a generator, because `_write_parts` turns errors of reading into StorageErrors.
    row_tables = (dataset.take(pa.array(sorted_indexes)) for sorted_indexes in [sorted(row_indexes)])
    return _write_parts(directory, files[0], batch, row_tables, len(row_indexes), lambda _rows: None)


def sort_by_identity(table: Table, rows: pa.Table) -> pa.Table:
    """Return the rows sorted by the table's identity; columns of the table that they lack are added as null."""
    rows = pa.concat_tables([table.arrow().empty_table(), rows], promote_options="permissive")
    return rows.sort_by([(name, "ascending") for name in table.identity])


def _write_parts(
    directory: RootDirectory,
    first_file: DataFile,
    batch: str,
    row_tables: Iterable[pa.Table],
    row_count: int,
    on_rows_written: Callable[[int], None],
) -> list[NewFile]:
    """Write each part, sorted, into a new file of the table and date of `first_file`, and return the files.

    Parts are read while this function iterates over them. Raises StorageError, without a new file, if all parts
    together do not have `row_count` rows.
    """
    table = STORED_TABLES[first_file.table]
    files: list[NewFile] = []
    with ExitStack() as deletions_on_error:  # They run if an exception is raised below.
        with as_storage_error("join files", directory.location):
            for unsorted_rows in row_tables:
                sorted_rows = sort_by_identity(table, unsorted_rows)
                path = new_path(directory, table.name, first_file.date, batch)
                deletions_on_error.callback(directory.forget, path)
                _write_sorted(directory, path, sorted_rows)
                files.append(
                    NewFile(table.name, first_file.date, path, sorted_rows.num_rows, directory.info(path).size)
                )
                on_rows_written(sorted_rows.num_rows)
        written_count = sum(file.rows for file in files)
        if written_count != row_count:
            message = (
                f"joining {row_count} rows in {directory.location} gave {written_count}, so nothing was replaced; "
                "please report a bug"
            )
            raise StorageError(message)
        deletions_on_error.pop_all()
    return files


def _write_sorted(directory: RootDirectory, path: str, sorted_rows: pa.Table) -> None:
    """Write sorted rows to a new file, in encodings that take little space.

    Numbers are stored as differences, which are small in successive rows of a partition. Strings, and times that many
    rows share, are stored as a dictionary of the distinct values.
    """
    dictionary_names = {field.name for field in sorted_rows.schema if _has_few_values(sorted_rows, field)}
    number_names = {
        field.name
        for field in sorted_rows.schema
        if pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)
    }
    pq.write_table(
        sorted_rows,
        path,
        filesystem=directory.fs,
        compression="zstd",
        row_group_size=_ROWS_PER_GROUP,
        use_dictionary=sorted(dictionary_names),
        column_encoding=dict.fromkeys(number_names - dictionary_names, "DELTA_BINARY_PACKED"),
    )


def _has_few_values(rows: pa.Table, field: pa.Field) -> bool:
    """Return whether a column has few distinct values: a string, or a time that more than 16 rows share on average."""
    if not pa.types.is_timestamp(field.type):
        return bool(pa.types.is_string(field.type))
    return bool(pc.count_distinct(rows[field.name]).as_py() * _ROWS_PER_TIME < rows.num_rows)


def _divide_keys(dataset: ds.Dataset, table: Table) -> Iterator[ds.Expression]:
    """Yield filters that divide rows of samples into ascending ranges of keys. Every row passes exactly one filter.

    A key is the identity without the time: a group on a partition, for example. No column of a key may be null. A range
    has about `ROWS_AT_ONCE` rows, because all rows of a key are in one range. Before the first filter, the key columns
    of the entire dataset are read once. Row groups of sorted files are read only for ranges that overlap their keys.
    """
    key_names = [name for name in table.identity if name not in {table.time_column, *_NULL_IN_SAMPLES}]
    key_counts = _count_keys(dataset, key_names)
    range_numbers = (np.cumsum(key_counts["count"].to_numpy()) - 1) // ROWS_AT_ONCE
    first_indexes = np.unique(range_numbers, return_index=True)[1]
    first_keys = key_counts.select(key_names).take(first_indexes).to_pylist()
    for range_number, first_key in enumerate(first_keys):
        is_in_range = ~_is_before(key_names, first_key)
        if range_number + 1 < len(first_keys):
            is_in_range &= _is_before(key_names, first_keys[range_number + 1])
        yield is_in_range


def _count_keys(dataset: ds.Dataset, key_names: Sequence[str]) -> pa.Table:
    """Return the distinct keys of the dataset in ascending order, with the number of their rows in `count`."""
    counts_of_batches = []
    for batch in dataset.to_batches(columns=key_names):
        batch_rows = pa.Table.from_batches([batch])
        counts_of_batches.append(batch_rows.group_by(key_names).aggregate([([], "count_all")]))
    key_counts = pa.concat_tables(counts_of_batches).group_by(key_names).aggregate([("count_all", "sum")])
    key_counts = key_counts.rename_columns([*key_names, "count"])
    return key_counts.sort_by([(name, "ascending") for name in key_names])


def _is_before(key_names: Sequence[str], key: dict[str, Any]) -> ds.Expression:
    """Return the filter of the rows whose key is less than this one: the first column that differs decides."""
    is_before = ds.scalar(value=False)
    for name in reversed(key_names):
        is_less = ds.field(name) < key[name]
        is_equal = ds.field(name) == key[name]
        is_before = is_less | (is_equal & is_before)
    return is_before
