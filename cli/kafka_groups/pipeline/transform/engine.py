"""Where the stages run: on Spark, or, for few facts, in this process. Both give the tasks the same sorted rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.transform.columns import to_codes, to_ints
from kafka_groups.pipeline.transform.facts import (
    FILE_SCHEMA,
    FactFile,
    read_group_facts,
    read_partition_facts,
    to_table,
)
from kafka_groups.pipeline.transform.group_input import GROUP_INPUT, OUTPUT
from kafka_groups.pipeline.transform.partition_batch import INPUT
from kafka_groups.pipeline.transform.tasks import RESULT, Task, run_groups, run_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARTITION_KEY: Final = ("cluster_id", "topic", "partition")
_PARTITION_ORDER: Final = (*_PARTITION_KEY, "group", "kind", "at_us", "source_offset")
_GROUP_KEY: Final = ("cluster_id", "name")
_GROUP_ORDER: Final = (*_GROUP_KEY, "kind", "day", "topic", "partition", "at_us")
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
        facts = _sorted(self.collect(of_partitions, read_partition_facts, INPUT), _PARTITION_ORDER)
        found = [_widened(rows) for rows in run_partitions(task, iter(facts.to_batches()))]
        events = self.collect(of_groups, read_group_facts, GROUP_INPUT)
        whole = pa.concat_tables([pa.Table.from_batches(found, schema=GROUP_INPUT), events])
        return pa.Table.from_batches(run_groups(task, iter(_sorted(whole, _GROUP_ORDER).to_batches())), schema=RESULT)


def _widened(rows: Any) -> Any:
    missing = [pa.nulls(rows.num_rows, field.type) for field in list(GROUP_INPUT)[len(OUTPUT) :]]
    return pa.RecordBatch.from_arrays([*rows.columns, *missing], schema=GROUP_INPUT)


def _sorted(table: Any, names: Sequence[str]) -> Any:
    """Return the rows in order, null first, as Spark orders them."""
    if not len(table):
        return table
    keys = []
    for name in names:
        column = table[name].combine_chunks()
        keys.append(to_codes(column)[0][0] if pa.types.is_string(column.type) else to_ints(column))
    return table.take(pa.array(np.lexsort(keys[::-1])))


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
        facts = self._read(of_partitions, read_partition_facts, INPUT)
        facts = facts.repartition(self._tasks, *_PARTITION_KEY).sortWithinPartitions(*_PARTITION_ORDER)
        found = facts.mapInArrow(partial(run_partitions, task), spark_schema(OUTPUT))
        events = self._read(of_groups, read_group_facts, GROUP_INPUT)
        whole = found.unionByName(events, allowMissingColumns=True).select(*GROUP_INPUT.names)
        whole = whole.repartition(self._tasks, *_GROUP_KEY).sortWithinPartitions(*_GROUP_ORDER)
        return whole.mapInArrow(partial(run_groups, task), spark_schema(RESULT)).toArrow()

    def _read(self, files: Sequence[FactFile], step: Step, schema: Any) -> DataFrame:
        rows = self._spark.createDataFrame([tuple(file) for file in files], spark_schema(FILE_SCHEMA))
        return rows.mapInArrow(step, spark_schema(schema))


def spark_schema(schema: Any) -> str:
    """Return an Arrow schema as Spark spells it."""
    from pyspark.sql.pandas.types import from_arrow_type

    return ", ".join(f"`{field.name}` {from_arrow_type(field.type).simpleString()}" for field in schema)
