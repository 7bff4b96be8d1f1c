"""Rows of a ListGroups response: the fast path and the schema give the same groups."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.protocol import Array, Cursor, Field, SchemaError, Struct, compile_reader, compile_writer
from kafka_groups.protocol import listed_groups as module
from kafka_groups.protocol.listed_groups import GroupKind, read_listed_groups
from kafka_groups.protocol.messages.list_groups import GROUP, LIST_GROUPS

STABLE = settings(derandomize=True, deadline=None, max_examples=60, database=None)
VERSIONS = range(LIST_GROUPS.lowest, LIST_GROUPS.highest + 1)
NEWEST = LIST_GROUPS.highest
GROUPS = (Field("groups", Array(GROUP)),)
# The bytes of a kind of group, and parts of them, as the text of an id or of a kind.
KIND_BYTES = "\x09consumer\x07Stable\x08Classic\x00"
TEXTS = st.sampled_from(["", "consumer", "Stable", "Empty", KIND_BYTES, KIND_BYTES[1:], "\x00", "a" * 126, "a" * 127])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "group_id": TEXTS | st.text(max_size=10) | st.text("ab\x01\x09", min_size=100, max_size=300),
            "protocol_type": st.sampled_from(["consumer", "", "connect"]) | TEXTS,
            "group_state": st.sampled_from(["Stable", "Empty"]) | TEXTS,
            "group_type": st.sampled_from(["Classic", "Consumer", ""]) | TEXTS,
        }
    ),
    max_size=12,
)


def encoded(rows: list[Struct], version: int) -> bytes:
    """Return an array of groups as a response has it, and two bytes that follow."""
    out = bytearray()
    flexible = LIST_GROUPS.is_flexible(version)
    compile_writer(GROUPS, version=version, flexible=flexible)(out, {"groups": rows})
    # The writer ends its struct with an empty set of tags, which is not part of the array.
    return bytes(out[:-1] if flexible else out) + b"\xaa\xbb"


def row(group: str, state: str = "Empty") -> Struct:
    return {"group_id": group, "protocol_type": "consumer", "group_state": state, "group_type": "Classic"}


def by_schema(data: bytes, version: int) -> dict[GroupKind, list[str]]:
    """Return what the schema makes of the array."""
    flexible = LIST_GROUPS.is_flexible(version)
    body = data[:-2] + (b"\x00" if flexible else b"")
    found: dict[GroupKind, list[str]] = {}
    for group in compile_reader(GROUPS, version=version, flexible=flexible)(Cursor(body))["groups"]:
        kind = GroupKind(group["protocol_type"], group["group_state"], group["group_type"])
        found.setdefault(kind, []).append(group["group_id"])
    return found


@pytest.mark.parametrize("version", VERSIONS)
@STABLE
@given(rows=ROWS)
def test_rows_are_read_as_by_the_schema(version: int, rows: list[Struct]) -> None:
    data = encoded(rows, version)
    cursor = Cursor(data)
    assert read_listed_groups(cursor, version) == by_schema(data, version)
    assert data[cursor.position :] == b"\xaa\xbb"


@pytest.mark.parametrize("version", VERSIONS)
@STABLE
@given(rows=ROWS.filter(bool), cut=st.integers(1, 400))
def test_a_truncated_array_is_an_error_and_never_groups(version: int, rows: list[Struct], cut: int) -> None:
    data = encoded(rows, version)[:-2]
    with pytest.raises(SchemaError):
        read_listed_groups(Cursor(data[: max(0, len(data) - cut)]), version)


def test_a_row_with_a_tag_is_read_and_the_next_one_too() -> None:
    data = encoded([row("a"), row("b"), row("c")], NEWEST)
    # The row of b ends with one tag instead of none: its number, its size and a byte.
    tagged = data.replace(b"Classic\x00\x02c", b"Classic\x01\x07\x01\xff\x02c")
    assert tagged != data
    assert list(read_listed_groups(Cursor(tagged), NEWEST).values()) == [["a", "b", "c"]]


def test_an_id_that_is_not_utf_8_keeps_its_bytes_as_surrogates() -> None:
    data = encoded([row("a"), row("b?")], NEWEST).replace(b"b?", b"b\xff")
    assert list(read_listed_groups(Cursor(data), NEWEST).values()) == [["a", "b\udcff"]]


def test_only_the_first_row_of_each_kind_is_decoded_by_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []

    def compile_counted(*arguments: Any, **keywords: Any) -> object:
        read = compile_reader(*arguments, **keywords)

        def counted(cursor: Cursor) -> Struct:
            found: Struct = read(cursor)
            decoded.append(found["group_id"])
            return found

        return counted

    monkeypatch.setattr(module, "compile_reader", compile_counted)
    rows = [row(f"{state}-{number}", state) for number in range(50) for state in ("Empty", "Stable", "Dead")]
    found = read_listed_groups(Cursor(encoded(rows, NEWEST)), NEWEST)
    assert [len(ids) for ids in found.values()] == [50, 50, 50]
    assert decoded == ["Empty-0", "Stable-0", "Dead-0"]
