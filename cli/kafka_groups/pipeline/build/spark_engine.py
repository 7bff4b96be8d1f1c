"""The stages on Spark, local or a cluster: it distributes rows by key, sorts them, and runs the tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kafka_groups.pipeline.build.fact_files import read_facts
from kafka_groups.pipeline.build.stage_rows import (
    GROUP_KEY,
    KEY,
    PARTITION_KEY,
    RowKind,
    StageRows,
    read_results,
)
from kafka_groups.pipeline.build.tasks import Task, run_group_task, run_partition_task
from kafka_groups.pipeline.store import DataFile
from kafka_groups.pipeline.store.data_files import DATA_FILE_SCHEMA, from_rows, to_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_PER_ARROW_BATCH: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_FACTS_PER_TASK: Final = 250_000


class SparkEngine:
    """An engine that runs the stages as jobs of a Spark session; it uses only what Spark Connect supports."""

    def __init__(self, spark: SparkSession, fact_count: int) -> None:
        """Set the session, and the number of tasks from the number of facts that the build reads."""
        self._spark = spark
        self._task_count = 2 + fact_count // _FACTS_PER_TASK
        self._rows: Any = None

    def read(self, files: Sequence[DataFile]) -> Any:
        """Read files of facts and states for `run`, and return parts of their summary as a table of FactSummaryRows.

        Spark keeps the rows in memory and on disk, so that the files are read once.
        """
        file_rows = self._spark.createDataFrame(pa.Table.from_batches([to_rows(files)], DATA_FILE_SCHEMA))
        self._rows = file_rows.repartition(self._task_count).mapInArrow(_read_files, _spark_schema()).persist()
        result_rows = self._rows.where(f"kind = {int(RowKind.RESULT)}").toArrow()
        return read_results(result_rows.cast(StageRows.schema()), "summary")

    def run(self, task: Task) -> Any:
        """Run the stages over the rows of `read`, and return the rows for the driver as a table of StageRows.

        Each call needs its own call of `read` before, because it releases the rows.
        """

        def run_partitions(rows: Iterator[Any]) -> Iterator[Any]:
            return run_partition_task(task, rows)

        def run_groups(rows: Iterator[Any]) -> Iterator[Any]:
            return run_group_task(task, rows)

        is_group_row = f"kind IN ({int(RowKind.GROUP_STATE)}, {int(RowKind.EVENTS)})"
        is_partition_row = f"kind <= {int(RowKind.SHARE_OFFSETS)}"
        # A partition is in one task with all of its groups.
        partitions = (
            self._rows.where(is_partition_row).repartition(self._task_count, *PARTITION_KEY).sortWithinPartitions(*KEY)
        )
        rows_for_groups = partitions.mapInArrow(run_partitions, _spark_schema())
        groups = rows_for_groups.unionByName(self._rows.where(is_group_row)).repartition(self._task_count, *GROUP_KEY)
        result_rows = groups.sortWithinPartitions(*GROUP_KEY).mapInArrow(run_groups, _spark_schema())
        return self._collect(result_rows).cast(StageRows.schema())

    def _collect(self, rows: DataFrame) -> Any:
        """Return the rows as an Arrow table, and release what `read` persisted.

        Rows go to Python a few at a time, because each packed row may have 64 KiB.
        """
        rows_per_batch_before = self._spark.conf.get(_ROWS_PER_ARROW_BATCH)
        self._spark.conf.set(_ROWS_PER_ARROW_BATCH, "256")
        try:
            return rows.toArrow()
        finally:
            self._spark.conf.set(_ROWS_PER_ARROW_BATCH, str(rows_per_batch_before))
            self._rows.unpersist()


def _read_files(rows: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of the files that a task receives, as record batches of StageRows."""
    return read_facts([file for batch in rows for file in from_rows(batch)])


def _spark_schema() -> Any:
    """Return the schema of StageRows as a type of Spark."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(StageRows.schema())
