"""Commits, nearly all records there are, read at once: each field of all of them by one gather.

Fields are read of all records, whatever they are, and then the sizes show of which records they are right. What this
cannot read, `record_types` does; what it reads is what that one would (tests hold both against each other).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_groups.pipeline.facts.decode.columns import EARLIEST_MS, LATEST_MS, NO_TIME_MS, microseconds, topic_id_text
from kafka_groups.pipeline.facts.decode.record_types import COMMITS
from kafka_groups.pipeline.frames.columns import TIMESTAMP
from kafka_groups.protocol import Struct, decode_visibly

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_EPOCHS_SINCE: Final = 3
_NEWEST_VERSION: Final = 4
_ABSENT: Final = -1
_MORE_FOLLOWS: Final = 0x80
_TOPIC_ID_BYTES: Final = 16
_TOPIC_ID_TAG: Final = int.from_bytes([1, 0, _TOPIC_ID_BYTES])  # before the id: one tag, number 0, sixteen bytes
_TAG_BYTES: Final = 3


@dataclass(frozen=True, slots=True)
class Packed:
    """Keys or values end to end: where each starts, and where it ends; one that is None ends where it starts."""

    data: npt.NDArray[np.uint8]
    starts: Ints
    ends: Ints

    def numbers(self, layout: str, at: Ints) -> Ints:
        """Return the big-endian numbers at these places; layout is u1, i2, i4 or i8. Any number outside of the data."""
        width = np.dtype(layout).itemsize
        if len(self.data) < width:
            return np.zeros(len(at), np.int64)
        # Every byte is the start of a number: they overlap, and only those at `at` are looked at.
        last = len(self.data) - width
        numbers: Any = np.ndarray(last + 1, f">{layout}", self.data.data, strides=(1,))
        return numbers[np.clip(at, 0, last)].astype(np.int64)  # type: ignore[no-any-return]  # numpy says Any

    def texts(self, at: Ints, sizes: Ints, known: Flags) -> Any:
        """Return an Arrow column of the texts at these places; null where they are not known."""
        sizes = np.where(known, sizes, 0)
        ends = np.zeros(len(at) + 1, np.int32)
        np.cumsum(sizes, out=ends[1:])
        filled = np.flatnonzero(sizes)
        places = np.repeat(at[filled] - ends[filled], sizes[filled]) + np.arange(ends[-1])
        buffers = [pa.array(known).buffers()[1], pa.py_buffer(ends), pa.py_buffer(self.data[places])]
        column = pa.Array.from_buffers(pa.binary(), len(at), buffers)
        try:
            return column.cast(pa.string())
        except pa.ArrowInvalid:  # not UTF-8
            texts = [None if body is None else decode_visibly(body) for body in column.to_pylist()]
            return pa.array(texts, pa.string())


def pack(column: Any) -> Packed:
    """Return what is in a large_binary Arrow column, without a copy."""
    _, offsets, data = column.buffers()
    edges = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return Packed(np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8), edges[:-1], edges[1:])


def read_keys(keys: Packed) -> tuple[Flags, dict[str, Any]]:
    """Return which keys are those of commits, and their columns; what these hold for other keys is undefined."""
    kind, group_size = (keys.numbers("i2", keys.starts + place) for place in (0, 2))
    group_at = keys.starts + 4
    topic_at = group_at + group_size + 2
    topic_size = keys.numbers("i2", topic_at - 2)
    partition_at = topic_at + topic_size
    is_read = np.isin(kind, list(COMMITS)) & (group_size >= 0) & (topic_size >= 0) & (partition_at + 4 == keys.ends)
    return is_read, {
        "record_type": pa.array(kind.astype(np.int16)),
        "group": keys.texts(group_at, group_size, is_read),
        "topic": keys.texts(topic_at, topic_size, is_read),
        "partition": pa.array(keys.numbers("i4", partition_at).astype(np.int32)),
    }


def read_values(values: Packed, wanted: Flags) -> tuple[Flags, dict[str, Any]]:
    """Return which of the wanted values were read (as OffsetCommitValue.json says), and columns, null for the rest."""
    starts = values.starts
    version = values.numbers("i2", starts)
    has_epoch, has_expiry, is_compact = version >= _EPOCHS_SINCE, version == 1, version == _NEWEST_VERSION
    size_at = starts + 10 + 4 * has_epoch
    # Metadata of 127 bytes and more has a length of two bytes; it may have 4096 (offset.metadata.max.bytes).
    first, second = (values.numbers("u1", size_at + place) for place in range(2))
    is_wide = first >= _MORE_FOLLOWS
    compact_size = np.where(is_wide, first & (_MORE_FOLLOWS - 1) | second << 7, first) - 1
    text_size = np.where(is_compact, compact_size, values.numbers("i2", size_at))
    text_at = size_at + np.where(is_compact, 1 + is_wide, 2)
    time_at = text_at + text_size
    tags_at = time_at + 8 + 8 * has_expiry
    tags_size = values.ends - tags_at
    # There is no number of three bytes: the one before it is read, too, and left out.
    tag = values.numbers("i4", tags_at - 1) & (1 << 8 * _TAG_BYTES) - 1
    has_id = is_compact & (tags_size == _TAG_BYTES + _TOPIC_ID_BYTES) & (tag == _TOPIC_ID_TAG)
    has_no_tags = np.where(is_compact, (tags_size == 1) & (values.numbers("u1", tags_at) == 0), tags_size == 0)
    is_known = (version >= 0) & (version <= _NEWEST_VERSION) & ~(is_compact & is_wide & (second >= _MORE_FOLLOWS))
    is_read = wanted & is_known & (text_size >= 0) & (has_id | has_no_tags)
    epoch = np.where(has_epoch, values.numbers("i4", starts + 10), _ABSENT)
    return is_read, {
        "value_version": pa.array(version.astype(np.int16), mask=~is_read),
        "committed_offset": pa.array(values.numbers("i8", starts + 2), mask=~is_read),
        "leader_epoch": pa.array(epoch.astype(np.int32), mask=~is_read | (epoch == _ABSENT)),
        "metadata": values.texts(text_at, text_size, is_read),
        "commit_time": as_times(np.where(is_read, values.numbers("i8", time_at), NO_TIME_MS)),
        "expire_time": as_times(np.where(is_read & has_expiry, values.numbers("i8", time_at + 8), NO_TIME_MS)),
        "topic_id": _topic_ids(values, tags_at + _TAG_BYTES, is_read & has_id),
    }


def _topic_ids(values: Packed, at: Ints, known: Flags) -> Any:
    """Return the topic ids at these places as Kafka prints them; few are different."""
    halves = np.stack([values.numbers("i8", at[known]), values.numbers("i8", at[known] + 8)], axis=1)
    ids = pa.py_buffer(halves.astype(">i8").tobytes())
    encoded = pa.Array.from_buffers(pa.binary(_TOPIC_ID_BYTES), len(halves), [None, ids]).dictionary_encode()
    texts = pa.array(map(topic_id_text, encoded.dictionary.to_pylist()), pa.string())
    places = np.zeros(len(at), np.int64)
    places[known] = encoded.indices.to_numpy()
    return texts.take(pa.array(places, mask=~known))


def commit_columns(value: Struct) -> dict[str, Any]:
    """Return the same columns of one commit that was read on its own; times in microseconds."""
    return {
        "committed_offset": value["offset"],
        "leader_epoch": None if value["leader_epoch"] == _ABSENT else value["leader_epoch"],
        "metadata": value["metadata"],
        "commit_time": microseconds(value["commit_timestamp"]),
        "expire_time": microseconds(value["expire_timestamp"]),
        "topic_id": topic_id_text(value["topic_id"].bytes),
    }


def as_times(milliseconds: Ints) -> Any:
    """Return a column of times; null where there is none."""
    none = (milliseconds == NO_TIME_MS) | (milliseconds < EARLIEST_MS) | (milliseconds > LATEST_MS)
    return pa.array(np.where(none, 0, milliseconds) * 1000, mask=none).cast(TIMESTAMP)
