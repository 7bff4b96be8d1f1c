"""Commits decoded many at once, compared with the same commits decoded one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.pipeline.facts.decode.commits import commit_columns
from kafka_groups.pipeline.facts.decode.conversions import topic_id_text
from kafka_groups.pipeline.facts.decode.record_schemas import OFFSET_COMMIT
from kafka_groups.pipeline.facts.decode.record_types import RECORD_TYPES, read_value
from kafka_groups.protocol import compile_writer
from tests.pipeline.facts.decode.golden_records import row_of, rows_of

KEY = b"\x00\x01\x00\x02g1\x00\x02t1\x00\x00\x00\x05"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOPIC_ID = UUID("01234567-89ab-cdef-0123-456789abcdef")

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.one_of(st.integers(1_600_000_000_000, 1_900_000_000_000), st.just(-1), INT64)
TEXTS = st.one_of(
    st.just(""),
    st.text(max_size=20),
    st.integers(120, 135).map("m".__mul__),
    st.integers(16_370, 16_400).map("w".__mul__),
)
COMMITS = st.fixed_dictionaries(
    {
        "offset": INT64,
        "leader_epoch": st.one_of(st.just(-1), st.integers(0, 2**31 - 1)),
        "metadata": TEXTS,
        "commit_timestamp": TIMES,
        "expire_timestamp": TIMES,
        "topic_id": st.sampled_from([UUID(int=0), TOPIC_ID]),
    }
)


def _written(version: int, commit: dict[str, Any]) -> bytes:
    out = bytearray(version.to_bytes(2, "big"))
    compile_writer(OFFSET_COMMIT, version=version, flexible=version == 4)(out, commit)
    return bytes(out)


def _with_tags(value: bytes, tags: bytes) -> bytes:
    return value[:-1] + tags


VALUES = st.one_of(
    st.builds(_written, st.integers(0, 4), COMMITS),
    # A tag that nobody knows, alone and beside the topic id; a topic id of zeros; a length longer than need be.
    st.builds(_written, st.just(4), COMMITS.map(lambda commit: {**commit, "topic_id": UUID(int=0)})).flatmap(
        lambda value: st.sampled_from(
            [
                _with_tags(value, b"\x01\x05\x00"),
                _with_tags(value, b"\x01\x05\x10" + bytes(16)),
                _with_tags(value, b"\x01\x00\x10" + bytes(16)),
                _with_tags(value, b"\x02\x00\x10" + TOPIC_ID.bytes + b"\x4d\x03abc"),
                _with_tags(value, b"\x81\x00\x00\x10" + TOPIC_ID.bytes),
            ]
        )
    ),
    st.just(b"\x00\x04" + bytes(12) + b"\x83\x00ab" + bytes(8) + b"\x00"),
    st.just(b"\x00\x03" + bytes(12) + b"\x00\x02\xff\xc3" + bytes(8)),
)


NAMES = ("committed_offset", "leader_epoch", "metadata", "commit_time", "expire_time", "topic_id")


def _columns(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _microseconds(row[name]) if name.endswith("_time") else row[name] for name in NAMES}


def _read_alone(value: bytes) -> dict[str, Any]:
    return commit_columns(read_value(RECORD_TYPES[1], value))


def _microseconds(time: datetime | None) -> int | None:
    return None if time is None else (time - EPOCH) // timedelta(microseconds=1)


@pytest.mark.slow
@given(st.lists(VALUES, max_size=10))
def test_commits_read_at_once_equal_commits_read_one_by_one(values: list[bytes]) -> None:
    rows = rows_of([(KEY, value) for value in values])
    assert [_columns(row) for row in rows] == [_read_alone(value) for value in values]
    assert {row["kind"] for row in rows} <= {"offset_commit"}


@given(st.lists(st.one_of(st.none(), st.binary(max_size=60), VALUES), max_size=8), st.integers(0, 4))
def test_other_bytes_between_commits_do_not_change_the_commits(values: list[bytes | None], version: int) -> None:
    good = _written(version, {"offset": 5, "metadata": "here", "commit_timestamp": 1_700_000_000_000})
    mixed = [value for pair in zip(values, [good] * len(values), strict=True) for value in pair]
    rows = rows_of([(KEY, value) for value in mixed])
    assert [_columns(row) for row in rows[1::2]] == [_read_alone(good)] * len(values)


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 4096, 16_382])
def test_commits_with_metadata_of_usual_sizes_are_read_at_once(version: int, size: int, mocker: Any) -> None:
    one_by_one = mocker.patch("kafka_groups.pipeline.facts.decode.records.read_value")
    value = _written(version, {"offset": 5, "metadata": "m" * size, "topic_id": TOPIC_ID})
    assert row_of(KEY, value)["metadata"] == "m" * size
    one_by_one.assert_not_called()


def test_a_tombstone_is_a_commit_without_an_offset() -> None:
    row = row_of(KEY, None)
    assert (row["kind"], row["is_tombstone"], row["group"], row["topic"], row["partition"]) == (
        "offset_commit",
        True,
        "g1",
        "t1",
        5,
    )
    assert _columns(row) == dict.fromkeys(NAMES)
    assert row["value_version"] is None


def test_metadata_that_is_not_utf_8_has_visible_escapes() -> None:
    odd = b"\x00\x03" + bytes(12) + b"\x00\x02\xff\xc3" + bytes(8)
    fine = _written(4, {"metadata": "grüppe"})
    assert [row["metadata"] for row in rows_of([(KEY, odd), (KEY, fine), (KEY, None)])] == [
        "\\xff\\xc3",
        "grüppe",
        None,
    ]


def test_names_that_are_not_utf_8_have_visible_escapes() -> None:
    row = row_of(b"\x00\x01\x00\x02\xffg\x00\x02t\xfe\x00\x00\x00\x05", None)
    assert (row["group"], row["topic"]) == ("\\xffg", "t\\xfe")


def test_a_topic_id_is_what_kafkas_tools_print() -> None:
    assert row_of(KEY, _written(4, {"topic_id": TOPIC_ID}))["topic_id"] == "ASNFZ4mrze8BI0VniavN7w"


def test_topic_ids_with_an_equal_half_are_different() -> None:
    ids = [UUID(int=(first << 64) + second) for first, second in [(7, 1), (7, 2), (8, 1), (7, 1)]]
    rows = rows_of([(KEY, _written(4, {"topic_id": topic_id})) for topic_id in ids])
    assert [row["topic_id"] for row in rows] == [topic_id_text(topic_id.bytes) for topic_id in ids]


@pytest.mark.parametrize("milliseconds", [-1, 2**63 - 1, -(2**63), 253_402_300_800_000])
def test_an_unknown_or_impossible_time_is_null(milliseconds: int) -> None:
    row = row_of(KEY, _written(1, {"commit_timestamp": milliseconds, "expire_timestamp": milliseconds}))
    assert (row["commit_time"], row["expire_time"]) == (None, None)


def test_a_commit_is_null_in_the_columns_of_other_kinds() -> None:
    [row] = rows_of([(KEY, _written(4, {"offset": 1}))])
    assert (row["event"], row["raw"], row["gap"]) == (None, None, None)


def test_a_legacy_key_is_a_key_of_a_commit() -> None:
    assert row_of(b"\x00\x00" + KEY[2:], _written(1, {"offset": 9}))["committed_offset"] == 9


@pytest.mark.parametrize(
    "value",
    [
        # Null metadata, and after a time that is a byte too short what would do as a topic id.
        b"\x00\x04" + bytes(12) + b"\x00" + bytes(7) + b"\x01\x00\x10" + bytes(16),
        b"\x00\x03" + bytes(12) + b"\xff\xfe" + bytes(8),
        b"\x00\x00" + bytes(8) + b"\xff\xfe" + bytes(8),
        # A length of three bytes, of which the first two would do if the time were a byte shorter.
        b"\x00\x04" + bytes(12) + b"\x83\x80\x01" + b"m" * 16_386 + bytes(7) + b"\x01\x00\x10" + bytes(16),
    ],
)
def test_a_value_that_only_resembles_a_commit_is_unknown(value: bytes) -> None:
    row = row_of(KEY, value)
    assert (row["kind"], row["metadata"], row["raw"]["value"]) == ("unknown", None, value)


@pytest.mark.parametrize(
    ("version", "value"),
    [
        (0, bytes(7) + b"\x05" + b"\xff\xff" + bytes(8)),
        (1, bytes(7) + b"\x05" + b"\xff\xff" + bytes(16)),
        (3, bytes(7) + b"\x05" + bytes(4) + b"\xff\xff" + bytes(8)),
        (4, bytes(7) + b"\x05" + bytes(4) + b"\x00" + bytes(8) + b"\x00"),
        (4, bytes(7) + b"\x05" + bytes(4) + b"\x00" + bytes(8) + b"\x01\x00\x10" + TOPIC_ID.bytes),
    ],
)
def test_null_metadata_is_empty_and_the_commit_is_read(version: int, value: bytes) -> None:
    rows = rows_of([(KEY, bytes([0, version]) + value), (KEY, _written(4, {"offset": 6, "metadata": "m"}))])
    assert [(row["kind"], row["committed_offset"], row["metadata"]) for row in rows] == [
        ("offset_commit", 5, ""),
        ("offset_commit", 6, "m"),
    ]
    assert (rows[0]["value_version"], rows[0]["raw"]) == (version, None)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (b"\xff\xff" + b"\x00\x02t1", ("", "t1")),
        (b"\x00\x02g1" + b"\xff\xff", ("g1", "")),
        (b"\xff\xff" + b"\xff\xff", ("", "")),
    ],
)
def test_a_null_in_a_key_is_an_empty_name(key: bytes, names: tuple[str, str]) -> None:
    row = row_of(b"\x00\x01" + key + b"\x00\x00\x00\x05", _written(4, {"offset": 6}))
    assert (row["kind"], row["group"], row["topic"], row["partition"]) == ("offset_commit", *names, 5)
    assert row["committed_offset"] == 6


def test_a_key_that_only_resembles_that_of_a_commit_is_unknown() -> None:
    # With a group of -3 bytes, the topic's length would be read out of the type and the group's.
    key = b"\x00\x01\xff\xfd" + bytes(514)
    assert (row_of(key, None)["kind"], row_of(key, None)["group"]) == ("unknown", None)
