"""A chunk of records in, a RecordBatch of the same length out: no record is dropped, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.decode.columns import EVENT, GAP, GROUP_EVENT, HOLE, OFFSET_COMMIT, RAW, RECORD, UNKNOWN
from kafka_groups.pipeline.decode.commits import NAMES, Commits, as_times, columns_of
from kafka_groups.pipeline.decode.events import event_of
from kafka_groups.pipeline.decode.keys import Key, KeyColumns, read_keys
from kafka_groups.pipeline.decode.packed import Flags, Packed, overlaid, pack, spread
from kafka_groups.pipeline.decode.texts import microseconds
from kafka_groups.pipeline.decode.types import COMMITS, RecordType
from kafka_groups.pipeline.decode.values.shape import PREFIX_BYTES, read_value
from kafka_groups.protocol import SchemaError

_KINDS: Final = (OFFSET_COMMIT, GROUP_EVENT, UNKNOWN)
_COMMIT, _EVENT, _UNKNOWN = range(len(_KINDS))


@dataclass(frozen=True, slots=True)
class RawRecords:
    """One chunk of one source partition, in offset order: Arrow columns of one length, which `raw_records` makes."""

    partition: int
    offsets: Any  # int64
    timestamps_ms: Any  # int64
    keys: Any  # large_binary
    values: Any  # large_binary; null is a tombstone

    def __len__(self) -> int:
        return len(self.offsets)


def raw_records(
    partition: int,
    *,
    offsets: Sequence[int],
    timestamps_ms: Sequence[int],
    keys: Sequence[bytes | None],
    values: Sequence[bytes | None],
) -> RawRecords:
    """Return records as a client has them; a value that is None is a tombstone."""
    return RawRecords(
        partition,
        pa.array(offsets, pa.int64()),
        pa.array(timestamps_ms, pa.int64()),
        pa.array(keys, pa.large_binary()),
        pa.array(values, pa.large_binary()),
    )


def joined(parts: Sequence[RawRecords]) -> RawRecords:
    """Join these records, of which there are some, of one partition, end to end."""
    columns = [[getattr(part, name) for part in parts] for name in ("offsets", "timestamps_ms", "keys", "values")]
    return RawRecords(parts[0].partition, *map(pa.concat_arrays, columns))


class _OddRow(NamedTuple):
    """A record that was read on its own."""

    kind: int
    commit: tuple[Any, ...] | None = None
    event: dict[str, Any] | None = None
    raw: dict[str, Any] | None = None


def decode(records: RawRecords, cluster_id: str) -> pa.RecordBatch:
    """Return the records as rows of columns.RECORD, in their order.

    Never fails for what is in a record: one that cannot be understood is a row of kind "unknown", with its bytes and a
    sentence about why, and with the names in its key if at least those were understood.
    """
    count = len(records)
    keys = read_keys(records.keys)
    values = pack(records.values)
    is_commit = keys.is_commit[keys.which]
    commits = Commits(values, is_commit & values.present)
    odd = _read_odd(records, keys, ~(commits.read | (is_commit & ~values.present)))
    columns = {
        "cluster_id": _repeated(cluster_id, count),
        "kind": _kinds(odd, count),
        "source_partition": pa.array(np.full(count, records.partition, np.int32)),
        "source_offset": records.offsets,
        "record_time": as_times(records.timestamps_ms.to_numpy()),
        "record_type": keys.column("type_id"),
        "value_version": _versions(values, keys),
        "tombstone": pa.array(~values.present),
        "group": keys.column("group"),
        "topic": keys.column("topic"),
        "partition": keys.column("partition"),
        **_commit_columns(commits, odd),
        "event": spread({row: found.event for row, found in odd.items() if found.event}, count, EVENT),
        "raw": spread({row: found.raw for row, found in odd.items() if found.raw}, count, RAW),
        "gap": pa.nulls(count, HOLE),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in RECORD.names], schema=RECORD)


def gap_rows(
    cluster_id: str, partition: int, *, from_offset: int, until_offset: int, missing: int, reason: str, at_ms: int
) -> pa.RecordBatch:
    """Return one row of kind "gap": offsets of a partition that no record was found at, noticed at this time."""
    gap = {"from_offset": from_offset, "until_offset": until_offset, "missing": missing, "reason": reason}
    row = {
        "cluster_id": cluster_id,
        "kind": GAP,
        "source_partition": partition,
        "source_offset": from_offset,
        "record_time": microseconds(at_ms),
        "gap": gap,
    }
    return pa.RecordBatch.from_pylist([row], schema=RECORD)


def _read_odd(records: RawRecords, keys: KeyColumns, odd: Flags) -> dict[int, _OddRow]:
    """Read the records that no gather can read, by their place in the chunk."""
    return {
        row: _read_one(keys.key(row), records.keys[row].as_py(), records.values[row].as_py())
        for row in np.flatnonzero(odd).tolist()
    }


def _read_one(key: Key, raw_key: bytes | None, value: bytes | None) -> _OddRow:
    record_type = key.record_type
    if record_type is None:
        return _OddRow(_UNKNOWN, raw={"key": raw_key, "value": value, "problem": key.problem})
    try:
        return _understood(record_type, key, value)
    except SchemaError as error:
        problem = f"the value of this {record_type.name} cannot be read: {error}"
        return _OddRow(_UNKNOWN, raw={"key": raw_key, "value": value, "problem": problem})


def _understood(record_type: RecordType, key: Key, value: bytes | None) -> _OddRow:
    found = None if value is None else read_value(record_type.value, value)
    if record_type.id in COMMITS:
        return _OddRow(_COMMIT, commit=None if found is None else columns_of(found))
    return _OddRow(_EVENT, event=event_of(record_type.id, key, found))


def _commit_columns(commits: Commits, odd: Mapping[int, _OddRow]) -> dict[str, Any]:
    columns = dict(zip(NAMES, commits.columns(), strict=True))
    read = {row: found.commit for row, found in odd.items() if found.commit}
    return {
        name: overlaid(column, {row: commit[place] for row, commit in read.items()})
        for place, (name, column) in enumerate(columns.items())
    }


def _versions(values: Packed, keys: KeyColumns) -> Any:
    """Return the version that each value begins with; null for tombstones, and if the key is of no known type."""
    known = keys.is_understood[keys.which] & (values.sizes >= PREFIX_BYTES)
    versions = np.zeros(len(known), np.int16)
    versions[known] = values.numbers("i2", values.starts[known])
    return pa.array(versions, mask=~known)


def _kinds(odd: Mapping[int, _OddRow], count: int) -> Any:
    if not odd:
        return _repeated(OFFSET_COMMIT, count)
    kinds = np.full(count, _COMMIT, np.int8)
    kinds[list(odd)] = [found.kind for found in odd.values()]
    return pa.array(_KINDS).take(pa.array(kinds))


def _repeated(text: str, count: int) -> Any:
    return pa.repeat(pa.scalar(text), count)
