"""The tasks of a batch of an ingest: one Spark job, whose tasks read ranges of the topic and write files.

Spark carries only the numbers of the tasks to the workers, and lists of files back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.facts.decode.decoded_records import rows_by_table
from kafka_groups.pipeline.facts.source.position import NO_OFFSETS, Offsets
from kafka_groups.pipeline.facts.source.range_plan import Range
from kafka_groups.pipeline.facts.source.ranges import read_ranges
from kafka_groups.pipeline.spark.connect_retries import retry_until
from kafka_groups.pipeline.spark.spark_errors import error_in
from kafka_groups.pipeline.store import NewFile, new_writer
from kafka_groups.pipeline.store.data_files import DATA_FILE_SCHEMA, from_rows, to_rows
from kafka_groups.pipeline.tables.spark_types import render_ddl
from kafka_groups.settings.librdkafka import ClientProperties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STOP_CHECK_INTERVAL_S: Final = 0.5
_LOCAL_MASTER: Final = re.compile(r"local(?:\[(?P<cores>[0-9]+|\*).*\])?")
_CORES_OF_A_CLUSTER: Final = 64

ShouldStop = Callable[[], bool]


class Batch(NamedTuple):
    """A batch of an ingest: all that its tasks need.

    - The names of the batch's files begin with `name`.
    - `client` are properties of librdkafka, including secrets. `timeout_s` limits requests and waits for records.
    - `tasks` has the ranges that each task reads.
    - `offsets_ahead` has, for each table that already has records of the batch, the next offset of each such partition,
      by table name. The table ingest_gaps is never among these tables.
    """

    name: str
    data_dir: str
    client: ClientProperties
    timeout_s: float
    cluster_id: str
    tasks: Sequence[Sequence[Range]]
    offsets_ahead: Mapping[str, Offsets]


def count_cores(spark: SparkSession) -> int:
    """Return the number of tasks that run at once, from the name of the master; 64 for a cluster.

    The name of a cluster has no number of cores. On a smaller cluster some tasks wait for a core, which costs little;
    with too few tasks, cores would be idle.
    """
    # Spark Connect does not have sparkContext.defaultParallelism.
    match = _LOCAL_MASTER.fullmatch(spark.conf.get("spark.master", None) or "")
    if match is None:
        return _CORES_OF_A_CLUSTER
    if match["cores"] == "*":
        return os.cpu_count() or 1
    return int(match["cores"] or 1)


def run_batch(spark: SparkSession, batch: Batch, should_stop: ShouldStop) -> list[NewFile] | None:
    """Run the tasks of a batch, and return the files that they wrote, which are not committed yet.

    If `should_stop` returns true before the tasks end, they are interrupted, and None is returned. Raises the error
    that a task raised, and PipelineError for other errors of Spark.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    task_count = len(batch.tasks)
    try:
        with retry_until(spark, should_stop), ThreadPoolExecutor(max_workers=1) as pool:
            # Each task gets one row, the number of the task.
            task_numbers = spark.range(0, task_count, 1, task_count)
            written_files = task_numbers.mapInArrow(partial(run_tasks, batch), render_ddl(DATA_FILE_SCHEMA))
            collected_rows = pool.submit(written_files.collect)
            is_stopped = False
            while not wait([collected_rows], _STOP_CHECK_INTERVAL_S).done:
                is_stopped = is_stopped or should_stop()
                if is_stopped:
                    # This is repeated, because there is no job to interrupt while Spark still plans it.
                    spark.interruptAll()
            if is_stopped:
                return None
            file_rows = [row.asDict() for row in collected_rows.result()]
            return from_rows(pa.Table.from_pylist(file_rows, schema=DATA_FILE_SCHEMA))
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from None


def run_tasks(batch: Batch, task_numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the tasks whose numbers are in the column `id`, and yield a row of DATA_FILE_SCHEMA for each written file.

    A task that raises an error leaves no file. Files of a killed task are in no list, and `compact` deletes them later.
    """
    for number_rows in task_numbers:
        for task_number in number_rows["id"].to_pylist():
            files = _run_task(batch, batch.tasks[task_number])
            if files:
                yield to_rows(files)


def _run_task(batch: Batch, ranges: Sequence[Range]) -> list[NewFile]:
    """Read the records of the ranges, and write them to files of the tables."""
    with new_writer(batch.data_dir, batch.name) as writer:
        for records in read_ranges(batch.client, batch.timeout_s, batch.cluster_id, ranges):
            for table, rows in rows_by_table(records).items():
                writer.write(table, skip_stored_rows(rows, batch.offsets_ahead.get(table.name, NO_OFFSETS)))
        return writer.close()


def skip_stored_rows(rows: pa.RecordBatch, offsets_ahead: Offsets) -> pa.RecordBatch:
    """Return the rows that their table does not have yet.

    All rows belong to one partition of `__consumer_offsets`. `offsets_ahead` has, by partition, the offset below which
    the table has all rows; of partitions that it lacks, the table has none of the rows.
    """
    partition = rows["source_partition"][0].as_py()
    first_offset = offsets_ahead.get(partition, 0)
    if first_offset == 0:
        return rows
    return rows.filter(pc.greater_equal(rows["source_offset"], first_offset))
