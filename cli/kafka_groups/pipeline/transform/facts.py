"""Files of facts and states as rows of the stages. Tasks read them with pyarrow, wherever they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline.schemas import (
    GROUP_EVENTS,
    GROUP_STATE,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    PARTITION_STATE,
)
from kafka_groups.pipeline.storage.root_directory import open_file
from kafka_groups.pipeline.storage.storage_errors import as_storage_error
from kafka_groups.pipeline.transform.columns import to_batch
from kafka_groups.pipeline.transform.group_input import EVENT, GROUP_INPUT, MEMBERS, STATE
from kafka_groups.pipeline.transform.kernels.segments import DAY_US
from kafka_groups.pipeline.transform.partition_batch import COMMIT, INPUT, KEY_STATE, LOG_STATE, OBSERVATION

_BATCH_ROWS: Final = 65_536
_KEY: Final = ("cluster_id", "topic", "partition")
_OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "topic_id")
# Columns of group_events that are taken as they are.
_EVENT: Final = (
    *("origin", "source_partition", "source_offset", "type", "event_type", "epoch", "previous_epoch", "member_id"),
    *("member_state", "topics", "group_type", "state"),
)
_REGEX: Final = "regex"


class FactFile(NamedTuple):
    """A file of a table, of one date, as the days since 1970; its path is `RootDirectory.address`."""

    table: str
    day: int
    path: str


FILE_SCHEMA: Final = pa.schema([("table", pa.string()), ("day", pa.int32()), ("path", pa.string())])


def to_table(files: Sequence[FactFile]) -> Any:
    """Return files as a table of FILE_SCHEMA."""
    return pa.Table.from_pylist([file._asdict() for file in files], schema=FILE_SCHEMA)


def from_batches(pieces: Iterator[Any]) -> Iterator[FactFile]:
    """Yield the files of record batches of FILE_SCHEMA."""
    for piece in pieces:
        yield from (FactFile(**row) for row in piece.to_pylist())


def read_columns(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of some columns of a Parquet file, by its path or URI. Raises StorageError."""
    with as_storage_error("read the tables", path), open_file(path) as file:
        for rows in pq.ParquetFile(file).iter_batches(_BATCH_ROWS, columns=list(columns)):
            yield rows.select(columns)


def read_partition_facts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of partition_batch.INPUT from files of commits, of log ends and of partitions' states."""
    return _read_facts(pieces, INPUT)


def read_group_facts(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of group_input.GROUP_INPUT from files of events and of groups' states."""
    return _read_facts(pieces, GROUP_INPUT)


def _read_facts(pieces: Iterator[Any], schema: Any) -> Iterator[Any]:
    for file in from_batches(pieces):
        names, convert = _READERS[file.table]
        for rows in read_columns(file.path, names):
            yield to_batch(schema, rows.num_rows, {"day": file.day, **convert(rows, file.day)})


def micros_within(times: Any, day: int) -> Any:
    """Return times in microseconds, and midnight for those that are null or not on the day of their file.

    Such a time cannot be: a commit then has the date of its record, a record the first date of all. It does not show
    until when the cluster was read.
    """
    micros, first = _micros(times), day * DAY_US
    is_within = pc.and_(pc.greater_equal(micros, first), pc.less(micros, first + DAY_US))
    return pc.if_else(_is_true(is_within), micros, first)


def _is_true(column: Any) -> Any:
    return pc.fill_null(column, False)  # noqa: FBT003 - the value to fill in


def _micros(times: Any) -> Any:
    return times.cast(pa.timestamp("us", "UTC")).view(pa.int64())


def _commits(rows: Any, day: int) -> dict[str, Any]:
    offset = rows["committed_offset"]
    # Brokers take -1 for an offset, and report none.
    is_commit = pc.and_(pc.invert(_is_true(rows["tombstone"])), _is_true(pc.greater_equal(offset, 0)))
    return {
        **{name: rows[name] for name in (*_KEY, "group", "source_offset")},
        "kind": COMMIT,
        "at_us": micros_within(rows["commit_time"], day),
        "is_record": pc.equal(rows["origin"], "topic"),
        "is_removal": pc.invert(is_commit),
        "committed_offset": pc.if_else(is_commit, offset, None),
    }


def _observations(rows: Any, _day: int) -> dict[str, Any]:
    point = _micros(rows["point_time"])
    millis = pc.if_else(pc.is_null(point), None, pa.array(np.asarray(pc.fill_null(point, 0)) // 1_000))
    return {
        **{name: rows[name] for name in (*_KEY, *_OFFSETS)},
        "kind": OBSERVATION,
        "at_us": _micros(rows["observed_at"]),
        "is_record": pc.equal(rows["origin"], "sample"),
        "point_ms": millis,
    }


def _partition_states(rows: Any, _day: int) -> dict[str, Any]:
    kind = np.where(np.asarray(pc.is_null(rows["group"])), LOG_STATE, KEY_STATE)
    return {**{name: rows[name] for name in (*_KEY, "group", "state")}, "kind": pa.array(kind), "at_us": 0}


def _events(rows: Any, day: int) -> dict[str, Any]:
    return {
        "cluster_id": rows["cluster_id"],
        "name": rows["group"],
        "kind": EVENT,
        "at_us": micros_within(rows["record_time"], day),
        "state_us": _micros(rows["state_time"]),
        "members": _members(rows["members"]),
        "expression": _expressions(rows["event_type"], rows["details"]),
        **{name: rows[name] for name in _EVENT},
    }


def _members(lists: Any) -> Any:
    """Return lists of members with the fields that the kernels read."""
    inner = lists.flatten()
    assigned = inner.field("assignment")
    topics = pa.StructArray.from_arrays([assigned.flatten().field("topic")], ["topic"])
    columns = [
        _relisted(assigned, topics) if f.name == "assignment" else inner.field(f.name) for f in MEMBERS.value_type
    ]
    return _relisted(lists, pa.StructArray.from_arrays(columns, [field.name for field in MEMBERS.value_type]))


def _relisted(lists: Any, values: Any) -> Any:
    """Return lists of the same lengths, and null in the same places, with other values."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values, mask=pc.is_null(lists))


def _expressions(event_types: Any, details: Any) -> Any:
    is_regex = _is_true(pc.starts_with(event_types, _REGEX))
    found = [
        json.loads(text).get("regular_expression") if text is not None else None
        for text in details.filter(is_regex).to_pylist()
    ]
    whole = np.full(len(event_types), None, object)
    whole[np.asarray(is_regex)] = found
    return pa.array(whole, pa.string())


def _group_states(rows: Any, _day: int) -> dict[str, Any]:
    return {
        "cluster_id": rows["cluster_id"],
        "name": rows["group"],
        "kind": STATE,
        "payload": rows["state"].cast(pa.binary()),
    }


_READERS: Final = {
    OFFSET_COMMITS.name: (
        (*_KEY, "group", "origin", "source_offset", "commit_time", "tombstone", "committed_offset"),
        _commits,
    ),
    PARTITION_OFFSETS.name: ((*_KEY, *_OFFSETS, "origin", "observed_at", "point_time"), _observations),
    PARTITION_STATE.name: ((*_KEY, "group", "state"), _partition_states),
    GROUP_EVENTS.name: ((*_EVENT, "cluster_id", "group", "record_time", "state_time", "members", "details"), _events),
    GROUP_STATE.name: (("cluster_id", "group", "state"), _group_states),
}
