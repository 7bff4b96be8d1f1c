"""Errors in tables: records that are lost or repeated, samples that are not whole, rows that no build makes."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.store.root_directory import open_file
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    SAMPLE_RUNS,
    UNKNOWN_RECORDS,
    Table,
)
from tests.live.pipeline.offsets_topic import places
from tests.pipeline.build.builds import build_here, read
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.proof.random_facts import DERIVED

_FACTS: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS)


class _SampleColumns(NamedTuple):
    """A table of facts with its time, and the columns of sample_runs with that time and the number of rows."""

    table: Table
    time: str
    run_time: str
    run_rows: str


_SAMPLE_COLUMNS: Final = (
    _SampleColumns(GROUP_EVENTS, "record_time", "groups_at", "groups"),
    _SampleColumns(OFFSET_COMMITS, "record_time", "commits_at", "commits"),
    _SampleColumns(PARTITION_OFFSETS, "observed_at", "sampled_at", "partitions"),
)


def find_errors(data_dir: str, bootstrap: str) -> list[str]:
    """Return what is wrong with the tables, after an ingest and a build that ran to their ends."""
    storage = open_storage(data_dir)
    errors = [*_record_errors(storage, bootstrap), *_sample_errors(storage)]
    with tempfile.TemporaryDirectory() as scratch:
        fresh = new_storage(Path(scratch, "fresh"))
        for table in _FACTS:
            copy_rows(storage, fresh, table)
        build_here(fresh)
        errors += [f"rows of {name} differ" for name in DERIVED if read(fresh, name) != read(storage, name)]
    return errors


def _record_errors(storage: Storage, bootstrap: str) -> Iterator[str]:
    """Yield an error if a record of the topic is not a row, and one if a record is several rows."""
    rows_of_record = Counter[tuple[int, int]]()
    for table in (OFFSET_COMMITS, GROUP_EVENTS, UNKNOWN_RECORDS):
        rows = rows_in(storage, table, ["source_partition", "source_offset"])
        # The rows of samples have no place in the topic.
        rows_of_record.update(place for place in pairs(rows) if place[0] is not None)
    if repeated := sum(number > 1 for number in rows_of_record.values()):
        yield f"{repeated} records are rows more than once"
    if lost := places(bootstrap).keys() - rows_of_record.keys():
        yield f"{len(lost)} records are no rows"


def _sample_errors(storage: Storage) -> Iterator[str]:
    """Yield an error for each table of facts whose rows of a sample are not as many as sample_runs has them."""
    for columns in _SAMPLE_COLUMNS:
        rows = rows_in(storage, columns.table, ["origin", columns.time])
        runs = rows_in(storage, SAMPLE_RUNS, [columns.run_time, columns.run_rows])
        written = Counter(at for origin, at in pairs(rows) if origin == "sample")
        expected = {at: number for at, number in pairs(runs) if number}
        if written != expected:
            yield f"rows of samples in {columns.table.name} are not those of the runs"


def rows_in(storage: Storage, table: Table, columns: Sequence[str]) -> Any:
    """Return columns of all rows that readers see, as an Arrow table."""
    parts = [pa.schema([table.arrow().field(name) for name in columns]).empty_table()]
    for file in storage.files(table):
        with open_file(storage.directory.address(file.path)) as opened:
            parts.append(pq.ParquetFile(opened).read(list(columns)).select(columns))
    return pa.concat_tables(parts, promote_options="permissive")


def pairs(rows: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the values of the two columns of a table."""
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def copy_rows(source: Storage, target: Storage, table: Table) -> None:
    """Write the rows that readers see as one batch of another storage."""
    with target.writer("copied") as writer:
        for rows in rows_in(source, table, table.arrow().names).cast(table.arrow()).to_batches():
            writer.write(table, rows)
        files = writer.close()
    target.append(files)
