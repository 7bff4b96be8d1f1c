"""The rows of an OffsetFetch answer: cut into runs of bytes first, decoded only when somebody looks.

A row with empty metadata, no error and no tags takes exactly 20 bytes in a flexible version. A run of
such rows is recognised without a loop and decoded by one struct; any other run goes through the table.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from operator import itemgetter
from typing import Final, NamedTuple

from kafka_groups.model import PartitionCommit, TopicPartition
from kafka_groups.protocol import STRING, Cursor, Struct, compile_reader, read_count, skip_tags
from kafka_groups.protocol.messages.offset_fetch import OFFSET_FETCH, PARTITION

_FIXED_SIZE: Final = 20
_FIXED_ROW: Final = struct.Struct(">iqi4x")
_FIXED_PARTITION: Final = struct.Struct(">i16x")
_READ_ROW: Final = {
    version: compile_reader(PARTITION, version=version, flexible=OFFSET_FETCH.is_flexible(version))
    for version in range(OFFSET_FETCH.lowest, OFFSET_FETCH.highest + 1)
}


class Run(NamedTuple):
    """The encoded partitions of one topic; `fixed` says that every row takes 20 bytes."""

    topic: str
    version: int
    rows: int
    fixed: bool
    data: bytes


def cut_runs(cursor: Cursor, version: int, names: dict[str, str]) -> tuple[tuple[Run, ...], dict[TopicPartition, int]]:
    """The topics array at the cursor as runs, and the error codes of the partitions that have one.

    `names` holds the topic names seen so far: a cluster has few topics and many groups.
    """
    flexible = OFFSET_FETCH.is_flexible(version)
    read_name = STRING.read(flexible, False)
    runs: list[Run] = []
    refused: dict[TopicPartition, int] = {}
    for _ in range(read_count(cursor, flexible=flexible)):
        name = read_name(cursor)
        topic = names.setdefault(name, name)
        rows = read_count(cursor, flexible=flexible)
        start = cursor.at
        fixed = flexible and _is_fixed(cursor.data, start, rows)
        if fixed:
            cursor.at = start + rows * _FIXED_SIZE
        else:
            _pass_rows(cursor, version, rows, topic, refused)
        runs.append(Run(topic, version, rows, fixed, cursor.data[start : cursor.at]))
        if flexible:
            skip_tags(cursor)
    return tuple(runs), refused


def decode(run: Run) -> list[PartitionCommit]:
    """The partitions that were answered, ascending, with what is committed on each; None where nothing is."""
    if run.fixed:
        return [
            (partition, None, None, None) if offset < 0 else (partition, offset, None if epoch < 0 else epoch, "")
            for partition, offset, epoch in sorted(_FIXED_ROW.iter_unpack(run.data), key=itemgetter(0))
        ]
    return sorted((_commit_of(row) for row in _table_rows(run) if row["error_code"] == 0), key=itemgetter(0))


def partitions_of(run: Run) -> list[int]:
    """All partitions of a run, refused ones included."""
    if run.fixed:
        return [row[0] for row in _FIXED_PARTITION.iter_unpack(run.data)]
    return [row["partition_index"] for row in _table_rows(run)]


def _is_fixed(data: bytes, start: int, rows: int) -> bool:
    # The last four bytes of such a row are a metadata of length 0 (written as 1), two of no error, and no
    # tags. If the first row has this tail at its place it is 20 bytes long, hence the second begins 20
    # bytes later, and so on: four strided slices say it for all rows.
    end = start + rows * _FIXED_SIZE
    return (
        end <= len(data)
        and data[start + 16 : end : _FIXED_SIZE] == b"\x01" * rows
        and data[start + 17 : end : _FIXED_SIZE] == b"\x00" * rows
        and data[start + 18 : end : _FIXED_SIZE] == b"\x00" * rows
        and data[start + 19 : end : _FIXED_SIZE] == b"\x00" * rows
    )


def _pass_rows(cursor: Cursor, version: int, rows: int, topic: str, refused: dict[TopicPartition, int]) -> None:
    read = _READ_ROW[version]
    for _ in range(rows):
        row = read(cursor)
        if row["error_code"]:
            refused[TopicPartition(topic, row["partition_index"])] = row["error_code"]


def _table_rows(run: Run) -> Iterator[Struct]:
    cursor = Cursor(run.data)
    read = _READ_ROW[run.version]
    for _ in range(run.rows):
        yield read(cursor)


def _commit_of(row: Struct) -> PartitionCommit:
    partition, offset, epoch = row["partition_index"], row["committed_offset"], row["committed_leader_epoch"]
    if offset < 0:
        return partition, None, None, None
    return partition, offset, None if epoch < 0 else epoch, row["metadata"] or ""
