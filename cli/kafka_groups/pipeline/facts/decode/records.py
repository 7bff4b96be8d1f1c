"""The decoder of records of `__consumer_offsets`.

Nearly all records are commits. They are decoded together, one field of all commits at a time. The others are decoded
one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.facts.decode.commits import commit_columns, pack, read_keys, read_values
from kafka_groups.pipeline.facts.decode.conversions import timestamp_column
from kafka_groups.pipeline.facts.decode.decoded_records import COMMIT, EVENT, UNKNOWN, DecodedRecords
from kafka_groups.pipeline.facts.decode.events import event_columns
from kafka_groups.pipeline.facts.decode.record_types import COMMIT_TYPES, read_key, read_prefix, read_value
from kafka_groups.pipeline.frames.arrays import Flags
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.frames.columns import INT64, MILLISECONDS, OFFSET, column
from kafka_groups.pipeline.frames.frame import Frame, frame
from kafka_groups.protocol import SchemaError


@frame
class RawRecords(Frame):
    """One row per undecoded record of one partition of `__consumer_offsets`. Rows ascend by offset."""

    offset: Any = column(INT64, "offset of the record in its partition", unit=OFFSET)
    timestamp_ms: Any = column(INT64, "when the broker appended it, since 1970; -1 if unknown", unit=MILLISECONDS)
    key: Any = column(pa.large_binary(), "the key's bytes; null if the record has none")
    value: Any = column(pa.large_binary(), "the value's bytes; null for a tombstone")


def decode(records: pa.RecordBatch, cluster_id: str, partition: int) -> pa.RecordBatch:
    """Return one row of DecodedRecords for each row of RawRecords, in the same order.

    All records belong to this partition of `__consumer_offsets`. A record that cannot be decoded raises no error. It is
    a row of the kind "unknown", with its bytes, the problem, and the fields of its key if these were decoded.
    """
    common_columns = {
        "cluster_id": cluster_id,
        "source_partition": partition,
        "source_offset": records["offset"],
        "record_time": timestamp_column(records["timestamp_ms"].to_numpy()),
        "is_tombstone": records["value"].is_null(),
    }
    is_commit, columns = _read_commits(records)
    rows = make_batch(DecodedRecords, common_columns | columns, size=len(records), fill_null=True)
    if is_commit.all():
        return rows
    is_other = ~is_commit
    is_other_mask = pa.array(is_other)
    other_rows = _decode_one_by_one(records.filter(is_other_mask), rows.filter(is_other_mask))
    return _replace_rows(rows, is_other, other_rows)


def _read_commits(records: pa.RecordBatch) -> tuple[Flags, dict[str, Any]]:
    """Return a mask of the RawRecords that were decoded as commits, and the columns of commits for all records.

    Other rows have undefined values in these columns.
    """
    # A chunk has few different keys.
    encoded_keys = records["key"].dictionary_encode(null_encoding="encode")
    is_commit_key, key_columns = read_keys(pack(encoded_keys.dictionary))
    has_commit_key = is_commit_key[encoded_keys.indices.to_numpy()]
    values = records["value"]
    is_tombstone = values.is_null().to_numpy(zero_copy_only=False)
    is_value_read, value_columns = read_values(pack(values), has_commit_key & ~is_tombstone)
    columns: dict[str, Any] = {"kind": COMMIT, **value_columns}
    for name, column_of_keys in key_columns.items():
        columns[name] = column_of_keys.take(encoded_keys.indices)
    return is_value_read | (has_commit_key & is_tombstone), columns


def _decode_one_by_one(records: pa.RecordBatch, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return one row of DecodedRecords for each of the RawRecords.

    `rows` are rows of the same records, in the same order: their columns that do not depend on the content are copied.
    """
    keys = records["key"].to_pylist()
    values = records["value"].to_pylist()
    decoded_records = [_decode_record(key, value) for key, value in zip(keys, values, strict=True)]
    columns: dict[str, Any] = {name: [row.get(name) for row in decoded_records] for name in DecodedRecords.names()}
    for name in ("cluster_id", "source_partition", "source_offset", "record_time", "is_tombstone"):
        columns[name] = rows[name]
    return make_batch(DecodedRecords, columns)


def _decode_record(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """Return the columns of a record that depend on its content, by name; a missing one is null."""
    columns: dict[str, Any] = {"record_type": read_prefix(key)}
    try:
        record_type, key_fields = read_key(key)
    except SchemaError as error:
        return columns | _make_unknown_columns(key, value, f"the key cannot be read: {error}")
    columns |= key_fields
    columns["value_version"] = read_prefix(value)
    try:
        value_fields = None if value is None else read_value(record_type, value)
    except SchemaError as error:
        return columns | _make_unknown_columns(
            key, value, f"the value of this {record_type.name} cannot be read: {error}"
        )
    if record_type.id not in COMMIT_TYPES:
        return {**columns, "kind": EVENT, "event": event_columns(record_type, key_fields, value_fields)}
    if value_fields is not None:
        columns |= commit_columns(value_fields)
    return {**columns, "kind": COMMIT}


def _make_unknown_columns(key: bytes | None, value: bytes | None, problem: str) -> dict[str, Any]:
    """Return the columns of a record that cannot be decoded; the problem is a sentence."""
    return {"kind": UNKNOWN, "raw": {"key": key, "value": value, "problem": problem}}


def _replace_rows(rows: pa.RecordBatch, is_replaced: Flags, other_rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of DecodedRecords in which `other_rows` replace, in order, those where `is_replaced` is true."""
    is_replaced_mask = pa.array(is_replaced)
    # For each row its index in `other_rows`, null for a row that stays.
    indices = pa.array(np.cumsum(is_replaced) - 1, mask=~is_replaced)
    columns: dict[str, Any] = {}
    for name in DecodedRecords.names():
        if pa.types.is_struct(rows[name].type):
            # Arrow cannot replace structs. They are null in the rows that stay, because these are commits.
            columns[name] = other_rows[name].take(indices)
        else:
            columns[name] = pc.replace_with_mask(rows[name], is_replaced_mask, other_rows[name])
    return make_batch(DecodedRecords, columns)
