"""Rows on their way through Spark: many rows of a key in one binary value.

The JVM handles each value of each row, so a hundred times fewer rows are a hundred times less work for it. A packed row
has what the rows in it have in common, which is what Spark distributes and sorts by; the tasks order what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.transform.columns import (
    gather_keys,
    nullable,
    reals_of,
    sort_rows,
    to_floats,
    to_ints,
    to_keys,
)
from kafka_groups.pipeline.transform.group_input import EVENT, GROUP_INPUT, STATUS, STATUS_NUMBERS
from kafka_groups.pipeline.transform.kernels.segments import Ints, first_rows
from kafka_groups.pipeline.transform.packed_numbers import pack, unpack
from kafka_groups.pipeline.transform.partition_batch import COMMIT, INPUT, OBSERVATION

# Rows that wait to be packed: the more, the fewer packed rows a key gets.
_WAITING_ROWS: Final = 262_144
# Then a packed row has 64 KiB or little more, and no batch of packed rows is large.
_MOST_ROWS: Final = 1_024
# Bytes that are unpacked at once, or those of a whole key, if it has more.
_UNPACKED_BYTES: Final = 1_048_576
_PACKED: Final = "packed"


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows of `schema` are packed: by kind, those that agree in the columns `common`.

    `packed` has the other columns of a kind. Rows of the remaining kinds have their value in the column `payload`, and
    stay as they are. `key` is what belongs together, `order` the order of unpacked rows.
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
        for table in gather_keys(pieces, (), _WAITING_ROWS):
            for kind, rows in _by_kind(table):
                yield from self._pack_kind(kind, rows).to_batches()

    def unpack(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield record batches of `schema`, in order, from packed rows in the order of `key`."""
        for table in gather_keys(pieces, self.key, _UNPACKED_BYTES, size_of=lambda piece: piece[_PACKED].nbytes):
            found = pa.concat_tables([self._unpack_kind(kind, rows) for kind, rows in _by_kind(table)])
            yield from sort_rows(found, self.order).to_batches()

    def _pack_kind(self, kind: int, rows: Any) -> Any:
        packed = rows[self.payload]
        if kind in self.packed:
            keys = [to_keys(rows[name]) for name in self.common]
            order = np.lexsort(keys[::-1])
            rows = rows.take(pa.array(order)).combine_chunks()
            first = _cut_runs(first_rows(*(key[order] for key in keys)))
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
        arrays = [columns[f.name] if f.name in columns else pa.nulls(len(place), f.type) for f in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _by_kind(table: Any) -> Iterator[tuple[int, Any]]:
    for kind in pc.unique(table["kind"]).to_pylist():
        yield kind, table.filter(pc.equal(table["kind"], kind)).combine_chunks()


def _cut_runs(begins: Any) -> Ints:
    """Return where runs of rows begin, those of more than _MOST_ROWS cut into several."""
    first = np.flatnonzero(begins)
    within = np.arange(len(begins)) - np.repeat(first, np.diff([*first, len(begins)]))
    return np.flatnonzero(within % _MOST_ROWS == 0)


def _is_numeric(schema: Any) -> bool:
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in schema.types)


def _pack_numbers(rows: Any, first: Ints) -> Any:
    """Return the rows' numbers as one value for each run."""
    numbers = [
        to_floats(column).view(np.int64) if pa.types.is_floating(column.type) else to_ints(column)
        for column in rows.columns
    ]
    run = np.repeat(np.arange(len(first)), np.diff([*first, len(rows)]))
    return pack((), [(run, numbers)], len(first))


def _unpack_numbers(packed: Any, schema: Any) -> tuple[Ints, dict[str, Any]]:
    """Return the place of each row's packed row, and the columns."""
    _, [(place, numbers)] = unpack(packed, 0, [len(schema)])
    columns = {
        field.name: reals_of(values.view(np.float64))
        if pa.types.is_floating(field.type)
        else nullable(values, field.type)
        for field, values in zip(schema, numbers, strict=True)
    }
    return place, columns


def _pack_batches(rows: Any, first: Ints) -> Any:
    """Return the rows as one record batch for each run, in Arrow's format of messages."""
    batch = rows.to_batches()[0]
    runs = pairwise([*first.tolist(), len(rows)])
    return pa.array([batch.slice(at, end - at).serialize().to_pybytes() for at, end in runs], pa.binary())


def _unpack_batches(packed: Any, schema: Any) -> tuple[Ints, dict[str, Any]]:
    batches = [pa.ipc.read_record_batch(pa.py_buffer(value), schema) for value in packed.to_pylist()]
    table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
    place = np.repeat(np.arange(len(batches)), [batch.num_rows for batch in batches])
    return place, {name: table[name] for name in schema.names}


PARTITION_LAYOUT: Final = Layout(
    INPUT,
    ("cluster_id", "topic", "partition", "group", "kind", "day", "is_record", "is_removal", "topic_id"),
    ("cluster_id", "topic", "partition", "group"),
    ("cluster_id", "topic", "partition", "group", "kind", "at_us", "source_offset"),
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
