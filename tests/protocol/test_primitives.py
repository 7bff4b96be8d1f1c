"""Numbers, booleans, UUIDs, strings and bytes: every expected byte is written out, from Kafka's guide and KIP-482."""

from __future__ import annotations

import io
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kio.serial import writers as kio_writers
from kio.static.primitive import uvarint

from kafka_groups.protocol import (
    BOOL,
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID_,
    VISIBLE_STRING,
    Cursor,
    Primitive,
    SchemaError,
    read_unsigned_varint,
    write_unsigned_varint,
)
from tests.protocol.coding import read, written

STABLE = settings(derandomize=True, deadline=None, max_examples=300, database=None)
A_UUID = UUID("00112233-4455-6677-8899-aabbccddeeff")


# ---- numbers, booleans, ids

NUMBERS = [
    (INT8, -128, "80"),
    (INT8, 127, "7f"),
    (INT16, -32768, "8000"),
    (INT16, 258, "0102"),
    (UINT16, 65535, "ffff"),
    (INT32, -2147483648, "80000000"),
    (INT32, 16909060, "01020304"),
    (INT64, -9223372036854775808, "8000000000000000"),
    (INT64, 72623859790382856, "0102030405060708"),
    (BOOL, False, "00"),
    (BOOL, True, "01"),
    (UUID_, A_UUID, "00112233445566778899aabbccddeeff"),
]


@pytest.mark.parametrize(("kind", "value", "data"), NUMBERS)
@pytest.mark.parametrize("flexible", [False, True])
def test_a_number_has_its_size_and_its_high_byte_first(kind: Primitive, value: Any, data: str, flexible: bool) -> None:
    assert written(kind, value, flexible=flexible) == data
    assert read(kind, data + "ee", flexible=flexible) == (value, 1)


@pytest.mark.parametrize(("kind", "data"), [(kind, data) for kind, _, data in NUMBERS])
def test_a_number_without_all_its_bytes_is_refused(kind: Primitive, data: str) -> None:
    with pytest.raises(SchemaError):
        read(kind, data[:-2])


@pytest.mark.parametrize(
    ("kind", "value"), [(INT8, 128), (INT16, -32769), (INT32, 2147483648), (INT64, 2**63), (INT32, None), (INT32, "7")]
)
def test_a_number_that_does_not_fit_is_refused(kind: Primitive, value: Any) -> None:
    with pytest.raises(SchemaError, match=f"is not an {kind.name}"):
        written(kind, value)


def test_any_byte_but_zero_is_true() -> None:
    assert read(BOOL, "ff") == (True, 0)


# ---- variable-length numbers

VARINTS = [
    (0, "00"),
    (1, "01"),
    (127, "7f"),
    (128, "8001"),
    (300, "ac02"),
    (16383, "ff7f"),
    (16384, "808001"),
    (2097151, "ffff7f"),
    (2097152, "80808001"),
    (268435455, "ffffff7f"),
    (268435456, "8080808001"),
    (2147483647, "ffffffff07"),
    (4294967295, "ffffffff0f"),
]


@pytest.mark.parametrize(("value", "data"), VARINTS)
def test_a_variable_length_number_takes_a_byte_for_every_seven_bits(value: int, data: str) -> None:
    out = bytearray()
    write_unsigned_varint(out, value)
    cursor = Cursor(bytes.fromhex(data + "ee"))
    assert (out.hex(), read_unsigned_varint(cursor), cursor.remaining()) == (data, value, 1)


def test_a_variable_length_number_may_be_longer_than_it_needs() -> None:
    assert read_unsigned_varint(Cursor(bytes.fromhex("8180808000"))) == 1


@pytest.mark.parametrize("data", ["", "80", "ffffffff", "8080808080", "808080808001", "ff" * 100])
def test_a_variable_length_number_that_is_not_terminated_is_refused(data: str) -> None:
    with pytest.raises(SchemaError, match="not terminated"):
        read_unsigned_varint(Cursor(bytes.fromhex(data)))


@pytest.mark.parametrize("data", ["8080808010", "ffffffff1f", "ffffffff7f"])
def test_a_variable_length_number_of_more_than_32_bits_is_refused(data: str) -> None:
    with pytest.raises(SchemaError, match="32 bits"):
        read_unsigned_varint(Cursor(bytes.fromhex(data)))


@STABLE
@given(value=st.integers(0, 2**32 - 1))
@example(value=2**31)
def test_variable_length_numbers_are_those_of_kio(value: int) -> None:
    written_bytes, theirs = bytearray(), io.BytesIO()
    write_unsigned_varint(written_bytes, value)
    kio_writers.write_unsigned_varint(theirs, uvarint(value))
    assert bytes(written_bytes) == theirs.getvalue()
    assert read_unsigned_varint(Cursor(bytes(written_bytes))) == value


# ---- strings and bytes

SIZED = [
    (STRING, "", False, "0000"),
    (STRING, "", True, "01"),
    (STRING, "é✓😀", False, "0009c3a9e29c93f09f9880"),
    (STRING, "é✓😀", True, "0ac3a9e29c93f09f9880"),
    (STRING, "x" * 126, True, "7f" + "78" * 126),
    (STRING, "x" * 127, True, "8001" + "78" * 127),
    (STRING, "x" * 16383, True, "808001" + "78" * 16383),
    (STRING, "x" * 32767, False, "7fff" + "78" * 32767),
    (STRING, "x" * 32767, True, "808002" + "78" * 32767),
    (BYTES, b"", False, "00000000"),
    (BYTES, b"", True, "01"),
    (BYTES, b"\x00\xff", False, "0000000200ff"),
    (BYTES, b"\x00\xff", True, "0300ff"),
    (BYTES, bytes(40000), False, "00009c40" + "00" * 40000),
]


@pytest.mark.parametrize(("kind", "value", "flexible", "data"), SIZED)
@pytest.mark.parametrize("nullable", [False, True])
def test_a_string_is_its_size_in_bytes_then_its_bytes(
    kind: Primitive, value: Any, flexible: bool, data: str, nullable: bool
) -> None:
    assert written(kind, value, flexible=flexible, nullable=nullable) == data
    assert read(kind, data + "ee", flexible=flexible, nullable=nullable) == (value, 1)


NULLS = [(STRING, False, "ffff"), (STRING, True, "00"), (BYTES, False, "ffffffff"), (BYTES, True, "00")]


@pytest.mark.parametrize(("kind", "flexible", "data"), NULLS)
def test_null_differs_from_empty_where_it_is_allowed(kind: Primitive, flexible: bool, data: str) -> None:
    assert written(kind, None, flexible=flexible, nullable=True) == data
    assert read(kind, data, flexible=flexible, nullable=True) == (None, 0)


@pytest.mark.parametrize(("kind", "flexible", "data"), NULLS)
def test_null_is_not_written_where_it_is_not_allowed_and_is_read_as_empty(
    kind: Primitive, flexible: bool, data: str
) -> None:
    with pytest.raises(SchemaError, match="null"):
        written(kind, None, flexible=flexible)
    assert read(kind, data + "ee", flexible=flexible) == (kind.default, 1)


@pytest.mark.parametrize("flexible", [False, True])
def test_a_string_longer_than_kafka_reads_is_refused_before_it_is_sent(flexible: bool) -> None:
    with pytest.raises(SchemaError, match="a string of 32768 bytes is too long; the limit is 32767 bytes"):
        written(STRING, "é" * 16384, flexible=flexible)


def test_an_argument_that_was_not_utf8_is_refused_before_it_is_sent() -> None:
    with pytest.raises(SchemaError, match="not UTF-8"):
        written(STRING, "group-\udcff")


@pytest.mark.parametrize(
    ("data", "seen"),
    [("ff", "\\xff"), ("61ff62", "a\\xffb"), ("c3", "\\xc3"), ("eda080", "\\xed\\xa0\\x80"), ("00", "\x00")],
)
def test_a_visible_string_that_is_not_utf8_has_escapes(data: str, seen: str) -> None:
    assert read(VISIBLE_STRING, f"{len(data) // 2:04x}{data}") == (seen, 0)


@pytest.mark.parametrize("data", ["ff", "61ff62", "c3", "eda080"])
def test_a_string_that_is_not_utf8_keeps_its_bytes_and_equals_no_other_name(data: str) -> None:
    found, left = read(STRING, f"{len(data) // 2:04x}{data}")
    assert (found.encode("utf-8", "surrogateescape").hex(), left) == (data, 0)
    assert found != bytes.fromhex(data).decode("utf-8", "backslashreplace")


@pytest.mark.parametrize(
    ("kind", "flexible", "data"),
    [(STRING, False, "0003"), (STRING, False, "7fff78"), (STRING, True, "0378"), (STRING, True, "ffffffff0f78"),
     (BYTES, False, "7fffffff78"), (BYTES, False, "000000"), (BYTES, True, "8180808008")],
)  # fmt: skip
def test_a_size_beyond_the_remaining_bytes_is_refused(kind: Primitive, flexible: bool, data: str) -> None:
    with pytest.raises(SchemaError):
        read(kind, data, flexible=flexible, nullable=True)
