"""The samples of a date in one order, whatever they take: a range of keys after the other is sorted in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage import compaction
from kafka_groups.pipeline.storage.compaction import check_rows, in_order, write_sorted
from kafka_groups.pipeline.storage.layout import SORTED_SAMPLES, DataFile, NewFile
from kafka_groups.pipeline.storage.root_directory import RootDirectory
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

_NULL_IN_SAMPLES: Final = ("source_partition", "source_offset")


def sort_samples(
    place: RootDirectory,
    table: Table,
    date: str,
    files: Sequence[DataFile],
    is_sorted: Callable[[int], None] = lambda _rows: None,
) -> list[NewFile]:
    """Write the rows of samples of one date as files that are sorted by the table's identity, within and in turn.

    The rows of one key (a partition of a group, …) are read at once, and of many as memory has place for: files of
    which each is sorted are read about once. `is_sorted` is called with the number of rows of each part.
    """
    found: list[NewFile] = []
    with as_storage_error("sort samples", place.into):
        dataset = _dataset(place, [file.path for file in files])
        try:
            for part in _ranges(dataset, _key(table)):
                rows = in_order(table, [dataset.to_table(filter=part)])
                found.append(write_sorted(place, table, date, SORTED_SAMPLES, rows))
                is_sorted(rows.num_rows)
            check_rows(place, files, found)
        except BaseException:
            for file in found:
                place.forget(file.path)
            raise
    return found


def _key(table: Table) -> list[str]:
    """Return the columns that say what a sampled row is of; those of the identity except the time."""
    return [name for name in table.identity if name != table.dated_by and name not in _NULL_IN_SAMPLES]


def _dataset(place: RootDirectory, paths: Sequence[str]) -> ds.Dataset:
    schemas = [pq.read_schema(path, filesystem=place.fs) for path in paths]
    schema = pa.unify_schemas(schemas, promote_options="permissive")
    return ds.dataset(paths, schema=schema, format="parquet", filesystem=place.fs)


def _ranges(dataset: ds.Dataset, key: Sequence[str]) -> Iterator[ds.Expression]:
    """Yield conditions that divide the keys, in their order, into parts of about as many rows as memory has place for.

    A row group is read only for the parts that its least and largest key touch.
    """
    counts = [
        pa.Table.from_batches([batch]).group_by([*key]).aggregate([([], "count_all")])
        for batch in dataset.to_batches(columns=[*key])
    ]
    rows = pa.concat_tables(counts).group_by([*key]).aggregate([("count_all", "sum")])
    rows = rows.sort_by([(name, "ascending") for name in key])
    parts = np.cumsum(rows["count_all_sum"].to_numpy()) // compaction.ROWS_AT_ONCE
    first = rows.select(key).take(np.unique(parts, return_index=True)[1]).to_pylist()
    for least, end in zip(first, [*first[1:], None], strict=True):
        is_in = ~_is_before(key, least)
        yield is_in if end is None else is_in & _is_before(key, end)


def _is_before(key: Sequence[str], value: dict[str, Any]) -> ds.Expression:
    """Return the condition that a row's key comes before this one, column by column."""
    never = ds.scalar(value=False)
    return reduce(
        lambda rest, name: (ds.field(name) < value[name]) | ((ds.field(name) == value[name]) & rest), key[::-1], never
    )
