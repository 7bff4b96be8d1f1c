"""Assignments of classic members: what is read as Kafka reads it, and what is unreadable rather than empty."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.admin.handlers.member_assignment import decode_assignment

NOTHING = b"\xff\xff\xff\xff"


def packed(*topics: tuple[str | bytes, tuple[int, ...]], version: int = 0, user_data: bytes = NOTHING) -> bytes:
    """Return an assignment as a client writes it; a name may be bytes that are not UTF-8."""
    out = version.to_bytes(2, "big", signed=True) + len(topics).to_bytes(4, "big")
    for topic, partitions in topics:
        name = topic if isinstance(topic, bytes) else topic.encode()
        out += len(name).to_bytes(2, "big") + name + len(partitions).to_bytes(4, "big")
        out += b"".join(partition.to_bytes(4, "big", signed=True) for partition in partitions)
    return out + user_data


ASSIGNMENT = packed(("orders", (1, 0)), ("payments", (3,)))


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 99])
@pytest.mark.parametrize("user_data", [NOTHING, b"\0\0\0\0", b"\0\0\0\2ab"])
def test_every_version_is_read_with_any_user_data(version: int, user_data: bytes) -> None:
    assert decode_assignment(packed(("orders", (1, 0)), version=version, user_data=user_data)) == [("orders", [1, 0])]


@pytest.mark.parametrize("no_partitions", [b"", packed(), packed(version=4, user_data=NOTHING + b"more")])
def test_no_bytes_and_no_topics_are_no_partitions(no_partitions: bytes) -> None:
    assert decode_assignment(no_partitions) == []


@pytest.mark.parametrize("size", range(1, len(ASSIGNMENT)))
def test_a_truncated_assignment_is_unreadable(size: int) -> None:
    assert decode_assignment(ASSIGNMENT[:size]) is None


@pytest.mark.parametrize(
    "foreign",
    [
        b"\0",
        b"[]",
        b"{}",
        b'{"u":[1]}',
        json.dumps({"topics": {"orders": [0, 1, 2]}, "generation": 7}).encode(),
        b"not an assignment at all",
        packed(("orders", (0,)), version=-1),
        packed((b"\xff\xfe", (0,))),
        packed(("", (0,))),
        b"\0\0" + NOTHING + NOTHING,
        b"\0\0\0\0\0\1\0\1a" + NOTHING + NOTHING,
        b"\0\0\0\0\0\1\xff\xff\0\0\0\0" + NOTHING,
        packed(("orders", (0,)), user_data=b"\xff\xff\xff\xfe"),
        packed(("orders", (0,)), user_data=b"\0\0\0\5ab"),
        packed(user_data=NOTHING + b"more"),
        bytes(64),
    ],
)
def test_bytes_of_another_format_are_unreadable(foreign: bytes) -> None:
    assert decode_assignment(foreign) is None


def test_bytes_behind_partitions_are_ignored_as_kafka_does() -> None:
    assert decode_assignment(ASSIGNMENT + b"more") == decode_assignment(ASSIGNMENT)


@given(st.binary(max_size=80))
def test_any_bytes_are_partitions_or_unreadable(anything: bytes) -> None:
    topics = decode_assignment(anything)
    assert topics is None or all(topic for topic, _ in topics)
