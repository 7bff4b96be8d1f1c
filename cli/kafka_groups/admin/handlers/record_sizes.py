"""Estimates of the bytes of the records that a coordinator writes for a change.

A coordinator writes the records of a request as one batch for each partition of `__consumer_offsets`, and a batch may
have at most `message.max.bytes` (1,048,588 by default). Requests that write are split below that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from kafka_groups.model import CommittedOffset, TopicPartition

T = TypeVar("T")

# Half of the default limit: records of later versions have more fields, and brokers may have a lower limit.
MAX_BATCH_BYTES: Final = 500_000
# The frame of a record, and the fixed fields of its key (20 and 10 bytes), rounded up.
_KEY_BYTES: Final = 40
# Offset, leader epoch, times, and topic id of a commit's value, rounded up.
_VALUE_BYTES: Final = 60


def tombstone_bytes(group: str, key: TopicPartition) -> int:
    """Return the bytes of the record that deletes a commit: it has a key alone (OffsetCommitKey.json)."""
    return _KEY_BYTES + _text_bytes(group) + _text_bytes(key.topic)


def commit_bytes(group: str, key: TopicPartition, commit: CommittedOffset) -> int:
    """Return the bytes of the record of a commit (OffsetCommitKey.json, OffsetCommitValue.json)."""
    return tombstone_bytes(group, key) + _VALUE_BYTES + _text_bytes(commit.metadata)


def first_batch(items: Iterable[T], size_of: Callable[[T], int]) -> list[T]:
    """Return the first items whose records fit into one batch, and at least one item."""
    batch: list[T] = []
    size = 0
    for item in items:
        size += size_of(item)
        if batch and size > MAX_BATCH_BYTES:
            break
        batch.append(item)
    return batch


def split_batches(items: Sequence[T], size_of: Callable[[T], int], *, most: int) -> Iterator[Sequence[T]]:
    """Yield the items in parts whose records fit into one batch, of at most `most` items each."""
    at = 0
    while at < len(items):
        part = first_batch(items[at : at + most], size_of)
        yield part
        at += len(part)


def _text_bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
