"""Arrays, structs and their versions, tagged fields, the cursor: every expected byte is written out, from KIP-482."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.protocol import (
    INT8,
    STRING,
    Array,
    Cursor,
    Field,
    Inline,
    SchemaError,
    read_count,
)
from tests.protocol.coding import struct_read, struct_written

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
        assert struct_written(fields, {"many": values}, flexible=flexible) == data
        assert struct_read(fields, data, flexible=flexible) == {"many": values}


@pytest.mark.parametrize(("flexible", "data"), [(False, "ff ff ff ff"), (True, "00 00")])
def test_a_null_array_is_null_where_it_is_allowed_and_elsewhere_empty_when_read(flexible: bool, data: str) -> None:
    assert struct_written(NULLABLE_ARRAY, {"many": None}, flexible=flexible) == data
    assert struct_read(NULLABLE_ARRAY, data, flexible=flexible) == {"many": None}
    with pytest.raises(SchemaError, match="many may not be null in version 0"):
        struct_written(ARRAY, {"many": None}, flexible=flexible)
    assert struct_read(ARRAY, data, flexible=flexible) == {"many": []}


def test_an_element_of_an_array_may_not_be_null() -> None:
    with pytest.raises(SchemaError, match="this string may not be null"):
        struct_written((Field("names", Array(STRING)),), {"names": ["a", None]}, flexible=True)


@pytest.mark.parametrize(("flexible", "data"), [(False, "00000003 0101"), (False, "7fffffff"), (True, "ffffffff0f 01")])
def test_an_array_of_more_elements_than_bytes_is_refused_unread(flexible: bool, data: str) -> None:
    with pytest.raises(SchemaError, match="elements declared"):
        struct_read(ARRAY, data, flexible=flexible)


@pytest.mark.parametrize(
    ("flexible", "data", "count"),
    [
        (False, "00000002 0101", 2),
        (True, "03 0101", 2),
        (True, "01", 0),
        (False, "ffffffff", 0),
        (True, "00", 0),
    ],
)
def test_a_count_alone_is_read_like_that_of_an_array(flexible: bool, data: str, count: int) -> None:
    assert read_count(Cursor(bytes.fromhex(data)), flexible=flexible) == count


@pytest.mark.parametrize(("flexible", "data"), [(False, "fffffffe"), (False, "00000003 0101"), (True, "04 0101")])
def test_a_count_alone_may_not_be_negative_or_beyond_the_remaining_bytes(flexible: bool, data: str) -> None:
    with pytest.raises(SchemaError, match="elements declared"):
        read_count(Cursor(bytes.fromhex(data)), flexible=flexible)


def test_elements_are_empty_and_never_null_where_their_array_may_be() -> None:
    fields = (Field("names", Array(STRING), nullable_since=0),)
    assert struct_read(fields, "00000001 ffff") == {"names": [""]}


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
def test_a_field_is_encoded_in_its_versions_and_has_its_default_elsewhere(
    version: int, data: str, values: dict[str, Any]
) -> None:
    assert struct_read(CHANGING, data, version=version) == values
    assert struct_written(CHANGING, values, version=version) == data


def test_a_missing_key_is_written_as_its_default() -> None:
    assert struct_written(CHANGING, {}, version=2) == "00 ff 00 00 00 00 00 00"


def test_null_before_the_version_that_allows_it_is_not_written_and_is_read_as_empty() -> None:
    with pytest.raises(SchemaError, match="null"):
        struct_written(CHANGING, {"third": None}, version=2)
    assert struct_read(CHANGING, "01 02 ff ff 00 00 00 00", version=2)["third"] == ""


def test_a_struct_within_a_struct_has_its_own_tags() -> None:
    fields = (Field("inner", Inline((Field("n", INT8),))), Field("after", INT8))
    assert struct_written(fields, {"inner": {"n": 1}, "after": 2}) == "01 02"
    assert struct_written(fields, {"inner": {"n": 1}, "after": 2}, flexible=True) == "01 00 02 00"
    assert struct_read(fields, "01 01 07 01 aa 02 00", flexible=True) == {"inner": {"n": 1}, "after": 2}


def test_a_nullable_struct_begins_with_a_marker() -> None:
    fields = (Field("inner", Inline((Field("n", INT8),)), nullable_since=0),)
    assert struct_written(fields, {"inner": {"n": 5}}) == "01 05"
    assert struct_written(fields, {"inner": None}) == "ff"
    assert struct_read(fields, "01 05") == {"inner": {"n": 5}}
    assert struct_read(fields, "ff") == {"inner": None}


def test_a_tagged_struct_that_is_null_begins_with_zero() -> None:
    fields = (Field("inner", Inline((Field("n", INT8),)), nullable_since=0, tag=0, default={}),)
    for value, data in [({"n": 5}, "01 00 03 01 05 00"), (None, "01 00 01 00"), ({}, "00")]:
        assert struct_written(fields, {"inner": value}, flexible=True) == data
        assert struct_read(fields, data, flexible=True) == {"inner": value}


def test_an_empty_struct_is_nothing_or_a_count_of_no_tags() -> None:
    assert (struct_written((), {}), struct_written((), {}, flexible=True)) == ("", "00")
    assert (struct_read((), ""), struct_read((), "00", flexible=True)) == ({}, {})


# ---- tagged fields

TAGGED = (
    Field("last", INT8, tag=200, default=-1),
    Field("name", STRING, tag=0, nullable_since=0, default=None),
    Field("plain", INT8),
)


def test_tagged_fields_follow_the_others_in_the_order_of_their_tags() -> None:
    values = {"plain": 1, "name": "x", "last": 2}
    data = "01 02 00 02 02 78 c8 01 01 02"
    assert struct_written(TAGGED, values, flexible=True) == data
    assert struct_read(TAGGED, data, flexible=True) == values


def test_a_tagged_field_at_its_default_is_not_written_and_is_read_as_the_default() -> None:
    assert struct_written(TAGGED, {"plain": 1, "last": -1, "name": None}, flexible=True) == "01 00"
    assert struct_written(TAGGED, {"plain": 1}, flexible=True) == "01 00"
    assert struct_read(TAGGED, "01 00", flexible=True) == {"plain": 1, "last": -1, "name": None}


@pytest.mark.parametrize("empty", [[], ()])
def test_an_empty_tagged_array_is_not_written(empty: Any) -> None:
    assert struct_written((Field("many", Array(INT8), tag=0),), {"many": empty}, flexible=True) == "00"


def test_unknown_tags_are_skipped_in_any_position() -> None:
    data = "01 04 00 02 02 78 05 03 aa bb cc c8 01 01 02 ff ff ff ff 0f 00"
    assert struct_read(TAGGED, data, flexible=True) == {"plain": 1, "name": "x", "last": 2}


@pytest.mark.parametrize(
    "data", ["01", "01 01", "01 01 05", "01 01 05 02 aa", "01 02 05 01 aa", "01 01 00 01 03", "01 01 c8 01 00"]
)
def test_tags_that_declare_more_than_the_remaining_bytes_are_refused(data: str) -> None:
    with pytest.raises(SchemaError):
        struct_read(TAGGED, data, flexible=True)


def test_versions_without_tags_omit_tagged_fields() -> None:
    assert struct_written(TAGGED, {"plain": 1, "last": 2}) == "01"
    assert struct_read(TAGGED, "01") == {"plain": 1, "last": -1, "name": None}


# ---- the cursor


@pytest.mark.parametrize("size", [4, -1, 2**31, 2**63])
def test_a_cursor_refuses_more_than_it_has_and_keeps_its_position(size: int) -> None:
    cursor = Cursor(b"abc")
    with pytest.raises(SchemaError, match="3 remaining"):
        cursor.take(size)
    assert (cursor.take(3), cursor.remaining()) == (b"abc", 0)
