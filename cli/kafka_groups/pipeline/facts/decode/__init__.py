"""The records of `__consumer_offsets` decoded: bytes in, Arrow out. Pure: no Spark, no Kafka client, no clock.

`columns` has the columns of input and result, `record_types` what an `event_type` says.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.facts.decode.columns import GAP, GROUP_EVENT, OFFSET_COMMIT, RECORD, UNKNOWN, microseconds
from kafka_groups.pipeline.facts.decode.commits import Flags, as_times, commit_columns, pack, read_keys, read_values
from kafka_groups.pipeline.facts.decode.events import event_of
from kafka_groups.pipeline.facts.decode.record_types import COMMITS, partition_of, read_key, read_prefix, read_value
from kafka_groups.pipeline.tables.shape import shaped
from kafka_groups.protocol import SchemaError

__all__ = ["decode", "gap_rows", "partition_of"]

_OF_A_CHUNK: Final = ("cluster_id", "source_partition", "source_offset", "record_time", "tombstone", "gap")
_OF_A_RECORD: Final = [name for name in RECORD.names if name not in _OF_A_CHUNK]


def decode(records: pa.RecordBatch, cluster_id: str, partition: int) -> pa.RecordBatch:
    """Return the records of a partition, which are rows of columns.RAW, as rows of columns.RECORD, in their order.

    Never fails for what is in a record: one that cannot be understood is a row of kind "unknown", with its bytes and a
    sentence about why, and with the names in its key if at least those were understood.
    """
    count, values = len(records), records["value"]
    keys = records["key"].dictionary_encode(null_encoding="encode")  # a chunk has few different ones
    are_commits, of_keys = read_keys(pack(keys.dictionary))
    is_commit = are_commits[keys.indices.to_numpy()]
    is_tombstone = values.is_null().to_numpy(zero_copy_only=False)
    is_read, of_values = read_values(pack(values), is_commit & ~is_tombstone)
    columns = {
        "kind": pa.repeat(pa.scalar(OFFSET_COMMIT), count),
        "source_offset": records["offset"],
        "record_time": as_times(records["timestamp_ms"].to_numpy()),
        "tombstone": pa.array(is_tombstone),
        **{name: column.take(keys.indices) for name, column in of_keys.items()},
        **of_values,
    }
    is_other = ~(is_read | is_commit & is_tombstone)
    if is_other.any():
        columns |= _with_others(columns, records, is_other)
    return shaped(RECORD, count, columns, {"cluster_id": cluster_id, "source_partition": partition})


def _with_others(columns: dict[str, Any], records: pa.RecordBatch, is_other: Flags) -> dict[str, Any]:
    """Return the columns in which other records differ from commits; those are read one by one."""
    mask = pa.array(is_other)
    others = records.filter(mask)
    rows = list(map(_read, others["key"].to_pylist(), others["value"].to_pylist()))
    order = pa.array(np.cumsum(is_other) - 1, mask=~is_other)
    found = {}
    for name in _OF_A_RECORD:
        own = pa.array([row.get(name) for row in rows], RECORD.field(name).type)
        found[name] = pc.replace_with_mask(columns[name], mask, own) if name in columns else own.take(order)
    return found


def _read(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """Return what is in one record."""
    found: dict[str, Any] = {"record_type": read_prefix(key)}
    subject = "key"
    try:
        record_type, names = read_key(key)
        found |= {**names, "value_version": read_prefix(value)}
        subject = f"value of this {record_type.name}"
        fields = None if value is None else read_value(record_type, value)
    except SchemaError as error:
        problem = f"the {subject} cannot be read: {error}"
        return {**found, "kind": UNKNOWN, "raw": {"key": key, "value": value, "problem": problem}}
    if record_type.id not in COMMITS:
        return {**found, "kind": GROUP_EVENT, "event": event_of(record_type, names, fields)}
    return {**found, "kind": OFFSET_COMMIT, **(commit_columns(fields) if fields else {})}


def gap_rows(
    cluster_id: str, partition: int, *, from_offset: int, until_offset: int, missing: int, reason: str, at_ms: int
) -> pa.RecordBatch:
    """Return one row of kind "gap": offsets of a partition that no record was found at, noticed at this time."""
    row = {
        "cluster_id": cluster_id,
        "kind": GAP,
        "source_partition": partition,
        "source_offset": from_offset,
        "record_time": microseconds(at_ms),
        "gap": {"from_offset": from_offset, "until_offset": until_offset, "missing": missing, "reason": reason},
    }
    return pa.RecordBatch.from_pylist([row], schema=RECORD)
