"""The codec on its own: every expected byte is written out, from Kafka's protocol guide and KIP-482."""

from __future__ import annotations

import io
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kio.serial import writers as kio_writers
from kio.static.primitive import uvarint

from kafka_groups.codec import (
    BOOL,
    BYTES,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID_,
    Array,
    CodecError,
    Cursor,
    Field,
    Inline,
    Primitive,
    compile_reader,
    compile_writer,
    read_count,
    read_unsigned_varint,
    write_unsigned_varint,
)

STABLE = settings(derandomize=True, deadline=None, max_examples=300, database=None)
A_UUID = UUID("00112233-4455-6677-8899-aabbccddeeff")


def _written(kind: Primitive, value: Any, *, flexible: bool = False, nullable: bool = False) -> str:
    out = bytearray()
    kind.write(flexible, nullable)(out, value)
    return out.hex()


def _read(kind: Primitive, data: str, *, flexible: bool = False, nullable: bool = False) -> tuple[Any, int]:
    cursor = Cursor(bytes.fromhex(data))
    return kind.read(flexible, nullable)(cursor), cursor.left()


def _struct_written(
    fields: tuple[Field, ...], values: dict[str, Any], *, version: int = 0, flexible: bool = False
) -> str:
    out = bytearray()
    compile_writer(fields, version=version, flexible=flexible)(out, values)
    return out.hex(" ")


def _struct_read(fields: tuple[Field, ...], data: str, *, version: int = 0, flexible: bool = False) -> dict[str, Any]:
    cursor = Cursor(bytes.fromhex(data))
    struct: dict[str, Any] = compile_reader(fields, version=version, flexible=flexible)(cursor)
    assert cursor.left() == 0
    return struct


# ---- numbers, booleans, ids

NUMBERS = [
    (INT8, -128, "80"),
    (INT8, 127, "7f"),
    (INT16, -32768, "8000"),
    (INT16, 258, "0102"),
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
    assert _written(kind, value, flexible=flexible) == data
    assert _read(kind, data + "ee", flexible=flexible) == (value, 1)


@pytest.mark.parametrize(("kind", "data"), [(kind, data) for kind, _, data in NUMBERS])
def test_a_number_without_all_its_bytes_is_refused(kind: Primitive, data: str) -> None:
    with pytest.raises(CodecError):
        _read(kind, data[:-2])


@pytest.mark.parametrize(
    ("kind", "value"), [(INT8, 128), (INT16, -32769), (INT32, 2147483648), (INT64, 2**63), (INT32, None), (INT32, "7")]
)
def test_a_number_that_does_not_fit_is_refused(kind: Primitive, value: Any) -> None:
    with pytest.raises(CodecError, match=f"is no {kind.name}"):
        _written(kind, value)


def test_any_byte_but_zero_is_true() -> None:
    assert _read(BOOL, "ff") == (True, 0)


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
    assert (out.hex(), read_unsigned_varint(cursor), cursor.left()) == (data, value, 1)


def test_a_variable_length_number_may_be_longer_than_it_needs() -> None:
    assert read_unsigned_varint(Cursor(bytes.fromhex("8180808000"))) == 1


@pytest.mark.parametrize("data", ["", "80", "ffffffff", "8080808080", "808080808001", "ff" * 100])
def test_a_variable_length_number_that_does_not_end_is_refused(data: str) -> None:
    with pytest.raises(CodecError, match="does not end"):
        read_unsigned_varint(Cursor(bytes.fromhex(data)))


@pytest.mark.parametrize("data", ["8080808010", "ffffffff1f", "ffffffff7f"])
def test_a_variable_length_number_of_more_than_32_bits_is_refused(data: str) -> None:
    with pytest.raises(CodecError, match="32 bits"):
        read_unsigned_varint(Cursor(bytes.fromhex(data)))


@STABLE
@given(value=st.integers(0, 2**32 - 1))
@example(value=2**31)
def test_variable_length_numbers_are_those_of_kio(value: int) -> None:
    ours, theirs = bytearray(), io.BytesIO()
    write_unsigned_varint(ours, value)
    kio_writers.write_unsigned_varint(theirs, uvarint(value))
    assert bytes(ours) == theirs.getvalue()
    assert read_unsigned_varint(Cursor(bytes(ours))) == value


# ---- texts and bytes

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
def test_a_text_is_its_size_in_bytes_then_its_bytes(
    kind: Primitive, value: Any, flexible: bool, data: str, nullable: bool
) -> None:
    assert _written(kind, value, flexible=flexible, nullable=nullable) == data
    assert _read(kind, data + "ee", flexible=flexible, nullable=nullable) == (value, 1)


NULLS = [(STRING, False, "ffff"), (STRING, True, "00"), (BYTES, False, "ffffffff"), (BYTES, True, "00")]


@pytest.mark.parametrize(("kind", "flexible", "data"), NULLS)
def test_null_is_told_from_empty_where_it_is_allowed(kind: Primitive, flexible: bool, data: str) -> None:
    assert _written(kind, None, flexible=flexible, nullable=True) == data
    assert _read(kind, data, flexible=flexible, nullable=True) == (None, 0)


@pytest.mark.parametrize(("kind", "flexible", "data"), NULLS)
def test_null_is_refused_where_it_is_not_allowed(kind: Primitive, flexible: bool, data: str) -> None:
    with pytest.raises(CodecError, match="null"):
        _written(kind, None, flexible=flexible)
    with pytest.raises(CodecError, match="null"):
        _read(kind, data, flexible=flexible)


@pytest.mark.parametrize("flexible", [False, True])
def test_a_text_longer_than_kafka_reads_is_refused_before_it_is_sent(flexible: bool) -> None:
    with pytest.raises(CodecError, match="a text of 32768 bytes does not fit; 32767 is the limit"):
        _written(STRING, "é" * 16384, flexible=flexible)


def test_an_argument_that_was_not_utf8_is_refused_before_it_is_sent() -> None:
    with pytest.raises(CodecError, match="not UTF-8"):
        _written(STRING, "group-\udcff")


@pytest.mark.parametrize(
    ("data", "seen"),
    [("ff", "\\xff"), ("61ff62", "a\\xffb"), ("c3", "\\xc3"), ("eda080", "\\xed\\xa0\\x80"), ("00", "\x00")],
)
def test_a_text_that_is_not_utf8_keeps_its_bytes_visible(data: str, seen: str) -> None:
    assert _read(STRING, f"{len(data) // 2:04x}{data}") == (seen, 0)


@pytest.mark.parametrize(
    ("kind", "flexible", "data"),
    [(STRING, False, "0003"), (STRING, False, "7fff78"), (STRING, True, "0378"), (STRING, True, "ffffffff0f78"),
     (BYTES, False, "7fffffff78"), (BYTES, False, "000000"), (BYTES, True, "8180808008")],
)  # fmt: skip
def test_a_size_beyond_the_bytes_that_are_left_is_refused(kind: Primitive, flexible: bool, data: str) -> None:
    with pytest.raises(CodecError):
        _read(kind, data, flexible=flexible, nullable=True)


# ---- arrays

ARRAY = (Field("many", Array(INT8)),)
NULLABLE_ARRAY = (Field("many", Array(INT8), nullable_since=0),)


@pytest.mark.parametrize(
    ("values", "flexible", "data"),
    [
        ([], False, "00 00 00 00"),
        ([1, -1], False, "00 00 00 02 01 ff"),
        ([], True, "01 00"),
        ([1, -1], True, "03 01 ff 00"),
        ([0] * 126, True, "7f" + " 00" * 126 + " 00"),
        ([0] * 127, True, "80 01" + " 00" * 127 + " 00"),
    ],
)
def test_an_array_is_its_count_then_its_elements(values: list[int], flexible: bool, data: str) -> None:
    for fields in (ARRAY, NULLABLE_ARRAY):
        assert _struct_written(fields, {"many": values}, flexible=flexible) == data
        assert _struct_read(fields, data, flexible=flexible) == {"many": values}


@pytest.mark.parametrize(("flexible", "data"), [(False, "ff ff ff ff"), (True, "00 00")])
def test_a_null_array_is_null_where_it_is_allowed_and_refused_elsewhere(flexible: bool, data: str) -> None:
    assert _struct_written(NULLABLE_ARRAY, {"many": None}, flexible=flexible) == data
    assert _struct_read(NULLABLE_ARRAY, data, flexible=flexible) == {"many": None}
    with pytest.raises(CodecError, match="many may not be null in version 0"):
        _struct_written(ARRAY, {"many": None}, flexible=flexible)
    with pytest.raises(CodecError, match="many is null"):
        _struct_read(ARRAY, data, flexible=flexible)


@pytest.mark.parametrize(("flexible", "data"), [(False, "00000003 0101"), (False, "7fffffff"), (True, "ffffffff0f 01")])
def test_an_array_of_more_elements_than_bytes_is_refused_unread(flexible: bool, data: str) -> None:
    with pytest.raises(CodecError, match="elements announced"):
        _struct_read(ARRAY, data, flexible=flexible)


@pytest.mark.parametrize(
    ("flexible", "data", "count"), [(False, "00000002 0101", 2), (True, "03 0101", 2), (True, "01", 0)]
)
def test_a_count_alone_is_read_like_that_of_an_array(flexible: bool, data: str, count: int) -> None:
    assert read_count(Cursor(bytes.fromhex(data)), flexible=flexible) == count


@pytest.mark.parametrize(
    ("flexible", "data"), [(False, "ffffffff"), (True, "00"), (False, "00000003 0101"), (True, "04 0101")]
)
def test_a_count_alone_may_not_be_null_or_beyond_the_bytes_that_are_left(flexible: bool, data: str) -> None:
    with pytest.raises(CodecError, match=r"elements announced|array is null"):
        read_count(Cursor(bytes.fromhex(data)), flexible=flexible)


def test_elements_are_never_null_where_their_array_may_be() -> None:
    fields = (Field("names", Array(STRING), nullable_since=0),)
    with pytest.raises(CodecError, match="null"):
        _struct_read(fields, "00000001 ffff")


# ---- versions and structs

CHANGING = (
    Field("first", INT8),
    Field("second", INT8, since=1, until=2, default=-1),
    Field("third", STRING, since=2, nullable_since=3),
    Field("rest", Array((Field("inner", INT8), Field("since_two", INT8, since=2, default=9)))),
)


@pytest.mark.parametrize(
    ("version", "data", "values"),
    [
        (0, "01 00 00 00 01 05", {"first": 1, "second": -1, "third": "", "rest": [{"inner": 5, "since_two": 9}]}),
        (1, "01 02 00 00 00 01 05", {"first": 1, "second": 2, "third": "", "rest": [{"inner": 5, "since_two": 9}]}),
        (
            2,
            "01 02 00 01 78 00 00 00 01 05 06",
            {"first": 1, "second": 2, "third": "x", "rest": [{"inner": 5, "since_two": 6}]},
        ),
        (
            3,
            "01 ff ff 00 00 00 01 05 06",
            {"first": 1, "second": -1, "third": None, "rest": [{"inner": 5, "since_two": 6}]},
        ),
    ],
)
def test_a_field_is_on_the_wire_in_its_versions_and_its_default_elsewhere(
    version: int, data: str, values: dict[str, Any]
) -> None:
    assert _struct_read(CHANGING, data, version=version) == values
    assert _struct_written(CHANGING, values, version=version) == data


def test_a_key_left_out_is_written_as_its_default() -> None:
    assert _struct_written(CHANGING, {}, version=2) == "00 ff 00 00 00 00 00 00"


def test_null_before_the_version_that_allows_it_is_refused() -> None:
    with pytest.raises(CodecError, match="null"):
        _struct_written(CHANGING, {"third": None}, version=2)
    with pytest.raises(CodecError, match="null"):
        _struct_read(CHANGING, "01 02 ff ff 00 00 00 00", version=2)


def test_a_struct_within_a_struct_has_its_own_tags() -> None:
    fields = (Field("inner", Inline((Field("n", INT8),))), Field("after", INT8))
    assert _struct_written(fields, {"inner": {"n": 1}, "after": 2}) == "01 02"
    assert _struct_written(fields, {"inner": {"n": 1}, "after": 2}, flexible=True) == "01 00 02 00"
    assert _struct_read(fields, "01 01 07 01 aa 02 00", flexible=True) == {"inner": {"n": 1}, "after": 2}


def test_a_struct_that_may_be_null_begins_with_a_mark() -> None:
    fields = (Field("inner", Inline((Field("n", INT8),)), nullable_since=0),)
    assert _struct_written(fields, {"inner": {"n": 5}}) == "01 05"
    assert _struct_written(fields, {"inner": None}) == "ff"
    assert _struct_read(fields, "01 05") == {"inner": {"n": 5}}
    assert _struct_read(fields, "ff") == {"inner": None}


def test_an_empty_struct_is_nothing_or_a_count_of_no_tags() -> None:
    assert (_struct_written((), {}), _struct_written((), {}, flexible=True)) == ("", "00")
    assert (_struct_read((), ""), _struct_read((), "00", flexible=True)) == ({}, {})


# ---- tagged fields

TAGGED = (
    Field("last", INT8, tag=200, default=-1),
    Field("name", STRING, tag=0, nullable_since=0, default=None),
    Field("plain", INT8),
)


def test_tagged_fields_stand_behind_the_others_in_the_order_of_their_tags() -> None:
    values = {"plain": 1, "name": "x", "last": 2}
    data = "01 02 00 02 02 78 c8 01 01 02"
    assert _struct_written(TAGGED, values, flexible=True) == data
    assert _struct_read(TAGGED, data, flexible=True) == values


def test_a_tagged_field_at_its_default_is_not_written_and_read_as_that() -> None:
    assert _struct_written(TAGGED, {"plain": 1, "last": -1, "name": None}, flexible=True) == "01 00"
    assert _struct_written(TAGGED, {"plain": 1}, flexible=True) == "01 00"
    assert _struct_read(TAGGED, "01 00", flexible=True) == {"plain": 1, "last": -1, "name": None}


@pytest.mark.parametrize("empty", [[], ()])
def test_an_empty_tagged_array_is_not_written(empty: Any) -> None:
    assert _struct_written((Field("many", Array(INT8), tag=0),), {"many": empty}, flexible=True) == "00"


def test_unknown_tags_are_skipped_wherever_they_stand() -> None:
    data = "01 04 00 02 02 78 05 03 aa bb cc c8 01 01 02 ff ff ff ff 0f 00"
    assert _struct_read(TAGGED, data, flexible=True) == {"plain": 1, "name": "x", "last": 2}


@pytest.mark.parametrize(
    "data", ["01", "01 01", "01 01 05", "01 01 05 02 aa", "01 02 05 01 aa", "01 01 00 01 03", "01 01 c8 01 00"]
)
def test_tags_that_promise_more_than_there_is_are_refused(data: str) -> None:
    with pytest.raises(CodecError):
        _struct_read(TAGGED, data, flexible=True)


def test_versions_without_tags_leave_tagged_fields_out() -> None:
    assert _struct_written(TAGGED, {"plain": 1, "last": 2}) == "01"
    assert _struct_read(TAGGED, "01") == {"plain": 1, "last": -1, "name": None}


# ---- the cursor


@pytest.mark.parametrize("size", [4, -1, 2**31, 2**63])
def test_a_cursor_gives_no_more_than_it_has_and_stays_where_it_is(size: int) -> None:
    cursor = Cursor(b"abc")
    with pytest.raises(CodecError, match="3 left"):
        cursor.take(size)
    assert (cursor.take(3), cursor.left()) == (b"abc", 0)
