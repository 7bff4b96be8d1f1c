"""Where the stages run: on Spark, or, for few facts, in this process. Both give the tasks the same sorted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

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


class LocalEngine:
    """This process: right for few facts, because Spark's first job takes longer than they do."""

    def collect(self, files: Sequence[FactFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        return pa.Table.from_batches(step(iter(to_table(files).to_batches())), schema=schema)

    def run(self, task: Task, of_partitions: Sequence[FactFile], of_groups: Sequence[FactFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""
        facts = sort_rows(self.collect(of_partitions, read_partition_facts, INPUT), PARTITION_LAYOUT.order)
        found = pa.Table.from_batches(run_partitions(task, iter(facts.to_batches())), schema=OUTPUT)
        events = self.collect(of_groups, read_group_facts, GROUP_INPUT)
        rows = sort_rows(pa.concat_tables([found, events], promote_options="default"), GROUP_LAYOUT.order)
        return pa.Table.from_batches(run_groups(task, iter(rows.to_batches())), schema=RESULT)


class SparkEngine:
    """Spark, local or a cluster: it distributes the rows by key, sorts them, and runs the tasks."""

    def __init__(self, spark: SparkSession, facts: int) -> None:
        self._spark = spark
        self._tasks = 2 + facts // _FACTS_PER_TASK

    def collect(self, files: Sequence[FactFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        return self._read(files, step, schema).toArrow()

    def run(self, task: Task, of_partitions: Sequence[FactFile], of_groups: Sequence[FactFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""
        facts = self._read_packed(of_partitions, read_partition_facts, PARTITION_LAYOUT)
        partitions = partial(run_packed, partial(run_partitions, task), taken=PARTITION_LAYOUT, handed_on=GROUP_LAYOUT)
        found = self._together(facts, _PARTITION, PARTITION_LAYOUT).mapInArrow(
            partitions, spark_schema(GROUP_LAYOUT.packed_schema())
        )
        events = self._read_packed(of_groups, read_group_facts, GROUP_LAYOUT)
        groups = partial(run_packed, partial(run_groups, task), taken=GROUP_LAYOUT)
        whole = self._together(found.unionByName(events), GROUP_LAYOUT.key, GROUP_LAYOUT)
        with _small_batches(self._spark):
            return whole.mapInArrow(groups, spark_schema(RESULT)).toArrow()

    def _together(self, rows: DataFrame, key: Sequence[str], layout: Layout) -> DataFrame:
        return rows.repartition(self._tasks, *key).sortWithinPartitions(*layout.key)

    def _read_packed(self, files: Sequence[FactFile], step: Step, layout: Layout) -> DataFrame:
        return self._read(files, partial(run_packed, step, handed_on=layout), layout.packed_schema())

    def _read(self, files: Sequence[FactFile], step: Step, schema: Any) -> DataFrame:
        rows = self._spark.createDataFrame([tuple(file) for file in files], spark_schema(FILE_SCHEMA))
        return rows.mapInArrow(step, spark_schema(schema))


def run_packed(
    step: Step, pieces: Iterator[Any], *, taken: Layout | None = None, handed_on: Layout | None = None
) -> Iterator[Any]:
    """Run a step whose rows are packed before it, after it, or both."""
    rows = step(taken.unpack(pieces) if taken else pieces)
    return handed_on.pack(rows) if handed_on else rows


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


Engine = LocalEngine | SparkEngine
