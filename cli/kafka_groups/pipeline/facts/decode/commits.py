"""The decoder of commits, which are nearly all records: numpy decodes many of them at once.

Each field is read at its presumed position in all rows, whatever these contain. Then the sizes show for which rows the
positions were right. `record_types` reads the other rows. Both give the same columns, and tests compare them.

A value (OffsetCommitValue.json) is: version int16, offset int64, leader_epoch int32 (since version 3), metadata string,
commit_timestamp int64, expire_timestamp int64 (version 1 only), and in version 4 the tagged fields: none, or topic_id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_groups.pipeline.facts.decode.conversions import NO_TIME_MS, microseconds, timestamp_column, topic_id_text
from kafka_groups.pipeline.facts.decode.record_types import COMMIT_TYPES, PREFIX_BYTES
from kafka_groups.pipeline.frames.arrays import Flags, Ints
from kafka_groups.protocol import Struct, decode_visibly

_INT16_BYTES: Final = 2
_INT32_BYTES: Final = 4
_INT64_BYTES: Final = 8
_LEADER_EPOCH_SINCE: Final = 3
_EXPIRE_TIMESTAMP_VERSION: Final = 1
_COMPACT_VERSION: Final = 4  # The newest version, the only one with compact strings and tagged fields.
_NO_EPOCH: Final = -1
# A compact length is a varint of its value plus one: seven bits in each byte, the lowest first. All bytes but the last
# one have this bit. Metadata of 127 bytes and more has a length of two bytes; the default limit is 4096 bytes.
_MORE_FOLLOWS: Final = 0x80
_BITS_OF_VARINT_BYTE: Final = 7
_TOPIC_ID_BYTES: Final = 16
# The bytes before a topic id: one tagged field follows, its tag is 0, and it has sixteen bytes.
_TOPIC_ID_TAG: Final = int.from_bytes([1, 0, _TOPIC_ID_BYTES])
_TAG_BYTES: Final = 3


@dataclass(frozen=True, slots=True)
class PackedBytes:
    """A column of byte strings in one array: row i is `data[starts[i]:ends[i]]`, and a null row is empty."""

    data: npt.NDArray[np.uint8]
    starts: Ints
    ends: Ints

    def read_numbers(self, layout: str, positions: Ints) -> Ints:
        """Return the big-endian number at each position of `data`; the layout is u1, i2, i4 or i8.

        At a position outside of the data the number is undefined.
        """
        width = np.dtype(layout).itemsize
        if len(self.data) < width:
            return np.zeros(len(positions), np.int64)
        last_position = len(self.data) - width
        # Element i is the number that starts at byte i, so the elements overlap. Nothing is copied.
        numbers: Any = np.ndarray(last_position + 1, f">{layout}", self.data.data, strides=(1,))
        values: Ints = numbers[np.clip(positions, 0, last_position)].astype(np.int64)
        return values

    def read_strings(self, positions: Ints, sizes: Ints, is_known: Flags) -> Any:
        """Return an Arrow column of the strings at these positions of `data`, with sizes in bytes.

        A row is null where `is_known` is false. Bytes that are not UTF-8 get visible escapes.
        """
        sizes = np.where(is_known, sizes, 0)
        offsets = np.zeros(len(positions) + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        filled_rows = np.flatnonzero(sizes)
        # The byte at index p of the result comes from index p + shift of `data`.
        shifts = np.repeat(positions[filled_rows] - offsets[filled_rows], sizes[filled_rows])
        characters = self.data[shifts + np.arange(offsets[-1])]
        validity = pa.array(is_known).buffers()[1]
        buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(characters)]
        binary_column = pa.Array.from_buffers(pa.binary(), len(positions), buffers)
        try:
            return binary_column.cast(pa.string())
        except pa.ArrowInvalid:  # Some row is not UTF-8.
            texts = [None if data is None else decode_visibly(data) for data in binary_column.to_pylist()]
            return pa.array(texts, pa.string())


def pack(column: Any) -> PackedBytes:
    """Return an Arrow column of large_binary as PackedBytes, without a copy of the bytes."""
    _, offsets, data = column.buffers()
    # A slice of a column has the buffers of the entire column.
    value_bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return PackedBytes(content, value_bounds[:-1], value_bounds[1:])


def read_keys(keys: PackedBytes) -> tuple[Flags, dict[str, Any]]:
    """Return a mask of the keys of commits, and the Arrow columns of all keys by name.

    The columns have a row for each key; rows of other keys are undefined.
    """
    record_type = keys.read_numbers("i2", keys.starts)
    group_size_at = keys.starts + PREFIX_BYTES
    group_size = keys.read_numbers("i2", group_size_at)
    group_at = group_size_at + _INT16_BYTES
    topic_size_at = group_at + group_size
    topic_size = keys.read_numbers("i2", topic_size_at)
    topic_at = topic_size_at + _INT16_BYTES
    partition_at = topic_at + topic_size
    has_sizes = (group_size >= 0) & (topic_size >= 0)
    is_whole = partition_at + _INT32_BYTES == keys.ends
    is_read = np.isin(record_type, list(COMMIT_TYPES)) & has_sizes & is_whole
    return is_read, {
        "record_type": pa.array(record_type.astype(np.int16)),
        "group": keys.read_strings(group_at, group_size, is_read),
        "topic": keys.read_strings(topic_at, topic_size, is_read),
        "partition": pa.array(keys.read_numbers("i4", partition_at).astype(np.int32)),
    }


class _Layout(NamedTuple):
    """The positions of the fields of each value in the packed bytes, if it is the value of a commit.

    `metadata_size` is in bytes. `is_supported` is false for a version or a length that only `record_types` reads.
    """

    version: Ints
    offset_at: Ints
    has_epoch: Flags
    epoch_at: Ints
    metadata_at: Ints
    metadata_size: Ints
    time_at: Ints
    has_expiry: Flags
    tags_at: Ints
    is_supported: Flags


def _find_layout(values: PackedBytes) -> _Layout:
    """Return the layout of each value, computed from its version and the length of its metadata."""
    version = values.read_numbers("i2", values.starts)
    has_epoch = version >= _LEADER_EPOCH_SINCE
    has_expiry = version == _EXPIRE_TIMESTAMP_VERSION
    is_compact = version == _COMPACT_VERSION
    offset_at = values.starts + PREFIX_BYTES
    epoch_at = offset_at + _INT64_BYTES
    size_at = epoch_at + _INT32_BYTES * has_epoch
    first_byte = values.read_numbers("u1", size_at)
    second_byte = values.read_numbers("u1", size_at + 1)
    has_two_bytes = first_byte >= _MORE_FOLLOWS
    two_byte_size = first_byte & (_MORE_FOLLOWS - 1) | second_byte << _BITS_OF_VARINT_BYTE
    compact_size = np.where(has_two_bytes, two_byte_size, first_byte) - 1
    has_three_bytes = is_compact & has_two_bytes & (second_byte >= _MORE_FOLLOWS)
    metadata_size = np.where(is_compact, compact_size, values.read_numbers("i2", size_at))
    metadata_at = size_at + np.where(is_compact, 1 + has_two_bytes, _INT16_BYTES)
    time_at = metadata_at + metadata_size
    return _Layout(
        version=version,
        offset_at=offset_at,
        has_epoch=has_epoch,
        epoch_at=epoch_at,
        metadata_at=metadata_at,
        metadata_size=metadata_size,
        time_at=time_at,
        has_expiry=has_expiry,
        tags_at=time_at + _INT64_BYTES + _INT64_BYTES * has_expiry,
        is_supported=(version >= 0) & (version <= _COMPACT_VERSION) & ~has_three_bytes,
    )


def read_values(values: PackedBytes, is_wanted: Flags) -> tuple[Flags, dict[str, Any]]:
    """Return a mask of the wanted values that were read, and the Arrow columns of all values by name.

    The columns have a row for each value; a value that was not read is null in all of them.
    """
    layout = _find_layout(values)
    is_compact = layout.version == _COMPACT_VERSION
    tags_size = values.ends - layout.tags_at
    # Numpy has no three-byte integer. Four bytes are read from one byte before the tags, and the lower three are used.
    tag = values.read_numbers("i4", layout.tags_at - 1) & (1 << 8 * _TAG_BYTES) - 1
    has_topic_id = is_compact & (tags_size == _TAG_BYTES + _TOPIC_ID_BYTES) & (tag == _TOPIC_ID_TAG)
    has_zero_tags = (tags_size == 1) & (values.read_numbers("u1", layout.tags_at) == 0)
    has_no_tags = np.where(is_compact, has_zero_tags, tags_size == 0)
    # The fields end where the value ends, or the positions are wrong.
    is_whole = has_topic_id | has_no_tags
    is_read = is_wanted & layout.is_supported & (layout.metadata_size >= 0) & is_whole
    leader_epoch = np.where(layout.has_epoch, values.read_numbers("i4", layout.epoch_at), _NO_EPOCH)
    commit_ms = np.where(is_read, values.read_numbers("i8", layout.time_at), NO_TIME_MS)
    expire_timestamp_ms = values.read_numbers("i8", layout.time_at + _INT64_BYTES)
    expire_ms = np.where(is_read & layout.has_expiry, expire_timestamp_ms, NO_TIME_MS)
    return is_read, {
        "value_version": pa.array(layout.version.astype(np.int16), mask=~is_read),
        "committed_offset": pa.array(values.read_numbers("i8", layout.offset_at), mask=~is_read),
        "leader_epoch": pa.array(leader_epoch.astype(np.int32), mask=~is_read | (leader_epoch == _NO_EPOCH)),
        "metadata": values.read_strings(layout.metadata_at, layout.metadata_size, is_read),
        "commit_time": timestamp_column(commit_ms),
        "expire_time": timestamp_column(expire_ms),
        "topic_id": _read_topic_ids(values, layout.tags_at + _TAG_BYTES, is_read & has_topic_id),
    }


def _read_topic_ids(values: PackedBytes, positions: Ints, has_topic_id: Flags) -> Any:
    """Return an Arrow column of the topic ids at these positions, as Kafka prints them; null where there is none."""
    first_halves = values.read_numbers("i8", positions[has_topic_id])
    second_halves = values.read_numbers("i8", positions[has_topic_id] + _INT64_BYTES)
    topic_ids = np.stack([first_halves, second_halves], axis=1).astype(">i8")
    id_column = pa.Array.from_buffers(
        pa.binary(_TOPIC_ID_BYTES), len(topic_ids), [None, pa.py_buffer(topic_ids.tobytes())]
    )
    # A chunk has few different ids, and only these are rendered as text.
    distinct_ids = id_column.dictionary_encode()
    distinct_texts = pa.array(map(topic_id_text, distinct_ids.dictionary.to_pylist()), pa.string())
    indices = np.zeros(len(positions), np.int64)
    indices[has_topic_id] = distinct_ids.indices.to_numpy()
    return distinct_texts.take(pa.array(indices, mask=~has_topic_id))


def commit_columns(value: Struct) -> dict[str, Any]:
    """Return the columns of `read_values`, without the version, for one value that `record_types` has read.

    Times are µs since 1970.
    """
    return {
        "committed_offset": value["offset"],
        "leader_epoch": None if value["leader_epoch"] == _NO_EPOCH else value["leader_epoch"],
        "metadata": value["metadata"],
        "commit_time": microseconds(value["commit_timestamp"]),
        "expire_time": microseconds(value["expire_timestamp"]),
        "topic_id": topic_id_text(value["topic_id"].bytes),
    }
