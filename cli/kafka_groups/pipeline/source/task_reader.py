"""What a task does with the records of its ranges: rows for Spark, or files of tables and a manifest of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.decode import decode, gap_rows
from kafka_groups.pipeline.decode.columns import GAP, GROUP_EVENT, OFFSET_COMMIT, UNKNOWN
from kafka_groups.pipeline.schemas import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS, Table
from kafka_groups.pipeline.source.brokers import new_consumer
from kafka_groups.pipeline.source.options import SourceOptions
from kafka_groups.pipeline.source.plan import Range
from kafka_groups.pipeline.source.ranges import Hole, RangeReader
from kafka_groups.pipeline.storage import new_writer

# What a task that writes files returns: one row for each of them.
MANIFEST: Final = pa.schema(
    [("table", pa.string()), ("date", pa.string()), ("path", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())]
)


def read_rows(options: SourceOptions, cluster_id: str, ranges: tuple[Range, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the records of these ranges as rows of columns.RECORD; of one group only, if the options say so."""
    consumer = new_consumer(options.client)
    try:
        for wanted in ranges:
            for found in RangeReader(consumer, wanted, options.client, options.timeout_s).read():
                yield _of_group(_rows(found, cluster_id, wanted.partition), options.group)
    finally:
        consumer.close()


def write_files(options: SourceOptions, cluster_id: str, ranges: tuple[Range, ...]) -> Iterator[pa.RecordBatch]:
    """Write these records into files of the tables that they belong to, and return the names of those files.

    A task that fails leaves no file; one that dies leaves files that no manifest names.
    """
    with new_writer(options.data_dir or "", options.batch) as writer:
        for rows in read_rows(options, cluster_id, ranges):
            for table, part in split_records(rows):
                writer.write(table, _without(part, options.skipped.get(table.name, {})))
        files = writer.close()
    if files:
        columns: list[Any] = [[getattr(file, name) for file in files] for name in MANIFEST.names]
        yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), schema=MANIFEST)


def _rows(found: Any, cluster_id: str, partition: int) -> pa.RecordBatch:
    if isinstance(found, Hole):
        return gap_rows(cluster_id, partition, **found._asdict(), at_ms=time.time_ns() // 1_000_000)
    return decode(found, cluster_id)


def _without(rows: pa.RecordBatch, skipped: Mapping[int, int]) -> pa.RecordBatch:
    """Return the rows from these offsets on, by source partition; their table has the others."""
    if not skipped:
        return rows
    offset = "source_offset" if "source_offset" in rows.schema.names else "from_offset"
    partitions = rows["source_partition"].to_pylist()
    first = pa.array([skipped.get(each, 0) for each in partitions], pa.int64())
    return rows.filter(pc.greater_equal(rows[offset], first))


def _of_group(rows: pa.RecordBatch, group: str | None) -> pa.RecordBatch:
    return rows if group is None else rows.filter(pc.equal(rows["group"], group))


def split_records(batch: pa.RecordBatch) -> Iterator[tuple[Table, pa.RecordBatch]]:
    """Yield rows of columns.RECORD as rows of the tables that they belong to; tables without a row are left out."""
    kinds = batch["kind"]
    for kind, (table, inner) in _HOMES.items():
        wanted = pc.equal(kinds, kind)
        if not wanted.true_count:
            continue
        rows = batch if wanted.true_count == batch.num_rows else batch.filter(wanted)
        yield table, _shaped(table, rows, inner)


_HOMES: Final = {
    OFFSET_COMMIT: (OFFSET_COMMITS, None),
    GROUP_EVENT: (GROUP_EVENTS, "event"),
    UNKNOWN: (UNKNOWN_RECORDS, "raw"),
    GAP: (INGEST_GAPS, "gap"),
}


def _shaped(table: Table, rows: pa.RecordBatch, inner: str | None) -> pa.RecordBatch:
    """Return the columns of a table, from the rows' own and from those inside of one."""
    known = dict(zip(rows.schema.names, rows.columns, strict=True))
    if inner:
        known |= dict(zip((field.name for field in rows[inner].type), rows[inner].flatten(), strict=True))
    known["origin"] = pa.repeat(pa.scalar("topic"), rows.num_rows)
    known["found_at"] = rows["record_time"]
    known["commit_time"] = pc.coalesce(rows["commit_time"], rows["record_time"])
    schema = table.arrow()
    columns = [known.get(field.name, pa.nulls(rows.num_rows, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
