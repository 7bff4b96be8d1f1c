"""Files of facts and states as rows of the stages. Tasks read them with pyarrow, wherever they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline import schemas
from kafka_groups.pipeline.storage.root_directory import as_storage_error, open_file
from kafka_groups.pipeline.transform.columns import to_batch, to_flags
from kafka_groups.pipeline.transform.group_input import EVENT, EVENT_COLUMNS, GROUP_INPUT, STATE
from kafka_groups.pipeline.transform.kernels.segments import DAY_US
from kafka_groups.pipeline.transform.partition_batch import COMMIT, INPUT, KEY_STATE, LOG_STATE, OBSERVATION

_BATCH_ROWS: Final = 65_536
_KEY: Final = ("cluster_id", "topic", "partition")
_OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "topic_id")


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
            yield to_batch(schema, {"day": file.day, **convert(rows, file.day)})


def micros_within(times: Any, day: int) -> Any:
    """Return times in microseconds, and midnight for those that are null or not on the day of their file.

    Such a time cannot be: a commit then has the date of its record, a record the first date of all. It does not show
    until when the cluster was read.
    """
    micros, first = _micros(times), day * DAY_US
    is_within = pc.and_(pc.greater_equal(micros, first), pc.less(micros, first + DAY_US))
    return pc.if_else(pa.array(to_flags(is_within)), micros, first)


def _micros(times: Any) -> Any:
    return times.cast(pa.timestamp("us", "UTC")).view(pa.int64())


def _commits(rows: Any, day: int) -> dict[str, Any]:
    offset = rows["committed_offset"]
    # Brokers take -1 for an offset, and report none.
    is_removal = pa.array(to_flags(rows["tombstone"]) | ~to_flags(pc.greater_equal(offset, 0)))
    return {
        **{name: rows[name] for name in (*_KEY, "group", "source_offset")},
        "kind": COMMIT,
        "at_us": micros_within(rows["commit_time"], day),
        "is_record": pc.equal(rows["origin"], "topic"),
        "is_removal": is_removal,
        "committed_offset": pc.if_else(is_removal, None, offset),
    }


def _observations(rows: Any, _day: int) -> dict[str, Any]:
    return {
        **{name: rows[name] for name in (*_KEY, *_OFFSETS)},
        "kind": OBSERVATION,
        "at_us": _micros(rows["observed_at"]),
        "is_record": pc.equal(rows["origin"], "sample"),
        "point_ms": pc.divide(_micros(rows["point_time"]), 1_000),
    }


def _partition_states(rows: Any, _day: int) -> dict[str, Any]:
    kind = np.where(np.asarray(pc.is_null(rows["group"])), LOG_STATE, KEY_STATE)
    return {**{name: rows[name] for name in (*_KEY, "group", "state")}, "kind": pa.array(kind), "at_us": 0}


def _events(rows: Any, day: int) -> dict[str, Any]:
    has_expression = pc.starts_with(rows["event_type"], "regex")
    details = pc.if_else(has_expression, rows["details"], None).to_pylist()
    expressions = [None if text is None else json.loads(text).get("regular_expression") for text in details]
    return {
        **{name: rows[name] for name in (*EVENT_COLUMNS, "cluster_id", "members")},
        "name": rows["group"],
        "kind": EVENT,
        "at_us": micros_within(rows["record_time"], day),
        "state_us": _micros(rows["state_time"]),
        "expression": pa.array(expressions, pa.string()),
    }


def _group_states(rows: Any, _day: int) -> dict[str, Any]:
    return {"cluster_id": rows["cluster_id"], "name": rows["group"], "kind": STATE, "payload": rows["state"]}


_READERS: Final = {
    schemas.OFFSET_COMMITS.name: (
        (*_KEY, "group", "origin", "source_offset", "commit_time", "tombstone", "committed_offset"),
        _commits,
    ),
    schemas.PARTITION_OFFSETS.name: ((*_KEY, *_OFFSETS, "origin", "observed_at", "point_time"), _observations),
    schemas.PARTITION_STATE.name: ((*_KEY, "group", "state"), _partition_states),
    schemas.GROUP_EVENTS.name: (
        (*EVENT_COLUMNS, "cluster_id", "group", "record_time", "state_time", "members", "details"),
        _events,
    ),
    schemas.GROUP_STATE.name: (("cluster_id", "group", "state"), _group_states),
}
