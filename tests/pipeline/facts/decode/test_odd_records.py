"""Records that cannot be decoded: rows with their bytes and the problem, never an exception."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.pipeline.facts.decode.decoded_records import DecodedRecords
from kafka_groups.pipeline.facts.decode.record_types import RECORD_TYPES, RecordType
from kafka_groups.pipeline.facts.decode.records import decode
from tests.pipeline.facts.decode.golden_records import BY_NAME, GOLDEN, Golden, raw, row_of, rows_of

TOMBSTONES = [BY_NAME[f"{kind.name}-vNone-tombstone"] for kind in RECORD_TYPES]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (None, "the key cannot be read: the record has none"),
        (b"", "the key cannot be read: it is shorter than its type"),
        (b"\x00", "the key cannot be read: it is shorter than its type"),
        (b"\x00\x18\x00\x01g", "the key cannot be read: type 24 is not known"),
        (b"\xff\xff\x00\x01g", "the key cannot be read: type -1 is not known"),
        (
            b"\x00\x09\x00\x01g",
            "the key cannot be read: type 9 is not known",
        ),
        (
            b"\x00\x12\x00\x01g",
            "the key cannot be read: type 18 is not known",
        ),
        (b"\x00\x03\x00\x01gg", "the key cannot be read: 1 bytes are left over"),
        (b"\x00\x03\xff\xfe", "the key cannot be read: -2 bytes declared, 0 remaining"),
    ],
)
def test_an_unreadable_key_is_kept_with_its_error(key: bytes | None, problem: str) -> None:
    for value in [b"\x00\x00some", b"", None]:
        row = row_of(key, value)
        assert row["kind"] == "unknown"
        assert row["raw"] == {"key": key, "value": value, "problem": problem}
        assert (row["group"], row["value_version"], row["event"]) == (None, None, None)
        assert row["is_tombstone"] is (value is None)


@pytest.mark.parametrize(("key", "kind"), [(b"\x00\x18abc", 24), (b"\x00\x09", 9), (b"\x00", None), (None, None)])
def test_an_unreadable_key_keeps_its_type(key: bytes | None, kind: int | None) -> None:
    assert row_of(key, b"x")["record_type"] == kind


@pytest.mark.parametrize("version", [-1, 5, 32_767])
def test_a_value_of_an_unknown_version_keeps_the_fields_of_its_key(version: int) -> None:
    value = version.to_bytes(2, "big", signed=True) + bytes(40)
    rows = rows_of([(golden.key_bytes, value) for golden in TOMBSTONES])
    tombstones = rows_of([(golden.key_bytes, None) for golden in TOMBSTONES])
    names = ("group", "topic", "partition", "record_type")
    for row, tombstone in zip(rows, tombstones, strict=True):
        assert (row["kind"], row["value_version"], row["raw"]["value"]) == ("unknown", version, value)
        assert f"version {version} of the value is not known" in row["raw"]["problem"]
        assert [row[name] for name in names] == [tombstone[name] for name in names]


def test_nulls_in_a_members_record_are_empty() -> None:
    # A generation with one member, whose client id, host, subscription and assignment are null.
    member = b"\x00\x01m" + b"\xff\xff" * 3 + bytes(8) + b"\xff\xff\xff\xff" * 2
    value = b"\x00\x03" + b"\x00\x08consumer" + bytes(4) + b"\xff\xff" * 2 + bytes(8) + b"\x00\x00\x00\x01" + member
    row = row_of(b"\x00\x02\x00\x01g", value)
    assert (row["kind"], row["group"], row["event"]["event_type"]) == ("group_event", "g", "generation")
    [found] = row["event"]["members"]
    assert (found["member_id"], found["client_id"], found["client_host"]) == ("m", "", "")
    assert (found["topics"], found["assignment"]) == (None, None)


@pytest.mark.parametrize("kind", [kind for kind in RECORD_TYPES if kind.id > 1], ids=lambda kind: kind.name)
def test_a_value_of_nulls_of_any_length_never_fails(kind: RecordType) -> None:
    key = BY_NAME[f"{kind.name}-vNone-tombstone"].key_bytes
    rows = rows_of([(key, bytes([0, version]) + b"\xff" * size) for version in range(5) for size in range(60)])
    assert len(rows) == 300
    assert {row["kind"] for row in rows} <= {"group_event", "unknown"}


@pytest.mark.parametrize("value", [b"", b"\x00"])
def test_a_value_without_a_whole_version_is_unknown(value: bytes) -> None:
    row = row_of(TOMBSTONES[1].key_bytes, value)
    assert (row["kind"], row["value_version"], row["is_tombstone"], row["raw"]["value"]) == (
        "unknown",
        None,
        False,
        value,
    )


KEYS = st.one_of(st.none(), st.binary(max_size=30), st.sampled_from([golden.key_bytes for golden in GOLDEN]))
VALUES = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.builds(lambda version, rest: bytes([0, version]) + rest, st.integers(0, 4), st.binary(max_size=60)),
    st.sampled_from([golden.value_bytes for golden in GOLDEN]),
)


@given(st.lists(st.tuples(KEYS, VALUES), max_size=10))
def test_any_bytes_give_one_row_for_each_record(pairs: list[tuple[bytes | None, bytes | None]]) -> None:
    rows = rows_of(pairs)
    assert [row["source_offset"] for row in rows] == list(range(100, 100 + len(pairs)))
    for row, (key, value) in zip(rows, pairs, strict=True):
        assert row["kind"] in {"offset_commit", "group_event", "unknown"}
        assert (row["raw"] is not None) == (row["kind"] == "unknown")
        assert (row["event"] is not None) == (row["kind"] == "group_event")
        assert row["raw"] is None or (row["raw"]["key"], row["raw"]["value"]) == (key, value)


@given(st.sampled_from([golden for golden in GOLDEN if golden.value_bytes]), st.data())
def test_a_changed_byte_never_loses_a_record(golden: Golden, data: st.DataObject) -> None:
    value = bytearray(golden.value_bytes or b"")
    value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    assert row_of(golden.key_bytes, bytes(value))["group"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GroupMetadata", b"\x00\x03\x00\x00" + bytes(4) + b"\xff\xff\xff\xff" + bytes(8) + b"\x7f\xff\xff\xff"),
        ("ConsumerGroupTargetAssignmentMember", b"\x00\x00\xff\xff\xff\xff\x0f"),
        ("ConsumerGroupRegularExpression", b"\x00\x00\xff\xff\xff\xff\x0f"),
        ("ConsumerGroupMetadata", b"\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\x0f"),
        ("OffsetCommit", b"\x00\x03" + bytes(12) + b"\x7f\xff" + bytes(8)),
        ("OffsetCommit", b"\x00\x04" + bytes(12) + b"\xff\xff\xff\xff\x0f" + bytes(9)),
    ],
)
def test_a_huge_count_costs_no_memory(name: str, value: bytes) -> None:
    key = BY_NAME[f"{name}-vNone-tombstone"].key_bytes
    row_of(key, value)  # compiles the reader
    tracemalloc.start()
    row = row_of(key, value)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert row["kind"] == "unknown"
    assert peak < 1_000_000


def test_an_empty_chunk_is_an_empty_batch() -> None:
    batch = decode(raw([]), "c1", 7)
    assert batch.num_rows == 0
    assert batch.schema == DecodedRecords.schema()
