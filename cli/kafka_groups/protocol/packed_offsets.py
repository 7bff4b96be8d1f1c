"""Committed offsets of an OffsetFetch response, kept in their encoded bytes and decoded on each access.

A row with empty metadata, no error and no tags takes exactly 20 bytes in a flexible version. If all rows of a topic
are such, one comparison of bytes recognises them and one struct decodes them; all other rows are decoded by the schema.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Final, TypeAlias, overload

from kafka_groups.commits import PartitionCommit
from kafka_groups.model import TopicPartition
from kafka_groups.protocol import STRING, Cursor, Struct, compile_reader, read_count, skip_tags
from kafka_groups.protocol.messages.offset_fetch import OFFSET_FETCH, PARTITION

_FIXED_SIZE: Final = 20
_FIXED_ROW: Final = struct.Struct(">iqi4x")
# One value of such a row.
_FIXED_PARTITION: Final = "i16x"
_FIXED_OFFSET: Final = "4xq8x"
_READ_ROW: Final = {
    version: compile_reader(PARTITION, version=version, flexible=OFFSET_FETCH.is_flexible(version))
    for version in range(OFFSET_FETCH.lowest, OFFSET_FETCH.highest + 1)
}
_by_partition = itemgetter(0)


class PackedPartitions(Sequence[PartitionCommit]):
    """The commits of one topic's partitions, ascending by partition; the offset is None where there is no commit.

    It holds `data`, the rows as a broker of this OffsetFetch `version` encoded them, at some 20 bytes a row. `length`
    is the number of rows without an error code; rows with one are in `data` too, and are skipped. `fixed` says that
    every row takes 20 bytes. Each iteration decodes all rows; an index does so once and keeps them.
    """

    __slots__ = ("_data", "_decoded", "_fixed", "_length", "_version")
    __hash__ = None  # type: ignore[assignment]  # it has none, as the lists that it equals

    def __init__(self, data: bytes, *, version: int, length: int, fixed: bool) -> None:
        self._data = data
        self._version = version
        self._length = length
        self._fixed = fixed
        self._decoded: list[PartitionCommit] | None = None

    @property
    def fixed(self) -> bool:
        """Whether every row takes 20 bytes."""
        return self._fixed

    def partitions(self) -> tuple[int, ...]:
        """Return the partition numbers in the order of the response."""
        if self._fixed:
            return self._unpack_column(_FIXED_PARTITION)
        return tuple(row["partition_index"] for row in self._rows())

    def offsets(self) -> tuple[int | None, ...]:
        """Return the committed offsets in the order of the response; None where there is no commit."""
        if self._fixed:
            known = self._unpack_column(_FIXED_OFFSET)
        else:
            known = tuple(row["committed_offset"] for row in self._rows())
        return known if not known or min(known) >= 0 else tuple(None if offset < 0 else offset for offset in known)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[PartitionCommit]:
        return iter(self._decode())

    @overload
    def __getitem__(self, index: int) -> PartitionCommit: ...
    @overload
    def __getitem__(self, index: slice) -> list[PartitionCommit]: ...
    def __getitem__(self, index: int | slice) -> PartitionCommit | list[PartitionCommit]:
        if self._decoded is None:
            self._decoded = self._decode()
        return self._decoded[index]

    def __eq__(self, other: object) -> bool:
        return self._decode() == list(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        return f"PackedPartitions({self._decode()!r})"

    def _decode(self) -> list[PartitionCommit]:
        if self._fixed:
            return [
                (partition, None, None, None) if offset < 0 else (partition, offset, None if epoch < 0 else epoch, "")
                for partition, offset, epoch in sorted(_FIXED_ROW.iter_unpack(self._data), key=_by_partition)
            ]
        return sorted(map(_to_commit, self._rows()), key=_by_partition)

    def _unpack_column(self, row: str) -> tuple[int, ...]:
        return _column_struct(row, self._length).unpack(self._data)

    def _rows(self) -> Iterator[Struct]:
        cursor = Cursor(self._data)
        read = _READ_ROW[self._version]
        while cursor.remaining():
            row = read(cursor)
            if row["error_code"] == 0:
                yield row


@lru_cache(maxsize=512)
def _column_struct(row: str, length: int) -> struct.Struct:
    """Return the struct of one value of each row. A cluster has few lengths; one call takes a fifth of one a row."""
    return struct.Struct(">" + length * row)


PackedTopics: TypeAlias = tuple[tuple[str, PackedPartitions], ...]


def read_packed_topics(
    cursor: Cursor, version: int, names: dict[str, str]
) -> tuple[PackedTopics, dict[TopicPartition, int]]:
    """Read the array of topics at the cursor; return the packed partitions of each, and the partitions' error codes.

    `names` holds the topic names already read, so that equal names share one string: a cluster has few topics and many
    groups. SchemaError if the bytes are not an array of topics.
    """
    flexible = OFFSET_FETCH.is_flexible(version)
    read_name = STRING.read(flexible, False)
    topics: list[tuple[str, PackedPartitions]] = []
    refused: dict[TopicPartition, int] = {}
    for _ in range(read_count(cursor, flexible=flexible)):
        name = read_name(cursor)
        topic = names.setdefault(name, name)
        length = rows = read_count(cursor, flexible=flexible)
        start = cursor.position
        fixed = flexible and _is_fixed(cursor.data, start, rows)
        if fixed:
            cursor.position = start + rows * _FIXED_SIZE
        else:
            length -= _skip_rows(cursor, version, rows, topic, refused)
        data = cursor.data[start : cursor.position]
        topics.append((topic, PackedPartitions(data, version=version, length=length, fixed=fixed)))
        if flexible:
            skip_tags(cursor)
    return tuple(topics), refused


def _is_fixed(data: bytes, start: int, rows: int) -> bool:
    # The last four bytes of such a row are a metadata of length 0 (written as 1), two of no error, and no
    # tags. If the first row has these bytes at its end, it is 20 bytes long, hence the second begins 20
    # bytes later, and so on: four strided slices check all rows.
    end = start + rows * _FIXED_SIZE
    return (
        end <= len(data)
        and data[start + 16 : end : _FIXED_SIZE] == b"\x01" * rows
        and data[start + 17 : end : _FIXED_SIZE] == b"\x00" * rows
        and data[start + 18 : end : _FIXED_SIZE] == b"\x00" * rows
        and data[start + 19 : end : _FIXED_SIZE] == b"\x00" * rows
    )


def _skip_rows(cursor: Cursor, version: int, rows: int, topic: str, refused: dict[TopicPartition, int]) -> int:
    """Move past the rows, add their error codes to `refused`, and return the number of rows with an error."""
    read = _READ_ROW[version]
    errors = 0
    for _ in range(rows):
        row = read(cursor)
        if row["error_code"]:
            errors += 1
            refused[TopicPartition(topic, row["partition_index"])] = row["error_code"]
    return errors


def _to_commit(row: Struct) -> PartitionCommit:
    partition = row["partition_index"]
    offset = row["committed_offset"]
    epoch = row["committed_leader_epoch"]
    if offset < 0:
        return partition, None, None, None
    return partition, offset, None if epoch < 0 else epoch, row["metadata"] or ""
