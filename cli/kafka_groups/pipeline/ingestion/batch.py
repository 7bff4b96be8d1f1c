"""One batch on Spark: its tasks read ranges of the topic and write files, and Spark moves only a list of the files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.decode.columns import GAP, GROUP_EVENT, OFFSET_COMMIT, UNKNOWN
from kafka_groups.pipeline.schemas import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS, Table
from kafka_groups.pipeline.source.plan import Offsets, Range
from kafka_groups.pipeline.source.ranges import read_rows
from kafka_groups.pipeline.spark import error_in
from kafka_groups.pipeline.storage import NewFile, new_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STEP_S: Final = 0.5  # how often `stop` is looked at
_OF_A_CLUSTER: Final = 64
_FILE: Final = "`table` STRING, `date` STRING, path STRING, `rows` BIGINT, bytes BIGINT"  # NewFile, as Spark spells it
_TABLES: Final = {
    OFFSET_COMMIT: (OFFSET_COMMITS, None),
    GROUP_EVENT: (GROUP_EVENTS, "event"),
    UNKNOWN: (UNKNOWN_RECORDS, "raw"),
    GAP: (INGEST_GAPS, "gap"),
}


class Batch(NamedTuple):
    """What the tasks of a batch are given."""

    name: str
    data_dir: str
    client: Mapping[str, str]  # properties of librdkafka, secrets among them
    timeout_s: float
    cluster_id: str
    tasks: Sequence[Sequence[Range]]
    ahead: Mapping[str, Offsets]  # what is below these offsets is in that table already


def count_cores(spark: SparkSession) -> int:
    """Return how many tasks run at once, by the master's name; a cluster's, which has no number, counts as large."""
    # Not sparkContext.defaultParallelism, which Spark Connect does not have.
    found = re.fullmatch(r"local(?:\[(\d+|\*).*\])?", spark.conf.get("spark.master", None) or "")
    if found is None:
        return _OF_A_CLUSTER  # tasks that wait for a core cost little, and cores without a task are lost
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


def run_batch(spark: SparkSession, batch: Batch, stop: Callable[[], bool]) -> list[NewFile] | None:
    """Return the files that the tasks wrote, or raise what they raised; None, interrupting them, if `stop` says so."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    count = len(batch.tasks)
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            files = spark.range(0, count, 1, count).mapInArrow(partial(run_tasks, batch), _FILE)
            rows = pool.submit(files.collect)
            is_stopped = False
            while not wait([rows], _STEP_S).done:
                is_stopped = is_stopped or stop()
                if is_stopped:
                    # Again and again: while Spark plans, there is no job to interrupt yet.
                    spark.interruptAll()
            return None if is_stopped else [NewFile(**row.asDict()) for row in rows.result()]
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from None


def run_tasks(batch: Batch, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the tasks with these numbers, and yield what is known of the files that they wrote.

    A task that fails leaves no file; one that dies leaves files that are in no list.
    """
    for number in (number for rows in numbers for number in rows["id"].to_pylist()):
        with new_writer(batch.data_dir, batch.name) as writer:
            for rows in read_rows(batch.client, batch.timeout_s, batch.cluster_id, batch.tasks[number]):
                for table, part in split_records(rows):
                    writer.write(table, _without(part, batch.ahead.get(table.name, {})))
            files = writer.close()
        if files:
            yield pa.RecordBatch.from_pylist(list(map(asdict, files)))


def split_records(batch: pa.RecordBatch) -> Iterator[tuple[Table, pa.RecordBatch]]:
    """Yield rows of columns.RECORD as rows of the tables that they belong to; tables without a row are left out."""
    for kind, (table, inner) in _TABLES.items():
        wanted = pc.equal(batch["kind"], kind)
        if wanted.true_count:
            rows = batch if wanted.true_count == batch.num_rows else batch.filter(wanted)
            yield table, _shaped(table, rows, inner)


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


def _without(rows: pa.RecordBatch, ahead: Offsets) -> pa.RecordBatch:
    """Return the rows, which are of one source partition, from its offset in `ahead` on."""
    first = ahead.get(rows["source_partition"][0].as_py(), 0)
    return rows.filter(pc.greater_equal(rows["source_offset"], first)) if first else rows
