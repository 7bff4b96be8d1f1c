"""The assignments of members: the bytes of a classic consumer (ConsumerProtocolAssignment.json), or topics by id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_groups.model import Assignment
from kafka_groups.protocol import INT16, INT32, Cursor, SchemaError, Struct, compile_reader, compile_writer
from kafka_groups.protocol.messages.describe_groups import ASSIGNMENT

# The versions that Kafka defines. A later one may have more fields at its end.
_NEWEST_VERSION: Final = 3
_NO_USER_DATA: Final = -1
_read_version = INT16.read(False, False)
_read_size = INT32.read(False, False)
_read_assignment = compile_reader(ASSIGNMENT, version=0, flexible=False)
_write_assignment = compile_writer(ASSIGNMENT, version=0, flexible=False)


def decode_assignment(packed: bytes) -> list[tuple[str, Iterable[int]]] | None:
    """Return the topics in a member's assignment with their partitions: [] without bytes, None if it is unreadable.

    Clients write these bytes, and some write a format of their own. Bytes behind the end are ignored, as Kafka does,
    except after an assignment without partitions: then another format is more likely than a member without work.
    """
    if not packed:
        return []
    cursor = Cursor(packed)
    try:
        version = _read_version(cursor)
        start = cursor.position
        assignment = _read_assignment(cursor)
        end = cursor.position
        _skip_user_data(cursor)
        # Names that are not UTF-8 and negative counts are not written as they were read.
        is_readable = version >= 0 and _encode(assignment) == packed[start:end]
    except SchemaError:
        return None
    topics = assignment["assigned_partitions"]
    is_followed = version <= _NEWEST_VERSION and cursor.remaining() > 0
    if not is_readable or not all(topic["topic"] for topic in topics) or (is_followed and not topics):
        return None
    return [(topic["topic"], topic["partitions"]) for topic in topics]


def _encode(assignment: Struct) -> bytes:
    out = bytearray()
    _write_assignment(out, assignment)
    return bytes(out)


def _skip_user_data(cursor: Cursor) -> None:
    size = _read_size(cursor)
    if size != _NO_USER_DATA:
        cursor.take(size)


def named_assignments(topics: Iterable[Struct]) -> tuple[Assignment, ...]:
    """Return an assignment (TopicPartitions of a describe response); topics without a name are last, with their ids."""
    rows = list(topics)
    named = sort_assignments((row["topic_name"], row["partitions"]) for row in rows if row["topic_name"])
    unnamed = (
        Assignment(topic="", topic_id=row["topic_id"], partitions=tuple(sorted(row["partitions"])))
        for row in rows
        if not row["topic_name"]
    )
    return (*named, *unnamed)


def sort_assignments(topics: Iterable[tuple[str, Iterable[int]]]) -> tuple[Assignment, ...]:
    """Return topics by name with their partitions, ascending. Each partition is there once."""
    partitions_of: dict[str, set[int]] = {}
    for topic, partitions in topics:
        partitions_of.setdefault(topic, set()).update(partitions)
    return tuple(
        Assignment(topic=topic, partitions=tuple(sorted(partitions)))
        for topic, partitions in sorted(partitions_of.items())
    )
