"""Commits, nearly all records there are, read at once: each field of all of them by one gather.

What this cannot read, it leaves to the reader of tables; what it reads is what that one would (tests hold both
against each other).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.decode.columns import TIME
from kafka_groups.pipeline.decode.packed import Flags, Ints, Packed, as_text
from kafka_groups.pipeline.decode.texts import EARLIEST_MS, LATEST_MS, NO_TIME_MS, microseconds, topic_id_text
from kafka_groups.protocol import Struct

_ABSENT: Final = -1
_TOPIC_ID_BYTES: Final = 16
# One tag, number 0, sixteen bytes: what stands before a topic id at the end of a value.
_TOPIC_ID_TAG: Final = int.from_bytes([1, 0, _TOPIC_ID_BYTES])
_TAG_BYTES: Final = 3
_TAG_MASK: Final = (1 << 8 * _TAG_BYTES) - 1
_MORE_FOLLOWS: Final = 0x80

NAMES: Final = ("committed_offset", "leader_epoch", "metadata", "commit_time", "expire_time", "topic_id")


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in a version of OffsetCommitValue (its schema file): version, offset, epoch, metadata, times."""

    epoch: bool = False
    expiry: bool = False
    flexible: bool = False

    @property
    def length_at(self) -> int:
        """Where the length of the metadata is."""
        return 2 + 8 + 4 * self.epoch

    @property
    def smallest(self) -> int:
        """The size of a value without metadata and without tags."""
        return self.length_at + 2 + 8 + 8 * self.expiry


_LAYOUTS: Final = {
    0: _Layout(),
    1: _Layout(expiry=True),
    2: _Layout(),
    3: _Layout(epoch=True),
    4: _Layout(epoch=True, flexible=True),
}


class Commits:
    """The fields of the commits among a chunk's records; `read` says which records were understood here."""

    __slots__ = ("_epochs", "_expires", "_id_at", "_numbers", "_text_at", "_text_size", "_values", "_when", "read")

    def __init__(self, values: Packed, wanted: Flags) -> None:
        """Read the wanted records of these values."""
        count = len(values.starts)
        self._values = values
        self.read: Flags = np.zeros(count, np.bool_)
        self._numbers, self._text_size, self._text_at = (np.zeros(count, np.int64) for _ in range(3))
        self._epochs, self._when, self._expires, self._id_at = (np.full(count, _ABSENT, np.int64) for _ in range(4))
        rows = np.flatnonzero(wanted & (values.sizes >= _LAYOUTS[0].smallest))
        versions = values.numbers("i2", values.starts[rows])
        for version, layout in _LAYOUTS.items():
            self._read_version(layout, rows[versions == version])

    def _read_version(self, layout: _Layout, rows: Ints) -> None:
        rows = rows[self._values.sizes[rows] >= layout.smallest]
        if not len(rows):
            return
        starts = self._values.starts[rows]
        length_at = starts + layout.length_at
        if layout.flexible:
            good, text_at, text_size = self._compact_texts(rows, length_at)
        else:
            text_size = self._values.numbers("i2", length_at)
            text_at = length_at + 2
            # Null (-1) is no size, and none of these values is smaller than the smallest.
            good = self._values.sizes[rows] == layout.smallest + text_size
        rows, starts, text_at, text_size = rows[good], starts[good], text_at[good], text_size[good]
        after = text_at + text_size
        self.read[rows] = True
        self._numbers[rows] = self._values.numbers("i8", starts + 2)
        self._text_at[rows], self._text_size[rows] = text_at, text_size
        self._when[rows] = self._values.numbers("i8", after)
        if layout.epoch:
            self._epochs[rows] = self._values.numbers("i4", starts + 10)
        if layout.expiry:
            self._expires[rows] = self._values.numbers("i8", after + 8)

    def _compact_texts(self, rows: Ints, length_at: Ints) -> tuple[Flags, Ints, Ints]:
        """Return which of these rows are as expected, and where their metadata is; note their topic ids."""
        data = self._values.data
        first, second = (data[length_at + place].astype(np.int64) for place in range(2))
        # Metadata of 127 bytes and more has a length of two bytes; it may have 4096 (offset.metadata.max.bytes).
        wide = first >= _MORE_FOLLOWS
        length = np.where(wide, (first & (_MORE_FOLLOWS - 1)) | second << 7, first)
        text_at = length_at + 1 + wide
        good = (length > 0) & ~(wide & (second >= _MORE_FOLLOWS))
        tags_at = text_at + length - 1 + 8
        tags_size = self._values.starts[rows] + self._values.sizes[rows] - tags_at
        plain = good & (tags_size == 1)
        plain[plain] = data[tags_at[plain]] == 0
        tagged = good & (tags_size == _TAG_BYTES + _TOPIC_ID_BYTES)
        # There is no number of three bytes: the one before it is read, too, and left out.
        tagged[tagged] = (self._values.numbers("i4", tags_at[tagged] - 1) & _TAG_MASK) == _TOPIC_ID_TAG
        self._id_at[rows[tagged]] = tags_at[tagged] + _TAG_BYTES
        return plain | tagged, text_at, length - 1

    def columns(self) -> list[Any]:
        """Return the columns of NAMES; null where a record was not read."""
        return [
            pa.array(self._numbers, mask=~self.read),
            pa.array(self._epochs.astype(np.int32), mask=self._epochs == _ABSENT),
            as_text(self._values.slices(self._text_at, self._text_size, known=self.read)),
            as_times(self._when),
            as_times(self._expires),
            self._topic_ids(),
        ]

    def _topic_ids(self) -> Any:
        rows = np.flatnonzero(self._id_at != _ABSENT)
        if not len(rows):
            return pa.nulls(len(self._id_at), pa.string())
        distinct, places = _distinct_ids(self._values, self._id_at[rows])
        texts = pa.array([topic_id_text(topic_id) for topic_id in distinct], pa.string())
        which = np.full(len(self._id_at), _ABSENT, np.int64)
        which[rows] = places
        return texts.take(pa.array(which, mask=which == _ABSENT))


def _distinct_ids(values: Packed, at: Ints) -> tuple[list[bytes], Ints]:
    """Return the different ids among those at these places, and which of them each is."""
    halves = values.numbers("i8", at)
    encoded = pa.array(halves).dictionary_encode()
    places = encoded.indices.to_numpy().astype(np.int64)
    first = np.zeros(len(encoded.dictionary), np.int64)
    first[places] = at
    # Ids that are equal in their first half alone are not to be expected; they are distinguished the long way.
    other = values.numbers("i8", at + _TOPIC_ID_BYTES // 2)
    if (values.numbers("i8", first + _TOPIC_ID_BYTES // 2)[places] != other).any():
        whole = pa.array([values.data[place : place + _TOPIC_ID_BYTES].tobytes() for place in at.tolist()])
        encoded = whole.dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
    return [values.data[place : place + _TOPIC_ID_BYTES].tobytes() for place in first.tolist()], places


def columns_of(value: Struct) -> tuple[Any, ...]:
    """Return the same columns of one commit that the reader of tables read; times in microseconds."""
    return (
        value["offset"],
        None if value["leader_epoch"] == _ABSENT else value["leader_epoch"],
        value["metadata"],
        microseconds(value["commit_timestamp"]),
        microseconds(value["expire_timestamp"]),
        topic_id_text(value["topic_id"].bytes),
    )


def as_times(milliseconds: Ints) -> Any:
    """Return a column of times; null where there is none."""
    none = (milliseconds == NO_TIME_MS) | (milliseconds < EARLIEST_MS) | (milliseconds > LATEST_MS)
    return pa.array(np.where(none, 0, milliseconds) * 1000, mask=none).cast(TIME)
