"""The rows that Spark moves: into the partition stage, from there into the group stage, and to the driver.

All stages use one frame, `StageRows`, because a stage takes rows of several kinds. Its first columns are the key of a
row, by which Spark distributes and sorts. The payload has many rows of another frame, packed in one binary value. Rows
for the driver have typed columns instead, and pass through the group stage unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.fact_summary import FactSummaryRows
from kafka_groups.pipeline.build.frames import CommittedOffsets, ObservedOffsets
from kafka_groups.pipeline.build.group_frames import EventRows, TopicDays
from kafka_groups.pipeline.build.kernels.segments import segment_starts
from kafka_groups.pipeline.build.keyed_tables import batch_by_key
from kafka_groups.pipeline.build.packing import ListOfRows, pack
from kafka_groups.pipeline.build.share_frames import ShareLags
from kafka_groups.pipeline.frames.arrays import to_codes
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.frames.columns import BINARY, DAYS, INT8, INT32, STRING, column
from kafka_groups.pipeline.frames.frame import Frame, frame
from kafka_groups.pipeline.store.data_files import DataFile, DataFileRows, to_rows

PARTITION_KEY: Final = ("cluster_id", "topic", "partition")
KEY: Final = (*PARTITION_KEY, "group")
GROUP_KEY: Final = ("cluster_id", "group")
# This many rows are collected before they are packed. A larger number gives fewer packed rows for each key.
_WAITING_ROWS: Final = 262_144
# A packed row has at most this many rows of a frame. Its payload then has 64 KiB or a little more.
_ROWS_PER_PAYLOAD: Final = 1_024


class RowKind(IntEnum):
    """The kind of a row, which determines its payload. Rows of a partition or a group are sorted by kind.

    - `LOG_STATE` is a packed LogState: a partition at the end of a day. Its group is null.
    - `OBSERVATIONS` are ObservedOffsets of a partition on a day. Their group is null.
    - `KEY_STATE` is a packed KeyState: a group on a partition at the end of a day.
    - `COMMITS` are CommittedOffsets of a group on a partition on a day.
    - `SHARE_OFFSETS` are ShareLags of a share group on a partition on a day.
    - `GROUP_STATE` is the state of a group at the end of a day, as JSON.
    - `EVENTS` are EventRows of a group on a day, as an Arrow record batch.
    - `STATUSES` are PartitionStatuses of a group on a partition, for the group's statuses of a day.
    - `KEY_DAYS` are KeyDays: one row of a group on a partition on a day.
    - `RESULT` is for the driver: a part of the facts' summary, a topic's day, or a file that was written.
    """

    LOG_STATE = 0
    OBSERVATIONS = 1
    KEY_STATE = 2
    COMMITS = 3
    SHARE_OFFSETS = 4
    GROUP_STATE = 5
    EVENTS = 6
    STATUSES = 7
    KEY_DAYS = 8
    RESULT = 9


@frame
class StageRows(Frame):
    """One row per packed row for a stage, and per typed row for the driver."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    group: Any = column(STRING, "id of the group; null for rows of a partition")
    kind: Any = column(INT8, "a RowKind")
    day: Any = column(INT32, "the day", unit=DAYS)
    payload: Any = column(BINARY, "packed rows of the frame of the kind")
    summary: Any = column(pa.struct(FactSummaryRows.schema()), "for the driver: a part of the facts' summary")
    topic_day: Any = column(pa.struct(TopicDays.schema()), "for the driver: a topic's day, as one task saw it")
    file: Any = column(pa.struct(DataFileRows.schema()), "for the driver: a file that a task wrote")


def make_rows(kind: RowKind, columns: Mapping[str, Any]) -> Any:
    """Return rows of a kind as a record batch of StageRows; columns that are not given are null."""
    return make_batch(StageRows, {**columns, "kind": int(kind)}, fill_null=True)


def make_result_rows(name: str, rows: Any) -> Any:
    """Return rows for the driver; `rows` is a record batch of the frame of the column `name` of StageRows."""
    structs = pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema))
    return make_rows(RowKind.RESULT, {name: structs})


def make_file_rows(files: Sequence[DataFile]) -> Any:
    """Return a row for the driver for each file."""
    return make_result_rows("file", to_rows(files))


def read_results(rows: Any, name: str) -> Any:
    """Return the rows that were passed to `make_result_rows` for a column, as a table of the column's frame."""
    structs = rows[name].combine_chunks() if isinstance(rows, pa.Table) else rows[name]
    schema = pa.schema(StageRows.schema().field(name).type)
    return pa.Table.from_arrays(structs.drop_null().flatten(), schema=schema)


def pack_commits(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches of StageRows with packed CommittedOffsets.

    `batches` have the columns of KEY and CommittedOffsets, and `day`.
    """
    yield from _pack_numbers(batches, RowKind.COMMITS, (*KEY, "day"), CommittedOffsets)


def pack_observations(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches of StageRows with packed ObservedOffsets.

    `batches` have the columns of PARTITION_KEY and ObservedOffsets, and `day`.
    """
    yield from _pack_numbers(batches, RowKind.OBSERVATIONS, (*PARTITION_KEY, "day"), ObservedOffsets)


def pack_share_offsets(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches of StageRows with packed ShareLags.

    `batches` have the columns of KEY and ShareLags, and `day`.
    """
    yield from _pack_numbers(batches, RowKind.SHARE_OFFSETS, (*KEY, "day"), ShareLags)


def pack_events(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches of StageRows with packed EventRows.

    `batches` have the columns of GROUP_KEY and EventRows, and `day`. A payload is an Arrow record batch in the
    IPC format, because events have strings and lists.
    """
    for table in batch_by_key(batches, (), _WAITING_ROWS):
        sorted_rows, run_starts = _sort_into_runs(table, (*GROUP_KEY, "day"))
        events = sorted_rows.select(EventRows.names()).cast(EventRows.schema())
        payloads = [
            events.slice(first, end - first).combine_chunks().to_batches()[0].serialize().to_pybytes()
            for first, end in zip(run_starts, [*run_starts[1:], len(sorted_rows)], strict=True)
        ]
        keys = sorted_rows.select([*GROUP_KEY, "day"]).take(pa.array(run_starts)).combine_chunks()
        columns = {name: keys[name].combine_chunks() for name in keys.column_names}
        yield make_rows(RowKind.EVENTS, columns | {"payload": pa.array(payloads, BINARY)})


def unpack_events(payloads: Any) -> tuple[Any, Any]:
    """Return the events of a column of payloads as a table of EventRows, and the index of each event's payload."""
    batches = [pa.ipc.read_record_batch(pa.py_buffer(payload), EventRows.schema()) for payload in payloads.to_pylist()]
    owner = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    return pa.Table.from_batches(batches, EventRows.schema()), owner


def _pack_numbers(batches: Iterator[Any], kind: RowKind, key: Sequence[str], frame: type[Frame]) -> Iterator[Any]:
    """Yield record batches of StageRows of a kind with packed rows of a frame of numbers.

    `batches` have the columns of `key` and of the frame, and any order of rows. The rows of one payload are equal in
    `key`, which includes `day`.
    """
    for table in batch_by_key(batches, (), _WAITING_ROWS):
        sorted_rows, run_starts = _sort_into_runs(table, key)
        run_lengths = np.diff([*run_starts, len(sorted_rows)])
        owner = np.repeat(np.arange(len(run_starts)), run_lengths)
        payload = pack([ListOfRows(owner=owner, columns=frame.from_batch(sorted_rows).arrays())], len(run_starts))
        keys = sorted_rows.select(key).take(pa.array(run_starts))
        columns = {name: keys[name].combine_chunks() for name in key}
        yield make_rows(kind, columns | {"payload": payload})


def _sort_into_runs(table: Any, key: Sequence[str]) -> tuple[Any, Any]:
    """Return the rows with equal keys together, and the indices at which runs begin; a run becomes one payload."""
    key_codes = [to_codes(table[name]) for name in key]
    order = np.lexsort(key_codes[::-1])
    row_of_key = np.arange(len(order)) - segment_starts(*(code[order] for code in key_codes))
    return table.take(pa.array(order)).combine_chunks(), np.flatnonzero(row_of_key % _ROWS_PER_PAYLOAD == 0)


def select_kind(table: Any, kind: RowKind) -> tuple[Any, Any]:
    """Return the rows of a kind, and their indices in the table."""
    indices = np.flatnonzero(np.asarray(pc.equal(table["kind"], int(kind))))
    return table.take(pa.array(indices)), indices
