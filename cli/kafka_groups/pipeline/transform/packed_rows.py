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
from kafka_groups.pipeline.transform.partition_batch import COMMIT, INPUT, OBSERVATION

# Rows that wait to be packed: the more, the fewer packed rows a key gets.
_WAITING_ROWS: Final = 262_144
# Then a packed row has 64 KiB at most, and no batch of packed rows is large.
_MOST_ROWS: Final = 1_024
# Bytes that are unpacked at once, or those of a whole key, if it has more.
_UNPACKED_BYTES: Final = 1_048_576
_PACKED: Final = "packed"


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows of `schema` are packed: by kind, those that agree in the columns `common`.

    `numbers` are the other columns of a kind whose columns are all numbers, `others` those of a kind with others. Rows
    of the remaining kinds have their value in the column `payload`, and are not packed. `key` is what belongs together,
    `order` the order of unpacked rows.
    """

    schema: Any
    common: Sequence[str]
    key: Sequence[str]
    order: Sequence[str]
    payload: str
    numbers: Mapping[int, Sequence[str]]
    others: Mapping[int, Sequence[str]]

    def packed_schema(self) -> Any:
        """Return the schema of packed rows."""
        return pa.schema([*(self.schema.field(name) for name in self.common), (_PACKED, pa.binary())])

    def pack(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield packed rows of record batches of `schema`."""
        for table in gather_keys(pieces, (), _WAITING_ROWS):
            for kind, rows in _by_kind(table):
                yield from self._pack_kind(kind, rows)

    def unpack(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Yield record batches of `schema`, in order, from packed rows in the order of `key`."""
        for table in gather_keys(pieces, self.key, _UNPACKED_BYTES, size_of=lambda piece: piece[_PACKED].nbytes):
            yield from self._unpack_keys(table)

    def _unpack_keys(self, table: Any) -> Any:
        found = pa.concat_tables([self._unpack_kind(kind, rows) for kind, rows in _by_kind(table)])
        return sort_rows(found, self.order).to_batches()

    def _pack_kind(self, kind: int, rows: Any) -> Iterator[Any]:
        if kind not in self.numbers and kind not in self.others:
            yield from self._packed(rows, rows[self.payload])
            return
        keys = [to_keys(rows[name]) for name in self.common]
        rows = rows.take(pa.array(np.lexsort(keys[::-1]))).combine_chunks()
        first = _cut_runs(first_rows(*(to_keys(rows[name]) for name in self.common)))
        if kind in self.numbers:
            packed = _pack_numbers([rows[name] for name in self.numbers[kind]], first)
        else:
            packed = _pack_others(rows.select(self.others[kind]).to_batches()[0], first)
        yield from self._packed(rows.take(pa.array(first)), packed)

    def _packed(self, rows: Any, packed: Any) -> Iterator[Any]:
        columns = [*(rows[name] for name in self.common), packed]
        yield from pa.Table.from_arrays(columns, schema=self.packed_schema()).to_batches()

    def _unpack_kind(self, kind: int, rows: Any) -> Any:
        place = np.arange(rows.num_rows)
        if kind in self.numbers:
            place, columns = _unpack_numbers(rows[_PACKED], self.numbers[kind], self.schema)
        elif kind in self.others:
            schema = pa.schema([self.schema.field(name) for name in self.others[kind]])
            place, columns = _unpack_others(rows[_PACKED], schema)
        else:
            columns = {self.payload: rows[_PACKED]}
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


def _pack_numbers(columns: Sequence[Any], first: Ints) -> Any:
    """Return the rows' numbers, row by row, as one value for each run."""
    numbers = np.stack([to_floats(c).view(np.int64) if _is_real(c) else to_ints(c) for c in columns], axis=1)
    offsets = (np.append(first, len(numbers)) * numbers.shape[1] * numbers.itemsize).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(numbers))]
    return pa.Array.from_buffers(pa.binary(), len(first), buffers)


def _unpack_numbers(packed: Any, names: Sequence[str], schema: Any) -> tuple[Ints, dict[str, Any]]:
    """Return the place of each row's packed row, and the columns."""
    whole = packed.combine_chunks()
    lengths = np.asarray(pc.binary_length(whole)) // (8 * len(names))
    numbers = np.frombuffer(b"".join(whole.to_pylist()), np.int64).reshape(-1, len(names))
    columns = {}
    for at, name in enumerate(names):
        kind, values = schema.field(name).type, np.ascontiguousarray(numbers[:, at])
        columns[name] = reals_of(values.view(np.float64)) if pa.types.is_floating(kind) else nullable(values, kind)
    return np.repeat(np.arange(len(whole)), lengths), columns


def _pack_others(rows: Any, first: Ints) -> Any:
    """Return the rows as one record batch for each run, in Arrow's format of messages."""
    runs = pairwise(np.append(first, rows.num_rows).tolist())
    return pa.array([rows.slice(at, end - at).serialize().to_pybytes() for at, end in runs], pa.binary())


def _unpack_others(packed: Any, schema: Any) -> tuple[Ints, dict[str, Any]]:
    batches = [pa.ipc.read_record_batch(pa.py_buffer(value), schema) for value in packed.to_pylist()]
    table = pa.Table.from_batches(batches, schema=schema).combine_chunks()
    place = np.repeat(np.arange(len(batches)), [batch.num_rows for batch in batches])
    return place, {name: table[name] for name in schema.names}


def _is_real(column: Any) -> bool:
    return bool(pa.types.is_floating(column.type))


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
    {},
)
_GROUP_COMMON: Final = ("cluster_id", "name", "kind", "day", "topic", "partition")
GROUP_LAYOUT: Final = Layout(
    GROUP_INPUT,
    _GROUP_COMMON,
    ("cluster_id", "name"),
    (*_GROUP_COMMON, "at_us"),
    "payload",
    {STATUS: STATUS_NUMBERS},
    {EVENT: tuple(name for name in GROUP_INPUT.names if name not in {*_GROUP_COMMON, "payload"})},
)
