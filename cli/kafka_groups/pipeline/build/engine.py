"""The stages as tasks, and where these run: on Spark, or, for few facts, in this process. Both sort the tasks' rows.

Through Spark, many rows go in one binary value, beside what they have in common, which is what Spark distributes and
sorts by: the JVM handles each value of each row, so a hundred times fewer rows are a hundred times less work for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline import tables as schemas
from kafka_groups.pipeline.build import arrays
from kafka_groups.pipeline.build import partition_batch as partitions
from kafka_groups.pipeline.build.fact_rows import Summary, read_facts
from kafka_groups.pipeline.build.group_rows import EVENT, FILE, GROUP_INPUT, OUTPUT, STATUS, STATUS_NUMBERS
from kafka_groups.pipeline.build.group_stage import RESULT, GroupBatch, transform_groups
from kafka_groups.pipeline.build.kernels.segments import Ints, starts_of
from kafka_groups.pipeline.build.partition_stage import Settings, transform_days
from kafka_groups.pipeline.store import DataFile, NewFile, new_writer
from kafka_groups.pipeline.store.data_files import BUILD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BATCH_OPTION: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BATCH_ROWS: Final = 100_000  # that a task works on at once
_FACTS_PER_TASK: Final = 250_000
_WAITING_ROWS: Final = 262_144  # that wait to be packed: the more, the fewer packed rows a key gets
_MOST_ROWS: Final = 1_024  # of a packed row, which then has 64 KiB or little more
_UNPACKED_BYTES: Final = 1_048_576  # that are unpacked at once, or those of a whole key, if it has more
_FILE: Final = "table STRING, date STRING, path STRING, rows BIGINT, bytes BIGINT"  # the columns of DataFile
Step = Callable[[Iterable[DataFile]], Iterator[Any]]  # yields record batches


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows of `schema` are packed: by kind, those that agree in the columns `common`.

    `packed` has the other columns of a kind, whose values go in the column `payload`; rows of the remaining kinds have
    a value there, and stay as they are. `key` is what belongs together, `order` that of unpacked rows.
    """

    schema: Any
    common: Sequence[str]
    key: Sequence[str]
    order: Sequence[str]
    payload: str
    packed: Mapping[int, Sequence[str]]

    def packed_schema(self) -> Any:
        """Return the schema of packed rows."""
        return pa.schema([self.schema.field(name) for name in (*self.common, self.payload)])

    def read(self, files: Iterable[DataFile]) -> Iterator[Any]:
        """Yield record batches of `schema` from files of facts and states."""
        return read_facts(files, self.schema)

    def pack(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield packed rows of record batches of `schema`, which may lack columns that only other kinds have."""
        for table in arrays.gather_keys(pieces, (), _WAITING_ROWS):
            for kind, rows in _by_kind(table):
                yield from self._pack_kind(kind, rows).to_batches()

    def unpack(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield record batches of `schema`, in order, from packed rows in the order of `key`."""
        tables = arrays.gather_keys(pieces, self.key, _UNPACKED_BYTES, size_of=lambda rows: rows[self.payload].nbytes)
        for table in tables:
            kinds = [self._unpack_kind(kind, rows) for kind, rows in _by_kind(table)]
            found = pa.concat_tables([self.schema.empty_table(), *kinds], promote_options="default")
            yield from arrays.sort_rows(found, self.order).to_batches()

    def _pack_kind(self, kind: int, rows: Any) -> Any:
        if kind not in self.packed:
            return rows.select([*self.common, self.payload])
        keys = [arrays.to_keys(rows[name]) for name in self.common]
        order = np.lexsort(keys[::-1])
        rows = rows.take(pa.array(order)).combine_chunks()
        # A long run of rows is cut into several.
        within = np.arange(len(rows)) - starts_of(*(key[order] for key in keys))
        first = np.flatnonzero(within % _MOST_ROWS == 0)
        packed = _pack_runs(rows.select(self.packed[kind]), np.diff([*first, len(rows)]))
        return rows.select(self.common).take(pa.array(first)).append_column(self.payload, packed)

    def _unpack_kind(self, kind: int, rows: Any) -> Any:
        if kind not in self.packed:
            return rows
        found, owner = _unpack_runs(rows[self.payload], pa.schema(map(self.schema.field, self.packed[kind])))
        common = rows.select(self.common).take(pa.array(owner))
        return pa.Table.from_arrays([*found.columns, *common.columns], [*found.column_names, *self.common])


def _by_kind(table: Any) -> Iterator[tuple[int, Any]]:
    for kind in pc.unique(table["kind"]).to_pylist():
        yield kind, table.filter(pc.equal(table["kind"], kind)).combine_chunks()


def _pack_runs(rows: Any, counts: Ints) -> Any:
    """Return a value for each run of so many rows: numbers, or else a record batch in Arrow's format of messages."""
    if _is_numeric(rows.schema):
        owner = np.repeat(np.arange(len(counts)), counts)
        return arrays.pack((), [(owner, [*map(arrays.to_numbers, rows.columns)])], len(counts))
    (batch,) = rows.to_batches()
    runs = zip(np.cumsum(counts) - counts, counts, strict=True)
    return pa.array([batch.slice(first, count).serialize().to_pybytes() for first, count in runs], pa.binary())


def _unpack_runs(packed: Any, schema: Any) -> tuple[Any, Ints]:
    """Return a table of the rows, and the place of the value that each was in."""
    if not _is_numeric(schema):
        batches = [pa.ipc.read_record_batch(pa.py_buffer(value), schema) for value in packed.to_pylist()]
        return pa.Table.from_batches(batches, schema), np.repeat(np.arange(len(batches)), [*map(len, batches)])
    ((owner, numbers),) = arrays.unpack(packed, 0, [len(schema)])[1]
    columns = [
        arrays.to_column(values.view(np.float64) if pa.types.is_floating(field.type) else values).cast(field.type)
        for field, values in zip(schema, numbers, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema), owner


def _is_numeric(schema: Any) -> bool:
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in schema.types)


_COMMIT_NUMBERS: Final = ("at_us", "source_offset", "committed_offset")
PARTITION_LAYOUT: Final = Layout(
    partitions.INPUT,
    (*partitions.PARTITION, "group", "kind", "day", "is_record", "is_removal", "topic_id"),
    (*partitions.PARTITION, "group"),
    (*partitions.PARTITION, "group", "kind", "at_us", "source_offset"),
    "state",
    {partitions.COMMIT: _COMMIT_NUMBERS, partitions.OBSERVATION: ("at_us", *partitions.OFFSETS, "point_ms")},
)
_GROUP_COMMON: Final = ("cluster_id", "name", "kind", "day", "topic", "partition")
GROUP_LAYOUT: Final = Layout(
    GROUP_INPUT,
    _GROUP_COMMON,
    ("cluster_id", "name"),
    (*_GROUP_COMMON, "at_us"),
    "payload",
    {STATUS: STATUS_NUMBERS, EVENT: [name for name in GROUP_INPUT.names if name not in {*_GROUP_COMMON, "payload"}]},
)


@dataclass(frozen=True, slots=True)
class Task:
    """What every task is given: where the tables are, what the build goes by, and what the facts are in sum."""

    data_dir: str
    settings: Settings
    first_state_day: int  # older states are not written
    summary: Summary


def run_partitions(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows for the stage of groups from rows of partition_batch.INPUT; write lag_history and states."""
    with new_writer(task.data_dir, BUILD) as writer:
        for batch in partitions.cut_batches(pieces, _BATCH_ROWS):
            for found in transform_days(batch, task.settings, task.summary):
                writer.write(schemas.LAG_HISTORY, partitions.lag_history_rows(batch, found))
                if found.day >= task.first_state_day:
                    for rows in partitions.state_rows(batch, found):
                        writer.write(schemas.PARTITION_STATE, rows)
                yield from partitions.rows_for_groups(batch, found)
        files = writer.close()
    yield arrays.to_batch(OUTPUT, {"kind": FILE, "payload": _as_json(files)})


def run_groups(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of RESULT from rows of group_rows.GROUP_INPUT; write the tables of groups and their states."""
    with new_writer(task.data_dir, BUILD) as writer:
        for table in arrays.gather_keys(pieces, ("cluster_id", "name"), _BATCH_ROWS):
            is_file = pc.equal(table["kind"], FILE)
            yield arrays.to_batch(RESULT, {"file": table.filter(is_file)["payload"].combine_chunks()})
            rows = table.filter(pc.invert(is_file))
            found = transform_groups(GroupBatch(rows), task.settings, task.summary) if rows.num_rows else ()
            for day, tables, topics in found:
                for written, batch in tables.items():
                    if written is not schemas.GROUP_STATE or day >= task.first_state_day:
                        writer.write(written, batch)
                yield from topics.to_batches()
        files = writer.close()
    yield arrays.to_batch(RESULT, {"file": _as_json(files)})


def _as_json(files: list[NewFile]) -> Any:
    return pa.array([json.dumps(asdict(file)).encode() for file in files], pa.binary())


class LocalEngine:
    """This process: right for few facts, because Spark's first job takes longer than they do."""

    def collect(self, files: Sequence[DataFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        return pa.Table.from_batches(step(files), schema=schema)

    def run(self, task: Task, of_partitions: Sequence[DataFile], of_groups: Sequence[DataFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""
        facts = self.collect(of_partitions, PARTITION_LAYOUT.read, PARTITION_LAYOUT.schema)
        pieces = iter(arrays.sort_rows(facts, PARTITION_LAYOUT.order).to_batches())
        found = pa.Table.from_batches(run_partitions(task, pieces), schema=OUTPUT)
        events = self.collect(of_groups, GROUP_LAYOUT.read, GROUP_INPUT)
        rows = arrays.sort_rows(pa.concat_tables([found, events], promote_options="default"), GROUP_LAYOUT.order)
        return pa.Table.from_batches(run_groups(task, iter(rows.to_batches())), schema=RESULT)


class SparkEngine:
    """Spark, local or a cluster: it distributes the rows by key, sorts them, and runs the tasks."""

    def __init__(self, spark: SparkSession, facts: int) -> None:
        self._spark = spark
        self._tasks = 2 + facts // _FACTS_PER_TASK

    def collect(self, files: Sequence[DataFile], step: Step, schema: Any) -> Any:
        """Return a table of what a step yields for the files."""
        return self._read(files, step, schema).toArrow()

    def run(self, task: Task, of_partitions: Sequence[DataFile], of_groups: Sequence[DataFile]) -> Any:
        """Return a table of RESULT: what the stages hand to the driver."""

        def first_stage(pieces: Iterator[Any]) -> Iterator[Any]:
            return GROUP_LAYOUT.pack(run_partitions(task, PARTITION_LAYOUT.unpack(pieces)))

        def second_stage(pieces: Iterator[Any]) -> Iterator[Any]:
            return run_groups(task, GROUP_LAYOUT.unpack(pieces))

        # A topic's partition is with all of its groups.
        facts = self._read_packed(of_partitions, PARTITION_LAYOUT)
        facts = facts.repartition(self._tasks, *partitions.PARTITION).sortWithinPartitions(*PARTITION_LAYOUT.key)
        found = facts.mapInArrow(first_stage, _spark_schema(GROUP_LAYOUT.packed_schema()))
        rows = found.unionByName(self._read_packed(of_groups, GROUP_LAYOUT))
        rows = rows.repartition(self._tasks, *GROUP_LAYOUT.key).sortWithinPartitions(*GROUP_LAYOUT.key)
        # Packed rows go to Python in batches of a few: each may have 64 KiB.
        before = self._spark.conf.get(_BATCH_OPTION)
        self._spark.conf.set(_BATCH_OPTION, "256")
        try:
            return rows.mapInArrow(second_stage, _spark_schema(RESULT)).toArrow()
        finally:
            self._spark.conf.set(_BATCH_OPTION, str(before))

    def _read_packed(self, files: Sequence[DataFile], layout: Layout) -> DataFrame:
        return self._read(files, lambda some: layout.pack(layout.read(some)), layout.packed_schema())

    def _read(self, files: Sequence[DataFile], step: Step, schema: Any) -> DataFrame:
        def read(pieces: Iterator[Any]) -> Iterator[Any]:
            return step(DataFile(**row) for piece in pieces for row in piece.to_pylist())

        rows = self._spark.createDataFrame([astuple(file) for file in files], _FILE)
        return rows.mapInArrow(read, _spark_schema(schema))


Engine = LocalEngine | SparkEngine


def _spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
