"""Keys of records: each distinct key of a chunk is decoded once, and those of commits all at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.decode.packed import Flags, Ints, Packed, as_text, overlaid, pack
from kafka_groups.pipeline.decode.types import BY_ID, COMMITS, REMOVED, RecordType
from kafka_groups.pipeline.decode.values.shape import read_prefix
from kafka_groups.protocol import Cursor, Read, SchemaError, Struct, compile_reader

# A commit's key without its names: type, two lengths, partition.
_SMALLEST: Final = 2 + 2 + 2 + 4


@dataclass(frozen=True, slots=True)
class Key:
    """A decoded key. If it could not be understood, `problem` says why, and at most its `type_id` is known."""

    type_id: int | None = None
    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    member_id: str | None = None
    regular_expression: str | None = None
    problem: str | None = None

    @property
    def record_type(self) -> RecordType | None:
        """What records of such a key are; None for a key that was not understood."""
        return BY_ID[self.type_id] if self.problem is None and self.type_id is not None else None


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The keys of a chunk: `which` says for each record which of the distinct keys it has."""

    which: Ints
    is_commit: Flags  # of each distinct key, as the next one
    is_understood: Flags
    columns: Mapping[str, Any]  # Arrow columns of the distinct keys
    _packed: Any

    def column(self, name: str) -> Any:
        """Return type_id, group, topic or partition of the key of each record."""
        return self.columns[name].take(pa.array(self.which))

    def key(self, row: int) -> Key:
        """Return the key of one record."""
        return read_key(self._packed[int(self.which[row])].as_py())


def read_keys(keys: Any) -> KeyColumns:
    """Read the keys of a chunk, a large_binary Arrow column; none is too odd to be read."""
    encoded = keys.dictionary_encode(null_encoding="encode")
    distinct = pack(encoded.dictionary)
    is_commit, columns = _commit_keys(distinct)
    others = {place: read_key(encoded.dictionary[place].as_py()) for place in np.flatnonzero(~is_commit).tolist()}
    is_understood = np.ones(len(is_commit), np.bool_)
    is_understood[[place for place, key in others.items() if key.problem is not None]] = False
    is_commit[[place for place, key in others.items() if key.problem is None and key.type_id in COMMITS]] = True
    for name, column in columns.items():
        columns[name] = overlaid(column, {place: getattr(key, name) for place, key in others.items()})
    which = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return KeyColumns(which, is_commit, is_understood, columns, encoded.dictionary)


def _commit_keys(keys: Packed) -> tuple[Flags, dict[str, Any]]:
    """Return which keys are plain ones of commits, and their columns, null for all others."""
    count = len(keys.starts)
    found: Flags = np.zeros(count, np.bool_)
    types, group_at, group_size, topic_at, topic_size, partitions = (np.zeros(count, np.int64) for _ in range(6))
    rows = np.flatnonzero(keys.sizes >= _SMALLEST)
    starts, sizes = keys.starts[rows], keys.sizes[rows]
    kinds, group = keys.numbers("i2", starts), keys.numbers("i2", starts + 2)
    good = np.isin(kinds, list(COMMITS)) & (group >= 0) & (sizes >= _SMALLEST + group)
    rows, starts, sizes, kinds, group = rows[good], starts[good], sizes[good], kinds[good], group[good]
    topic = keys.numbers("i2", starts + 4 + group)
    good = sizes == _SMALLEST + group + topic
    rows, starts, kinds, group, topic = rows[good], starts[good], kinds[good], group[good], topic[good]
    found[rows], types[rows] = True, kinds
    group_at[rows], group_size[rows] = starts + 4, group
    topic_at[rows], topic_size[rows] = starts + 6 + group, topic
    partitions[rows] = keys.numbers("i4", starts + 6 + group + topic)
    return found, {
        "type_id": pa.array(types.astype(np.int16), mask=~found),
        "group": as_text(keys.slices(group_at, group_size, known=found)),
        "topic": as_text(keys.slices(topic_at, topic_size, known=found)),
        "partition": pa.array(partitions.astype(np.int32), mask=~found),
    }


def read_key(key: bytes | None) -> Key:
    """Read one key, understood or not."""
    if not key:
        return Key(problem="the record has no key" if key is None else "the key is empty")
    cursor = Cursor(key)
    type_id = None
    try:
        type_id = read_prefix(cursor)
        return Key(type_id, **_read_names(type_id, cursor))
    except SchemaError as error:
        return Key(type_id, problem=f"the key cannot be read: {error}")


def _read_names(type_id: int, cursor: Cursor) -> Struct:
    if type_id not in BY_ID:
        was = f"; it was {REMOVED[type_id]} once" if type_id in REMOVED else ""
        msg = f"type {type_id} is not known{was}"
        raise SchemaError(msg)
    found: Struct = _reader(type_id)(cursor)
    if cursor.remaining():
        msg = f"{cursor.remaining()} bytes are left over"
        raise SchemaError(msg)
    return found


@cache
def _reader(type_id: int) -> Read:
    return compile_reader(BY_ID[type_id].key, version=0, flexible=False)
