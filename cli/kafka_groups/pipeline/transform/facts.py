"""Files of facts and states as rows of the stages. Tasks read them with pyarrow, wherever they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline import schemas
from kafka_groups.pipeline.storage.root_directory import open_file
from kafka_groups.pipeline.storage.storage_errors import as_storage_error
from kafka_groups.pipeline.transform.columns import to_batch, to_flags
from kafka_groups.pipeline.transform.group_input import EVENT, EVENT_COLUMNS, STATE
from kafka_groups.pipeline.transform.kernels.segments import DAY_US
from kafka_groups.pipeline.transform.partition_batch import COMMIT, KEY_STATE, LOG_STATE, OBSERVATION

_BATCH_ROWS: Final = 65_536
_KEY: Final = ("cluster_id", "topic", "partition")
_OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "topic_id")


class FactFile(NamedTuple):
    """A file of a table, of one date, as the days since 1970; its path is `RootDirectory.address`."""

    table: str
    day: int
    path: str


FILE_SCHEMA: Final = pa.schema([("table", pa.string()), ("day", pa.int32()), ("path", pa.string())])
Rows = Iterator[dict[str, Any]]
# By table: the columns that are read, and what makes columns of other rows of record batches of them.
Readers = Mapping[str, tuple[Sequence[str], Callable[[Any, FactFile], Rows]]]


def read_columns(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield record batches of some columns of a Parquet file, by its path or URI. Raises StorageError."""
    with as_storage_error("read the tables", path), open_file(path) as file:
        for rows in pq.ParquetFile(file).iter_batches(_BATCH_ROWS, columns=list(columns)):
            yield rows.select(columns)


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


def _commits(rows: Any, file: FactFile) -> Rows:
    offset = rows["committed_offset"]
    # Brokers take -1 for an offset, and report none.
    is_removal = pa.array(to_flags(rows["tombstone"]) | ~to_flags(pc.greater_equal(offset, 0)))
    yield {
        **{name: rows[name] for name in (*_KEY, "group", "source_offset")},
        "kind": COMMIT,
        "at_us": micros_within(rows["commit_time"], file.day),
        "is_record": pc.equal(rows["origin"], "topic"),
        "is_removal": is_removal,
        "committed_offset": pc.if_else(is_removal, None, offset),
    }


def _observations(rows: Any, _file: FactFile) -> Rows:
    yield {
        **{name: rows[name] for name in (*_KEY, *_OFFSETS)},
        "kind": OBSERVATION,
        "at_us": _micros(rows["observed_at"]),
        "is_record": pc.equal(rows["origin"], "sample"),
        "point_ms": pc.divide(_micros(rows["point_time"]), 1_000),
    }


def _partition_states(rows: Any, _file: FactFile) -> Rows:
    kind = np.where(np.asarray(pc.is_null(rows["group"])), LOG_STATE, KEY_STATE)
    yield {**{name: rows[name] for name in (*_KEY, "group", "state")}, "kind": pa.array(kind), "at_us": 0}


def _events(rows: Any, file: FactFile) -> Rows:
    has_expression = pc.starts_with(rows["event_type"], "regex")
    details = pc.if_else(has_expression, rows["details"], None).to_pylist()
    expressions = [None if text is None else json.loads(text).get("regular_expression") for text in details]
    yield {
        **{name: rows[name] for name in (*EVENT_COLUMNS, "cluster_id", "members")},
        "name": rows["group"],
        "kind": EVENT,
        "at_us": micros_within(rows["record_time"], file.day),
        "state_us": _micros(rows["state_time"]),
        "expression": pa.array(expressions, pa.string()),
    }


def _group_states(rows: Any, _file: FactFile) -> Rows:
    yield {"cluster_id": rows["cluster_id"], "name": rows["group"], "kind": STATE, "payload": rows["state"]}


_READERS: Final[Readers] = {
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


def read_facts(pieces: Iterator[Any], schema: Any, readers: Readers = _READERS) -> Iterator[Any]:
    """Yield record batches of the schema from the files in record batches of FILE_SCHEMA."""
    for file in (FactFile(**row) for piece in pieces for row in piece.to_pylist()):
        names, convert = readers[file.table]
        for rows in read_columns(file.path, names):
            for columns in convert(rows, file):
                yield to_batch(schema, {"day": file.day, **columns})
