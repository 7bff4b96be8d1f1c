"""Where the stages run: on Spark, or, for few facts, in this process. Both give the tasks the same sorted rows.

Through Spark, many rows of a key go in one binary value: the JVM handles each value of each row, so a hundred times
fewer rows are a hundred times less work for it. A packed row has what the rows in it have in common, which is what
Spark distributes and sorts by; the tasks order what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.transform import columns as arrays
from kafka_groups.pipeline.transform.facts import (
    FILE_SCHEMA,
    FactFile,
    read_group_facts,
    read_partition_facts,
    to_table,
)
from kafka_groups.pipeline.transform.group_input import EVENT, GROUP_INPUT, OUTPUT, STATUS, STATUS_NUMBERS
from kafka_groups.pipeline.transform.group_stage import RESULT
from kafka_groups.pipeline.transform.kernels.segments import Ints, first_rows
from kafka_groups.pipeline.transform.partition_batch import COMMIT, INPUT, OBSERVATION
from kafka_groups.pipeline.transform.tasks import Task, run_groups, run_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What is distributed together: a topic's partition with all of its groups.
_PARTITION: Final = ("cluster_id", "topic", "partition")
_BATCH_OPTION: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BATCH_ROWS: Final = 256
_FACTS_PER_TASK: Final = 250_000
# Rows that wait to be packed: the more, the fewer packed rows a key gets.
_WAITING_ROWS: Final = 262_144
# Then a packed row has 64 KiB or little more, and no batch of packed rows is large.
_MOST_ROWS: Final = 1_024
# Bytes that are unpacked at once, or those of a whole key, if it has more.
_UNPACKED_BYTES: Final = 1_048_576
_PACKED: Final = "packed"
Step = Callable[[Iterator[Any]], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows of `schema` are packed: by kind, those that agree in the columns `common`.

    `packed` has the other columns of a kind: numbers, or others. Rows of the remaining kinds have their value in the
    column `payload`, and stay as they are. `key` is what belongs together, `order` the order of unpacked rows.
    """

    schema: Any
    common: Sequence[str]
    key: Sequence[str]
    order: Sequence[str]
    payload: str
    packed: Mapping[int, Sequence[str]]

    def packed_schema(self) -> Any:
        """Return the schema of packed rows."""
        return pa.schema([*(self.schema.field(name) for name in self.common), (_PACKED, pa.binary())])

    def pack(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield packed rows of record batches of `schema`, which may lack columns of kinds that they do not have."""
        for table in arrays.gather_keys(pieces, (), _WAITING_ROWS):
            for kind, rows in _by_kind(table):
                yield from self._pack_kind(kind, rows).to_batches()

    def unpack(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield record batches of `schema`, in order, from packed rows in the order of `key`."""
        for table in arrays.gather_keys(pieces, self.key, _UNPACKED_BYTES, size_of=lambda rows: rows[_PACKED].nbytes):
            found = pa.concat_tables([self._unpack_kind(kind, rows) for kind, rows in _by_kind(table)])
            yield from arrays.sort_rows(found, self.order).to_batches()

    def _pack_kind(self, kind: int, rows: Any) -> Any:
        packed = rows[self.payload]
        if kind in self.packed:
            keys = [arrays.to_keys(rows[name]) for name in self.common]
            order = np.lexsort(keys[::-1])
            rows = rows.take(pa.array(order)).combine_chunks()
            begins = np.flatnonzero(first_rows(*(key[order] for key in keys)))
            within = np.arange(len(rows)) - np.repeat(begins, np.diff([*begins, len(rows)]))
            # A long run of rows is cut into several.
            first = np.flatnonzero(within % _MOST_ROWS == 0)
            columns = rows.select(self.packed[kind])
            packed = (_pack_numbers if _is_numeric(columns.schema) else _pack_batches)(columns, first)
            rows = rows.take(pa.array(first))
        return pa.Table.from_arrays([*(rows[name] for name in self.common), packed], schema=self.packed_schema())

    def _unpack_kind(self, kind: int, rows: Any) -> Any:
        place, columns = np.arange(rows.num_rows), {self.payload: rows[_PACKED]}
        if kind in self.packed:
            schema = pa.schema([self.schema.field(name) for name in self.packed[kind]])
            place, columns = (_unpack_numbers if _is_numeric(schema) else _unpack_batches)(rows[_PACKED], schema)
        columns |= {name: rows[name].take(pa.array(place)) for name in self.common}
        missing = {field.name: pa.nulls(len(place), field.type) for field in self.schema}
        return pa.Table.from_pydict(missing | columns, schema=self.schema)


def _by_kind(table: Any) -> Iterator[tuple[int, Any]]:
    for kind in pc.unique(table["kind"]).to_pylist():
        yield kind, table.filter(pc.equal(table["kind"], kind)).combine_chunks()


def _is_numeric(schema: Any) -> bool:
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in schema.types)


def _pack_numbers(rows: Any, first: Ints) -> Any:
    """Return the rows' numbers as one value for each run."""
    numbers = [arrays.to_numbers(column).view(np.int64) for column in rows.columns]
    run = np.repeat(np.arange(len(first)), np.diff([*first, len(rows)]))
    return arrays.pack((), [(run, numbers)], len(first))


def _unpack_numbers(packed: Any, schema: Any) -> tuple[Ints, dict[str, Any]]:
    """Return the place of each row's packed row, and the columns."""
    _, [(place, numbers)] = arrays.unpack(packed, 0, [len(schema)])
    columns = {}
    for field, values in zip(schema, numbers, strict=True):
        columns[field.name] = arrays.to_column(values.view(np.float64) if pa.types.is_floating(field.type) else values)
    return place, columns


def _pack_batches(rows: Any, first: Ints) -> Any:
    """Return the rows as one record batch for each run, in Arrow's format of messages."""
    batch = rows.to_batches()[0]
    runs = pairwise([*first.tolist(), len(rows)])
    return pa.array([batch.slice(at, end - at).serialize().to_pybytes() for at, end in runs], pa.binary())


def _unpack_batches(packed: Any, schema: Any) -> tuple[Ints, dict[str, Any]]:
    batches = [pa.ipc.read_record_batch(pa.py_buffer(value), schema) for value in packed.to_pylist()]
    table = pa.Table.from_batches(batches, schema=schema)
    return np.repeat(np.arange(len(batches)), [len(batch) for batch in batches]), dict(
        zip(schema.names, table, strict=True)
    )


PARTITION_LAYOUT: Final = Layout(
    INPUT,
    (*_PARTITION, "group", "kind", "day", "is_record", "is_removal", "topic_id"),
    (*_PARTITION, "group"),
    (*_PARTITION, "group", "kind", "at_us", "source_offset"),
    "state",
    {
        COMMIT: ("at_us", "source_offset", "committed_offset"),
        OBSERVATION: (
            *("at_us", "log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "point_ms"),
        ),
    },
)
_GROUP_COMMON: Final = ("cluster_id", "name", "kind", "day", "topic", "partition")
GROUP_LAYOUT: Final = Layout(
    GROUP_INPUT,
    _GROUP_COMMON,
    ("cluster_id", "name"),
    (*_GROUP_COMMON, "at_us"),
    "payload",
    {
        STATUS: STATUS_NUMBERS,
        EVENT: tuple(name for name in GROUP_INPUT.names if name not in {*_GROUP_COMMON, "payload"}),
    },
)


class LocalEngine:
    """This process: right for few facts, because Spark's first job takes longer than they do."""

    def collect(self, files: Sequence[FactFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        return pa.Table.from_batches(step(iter(to_table(files).to_batches())), schema=schema)

    def run(self, task: Task, of_partitions: Sequence[FactFile], of_groups: Sequence[FactFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""
        facts = arrays.sort_rows(self.collect(of_partitions, read_partition_facts, INPUT), PARTITION_LAYOUT.order)
        found = pa.Table.from_batches(run_partitions(task, iter(facts.to_batches())), schema=OUTPUT)
        events = self.collect(of_groups, read_group_facts, GROUP_INPUT)
        rows = arrays.sort_rows(pa.concat_tables([found, events], promote_options="default"), GROUP_LAYOUT.order)
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
        partitions = partial(run_packed, partial(run_partitions, task), taken=PARTITION_LAYOUT, handed_on=GROUP_LAYOUT)
        groups = partial(run_packed, partial(run_groups, task), taken=GROUP_LAYOUT)
        facts = self._read_packed(of_partitions, read_partition_facts, PARTITION_LAYOUT)
        facts = facts.repartition(self._tasks, *_PARTITION).sortWithinPartitions(*PARTITION_LAYOUT.key)
        found = facts.mapInArrow(partitions, _spark_schema(GROUP_LAYOUT.packed_schema()))
        rows = found.unionByName(self._read_packed(of_groups, read_group_facts, GROUP_LAYOUT))
        rows = rows.repartition(self._tasks, *GROUP_LAYOUT.key).sortWithinPartitions(*GROUP_LAYOUT.key)
        with _small_batches(self._spark):
            return rows.mapInArrow(groups, _spark_schema(RESULT)).toArrow()

    def _read_packed(self, files: Sequence[FactFile], step: Step, layout: Layout) -> DataFrame:
        return self._read(files, partial(run_packed, step, handed_on=layout), layout.packed_schema())

    def _read(self, files: Sequence[FactFile], step: Step, schema: Any) -> DataFrame:
        rows = self._spark.createDataFrame([tuple(file) for file in files], _spark_schema(FILE_SCHEMA))
        return rows.mapInArrow(step, _spark_schema(schema))


Engine = LocalEngine | SparkEngine


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


def _spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
