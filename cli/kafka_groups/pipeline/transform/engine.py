"""Where the stages run: on Spark, or, for few facts, in this process. Both give the tasks the same sorted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from kafka_groups.pipeline.transform.columns import sort_rows
from kafka_groups.pipeline.transform.facts import (
    FILE_SCHEMA,
    FactFile,
    read_group_facts,
    read_partition_facts,
    to_table,
)
from kafka_groups.pipeline.transform.group_input import GROUP_INPUT, OUTPUT
from kafka_groups.pipeline.transform.packed_rows import GROUP_LAYOUT, PARTITION_LAYOUT, Layout
from kafka_groups.pipeline.transform.partition_batch import INPUT
from kafka_groups.pipeline.transform.tasks import RESULT, Task, run_groups, run_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What is distributed together: a topic's partition with all of its groups.
_PARTITION: Final = ("cluster_id", "topic", "partition")
_BATCH_OPTION: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BATCH_ROWS: Final = 256
_FACTS_PER_TASK: Final = 250_000
Step = Callable[[Iterator[Any]], Iterator[Any]]


class Engine(Protocol):
    """What runs tasks over files."""

    def collect(self, files: Sequence[FactFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        ...

    def run(self, task: Task, of_partitions: Sequence[FactFile], of_groups: Sequence[FactFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""
        ...


class LocalEngine:
    """This process: right for few facts, because Spark's first job takes longer than they do."""

    def collect(self, files: Sequence[FactFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        return pa.Table.from_batches(step(iter(to_table(files).to_batches())), schema=schema)

    def run(self, task: Task, of_partitions: Sequence[FactFile], of_groups: Sequence[FactFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""
        facts = sort_rows(self.collect(of_partitions, read_partition_facts, INPUT), PARTITION_LAYOUT.order)
        found = [_widened(rows) for rows in run_partitions(task, iter(facts.to_batches()))]
        events = self.collect(of_groups, read_group_facts, GROUP_INPUT)
        whole = pa.concat_tables([pa.Table.from_batches(found, schema=GROUP_INPUT), events])
        return pa.Table.from_batches(
            run_groups(task, iter(sort_rows(whole, GROUP_LAYOUT.order).to_batches())), schema=RESULT
        )


def _widened(rows: Any) -> Any:
    missing = [pa.nulls(rows.num_rows, field.type) for field in list(GROUP_INPUT)[len(OUTPUT) :]]
    return pa.RecordBatch.from_arrays([*rows.columns, *missing], schema=GROUP_INPUT)


class SparkEngine:
    """Spark, local or a cluster: it distributes the rows by key, sorts them, and runs the tasks."""

    def __init__(self, spark: SparkSession, tasks: int) -> None:
        self._spark = spark
        self._tasks = tasks

    def collect(self, files: Sequence[FactFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        return self._read(files, step, schema).toArrow()

    def run(self, task: Task, of_partitions: Sequence[FactFile], of_groups: Sequence[FactFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""
        packed = spark_schema(GROUP_LAYOUT.packed_schema())
        facts = self._read(of_partitions, read_packed_partition_facts, PARTITION_LAYOUT.packed_schema())
        facts = self._together(facts, _PARTITION, PARTITION_LAYOUT)
        found = facts.mapInArrow(partial(run_packed_partitions, task), packed)
        events = self._read(of_groups, read_packed_group_facts, GROUP_LAYOUT.packed_schema())
        whole = self._together(found.unionByName(events), GROUP_LAYOUT.key, GROUP_LAYOUT)
        with _small_batches(self._spark):
            return whole.mapInArrow(partial(run_packed_groups, task), spark_schema(RESULT)).toArrow()

    def _together(self, rows: DataFrame, key: Sequence[str], layout: Layout) -> DataFrame:
        return rows.repartition(self._tasks, *key).sortWithinPartitions(*layout.key)

    def _read(self, files: Sequence[FactFile], step: Step, schema: Any) -> DataFrame:
        rows = self._spark.createDataFrame([tuple(file) for file in files], spark_schema(FILE_SCHEMA))
        return rows.mapInArrow(step, spark_schema(schema))


def read_packed_partition_facts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield packed rows of partition_batch.INPUT from files of commits, of log ends and of partitions' states."""
    return PARTITION_LAYOUT.pack(read_partition_facts(pieces))


def read_packed_group_facts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield packed rows of group_input.GROUP_INPUT from files of events and of groups' states."""
    return GROUP_LAYOUT.pack(read_group_facts(pieces))


def run_packed_partitions(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield packed rows for the stage of groups from packed facts of partitions."""
    found = run_partitions(task, PARTITION_LAYOUT.unpack(pieces))
    return GROUP_LAYOUT.pack(map(_widened, found))


def run_packed_groups(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of tasks.RESULT from packed rows for the stage of groups."""
    return run_groups(task, GROUP_LAYOUT.unpack(pieces))


@contextmanager
def _small_batches(spark: SparkSession) -> Iterator[None]:
    """Let Spark hand packed rows to Python in batches of a few: each may have 64 KiB."""
    before = spark.conf.get(_BATCH_OPTION)
    spark.conf.set(_BATCH_OPTION, str(_BATCH_ROWS))
    try:
        yield
    finally:
        spark.conf.set(_BATCH_OPTION, str(before))


def spark_schema(schema: Any) -> str:
    """Return an Arrow schema as Spark spells it."""
    from pyspark.sql.pandas.types import from_arrow_type

    return ", ".join(f"`{field.name}` {from_arrow_type(field.type).simpleString()}" for field in schema)


def spark_engine(spark: SparkSession, facts: int) -> SparkEngine:
    """Return the engine for that many facts on a session."""
    return SparkEngine(spark, tasks=2 + facts // _FACTS_PER_TASK)
