"""Nulls where no schema has one: every response and record is read, with an empty value in the null's place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.model import TopicPartition
from kafka_groups.protocol import (
    BYTES,
    STRING,
    Array,
    Cursor,
    Field,
    Inline,
    Primitive,
    SchemaError,
    Struct,
    compile_reader,
    compile_writer,
)
from kafka_groups.protocol.listed_groups import GroupKind, read_listed_groups
from kafka_groups.protocol.messages import Api
from kafka_groups.protocol.messages.describe_groups import ASSIGNMENT
from kafka_groups.protocol.messages.list_groups import GROUP
from kafka_groups.protocol.messages.offset_fetch import TOPIC
from kafka_groups.protocol.packed_offsets import read_packed_topics
from tests.admin.network.exchange import EVERY_VERSION
from tests.protocol.coding import nullable, struct_read

Path = tuple[str, ...]
FULL: dict[str, Any] = {"string": "text", "bytes": b"bytes", "bool": True}
FORMS = pytest.mark.parametrize("flexible", [False, True], ids=["plain", "compact"])


def full(fields: tuple[Field, ...], version: int) -> Struct:
    """Return values without any null or empty one: each array has one element."""
    return {field.name: _full_value(field.type, version) for field in fields if field.is_in(version)}


def _full_value(kind: Primitive | Array | Inline, version: int) -> Any:
    match kind:
        case Array(Primitive() as element):
            return [_full_value(element, version)]
        case Array(fields):
            assert not isinstance(fields, Primitive)
            return [full(fields, version)]
        case Inline(fields):
            return full(fields, version)
        case Primitive(name=name, default=default):
            return FULL.get(name, default)
    raise AssertionError(kind)


def strict_paths(fields: tuple[Field, ...], version: int, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the place of each string, bytes and array that may not be null, with its empty value."""
    for field in (field for field in fields if field.is_in(version)):
        here = (*path, field.name)
        match field.type:
            case Array(element):
                if not field.is_nullable(version):
                    yield here, []
                if not isinstance(element, Primitive):
                    yield from strict_paths(element, version, here)
            case Inline(inner):
                yield from strict_paths(inner, version, here)
            case Primitive() if field.type in (STRING, BYTES) and not field.is_nullable(version):
                yield here, field.type.default


def with_value(values: Struct, path: Path, value: Any) -> Struct:
    """Return the values with another one at a place; the place goes through the first element of an array."""
    name, *rest = path
    if not rest:
        return {**values, name: value}
    if isinstance(values[name], list):
        return {**values, name: [with_value(values[name][0], tuple(rest), value)]}
    return {**values, name: with_value(values[name], tuple(rest), value)}


def written(fields: tuple[Field, ...], values: Struct, *, version: int, flexible: bool) -> bytes:
    out = bytearray()
    compile_writer(fields, version=version, flexible=flexible)(out, values)
    return bytes(out)


def body_of(api: Api, version: int, values: Struct) -> bytes:
    """Return a response with its header, with nulls wherever a value is None."""
    body = written(nullable(api.response), values, version=version, flexible=api.is_flexible(version))
    return b"corr" + (b"\x00" if api.response_tags and api.is_flexible(version) else b"") + body


def _present(api: Api, version: int, values: Struct) -> Struct:
    """Return what was read without the defaults of fields that the version lacks."""
    return _without_absent(api.response, version, values)


def _without_absent(fields: tuple[Field, ...], version: int, values: Struct) -> Struct:
    present = {}
    for field in (field for field in fields if field.is_in(version)):
        value = values[field.name]
        match field.type:
            case Array(inner) if value and not isinstance(inner, Primitive):
                value = [_without_absent(inner, version, element) for element in value]
            case Inline(inner):
                value = _without_absent(inner, version, value)
        present[field.name] = value
    return present


@EVERY_VERSION
def test_one_null_in_a_response_is_empty_and_hides_no_other_value(api: Api, version: int) -> None:
    values = full(api.response, version)
    for path, empty in strict_paths(api.response, version):
        response = api.read_response(version, body_of(api, version, with_value(values, path, None)))
        assert _present(api, version, response) == with_value(values, path, empty), path


@EVERY_VERSION
def test_a_response_whose_values_are_all_null_is_read(api: Api, version: int) -> None:
    values = full(api.response, version)
    wanted = values
    # From the innermost ones on, so that a null array replaces its elements last.
    for path, empty in sorted(strict_paths(api.response, version), key=lambda found: -len(found[0])):
        values, wanted = with_value(values, path, None), with_value(wanted, path, empty)
        assert _present(api, version, api.read_response(version, body_of(api, version, values))) == wanted


@pytest.mark.slow
@EVERY_VERSION
def test_a_response_with_a_null_that_is_cut_anywhere_is_an_error(api: Api, version: int) -> None:
    values = full(api.response, version)
    for path, _ in strict_paths(api.response, version):
        data = body_of(api, version, with_value(values, path, None))
        for end in range(4, len(data)):
            with pytest.raises(SchemaError):
                api.read_response(version, data[:end])


@EVERY_VERSION
def test_bytes_that_are_left_over_behind_a_null_are_an_error_and_else_ignored(api: Api, version: int) -> None:
    values = full(api.response, version)
    assert api.read_response(version, body_of(api, version, values) + b"more")
    for path, _ in strict_paths(api.response, version):
        with pytest.raises(SchemaError, match="4 bytes are left over"):
            api.read_response(version, body_of(api, version, with_value(values, path, None)) + b"more")


@EVERY_VERSION
def test_a_request_never_contains_a_null_where_the_schema_has_none(api: Api, version: int) -> None:
    values = full(api.request, version)
    for path, _ in strict_paths(api.request, version):
        with pytest.raises(SchemaError, match="null"):
            api.encode_request(version, correlation_id=1, client_id="c", body=with_value(values, path, None))


@pytest.mark.parametrize(
    ("kind", "flexible", "data"),
    [
        (STRING, False, "fffe"),
        (STRING, False, "8000"),
        (BYTES, False, "fffffffe"),
        (BYTES, False, "80000000"),
        (STRING, True, "ffffffff0f"),
        (BYTES, True, "ffffffff0f"),
    ],
)
@pytest.mark.parametrize("nullable_since", [None, 0], ids=["not nullable", "nullable"])
def test_a_negative_length_other_than_null_is_an_error(
    kind: Primitive, flexible: bool, data: str, nullable_since: int | None
) -> None:
    fields = (Field("text", kind, nullable_since=nullable_since),)
    with pytest.raises(SchemaError, match="bytes declared"):
        struct_read(fields, data + "00" * 8, flexible=flexible)


@pytest.mark.parametrize("data", ["fffffffe", "80000000"])
@pytest.mark.parametrize("nullable_since", [None, 0], ids=["not nullable", "nullable"])
def test_a_negative_count_other_than_null_is_an_error(data: str, nullable_since: int | None) -> None:
    fields = (Field("names", Array(STRING), nullable_since=nullable_since),)
    with pytest.raises(SchemaError, match="array elements declared"):
        struct_read(fields, data + "00" * 8)


@pytest.mark.parametrize(
    ("flexible", "data"), [(False, "00000003 0001 61 ffff 0001 62"), (True, "04 02 61 00 02 62 00")]
)
def test_a_null_element_of_an_array_of_strings_is_empty(flexible: bool, data: str) -> None:
    assert struct_read((Field("names", Array(STRING)),), data, flexible=flexible) == {"names": ["a", "", "b"]}


@FORMS
def test_nulls_in_what_a_client_wrote_as_its_assignment_are_empty(flexible: bool) -> None:
    values = full(ASSIGNMENT, 0)
    for path, empty in strict_paths(ASSIGNMENT, 0):
        data = written(nullable(ASSIGNMENT), with_value(values, path, None), version=0, flexible=flexible)
        read = compile_reader(ASSIGNMENT, version=0, flexible=flexible)(Cursor(data))
        assert read == with_value(values, path, empty)


@pytest.mark.parametrize("version", range(1, 10))
def test_committed_offsets_with_nulls_are_read_as_empty(version: int) -> None:
    row = {"partition_index": 1, "committed_offset": 7, "committed_leader_epoch": 3, "metadata": None, "error_code": 0}
    flexible = version >= 6
    topics = [
        {"name": None, "partitions": [row]},
        {"name": "t", "partitions": None},
        {"name": "u", "partitions": [row]},
    ]
    fields = (Field("topics", Array(nullable(TOPIC))),)
    cursor = Cursor(written(fields, {"topics": topics}, version=version, flexible=flexible))
    packed, refused = read_packed_topics(cursor, version, {})
    epoch = 3 if version >= 5 else None
    commits = [(1, 7, epoch, "")]
    assert [(name, list(rows)) for name, rows in packed] == [("", commits), ("t", []), ("u", commits)]
    assert refused == {}


@pytest.mark.parametrize("version", [1, 9])
def test_a_null_topic_with_an_error_keeps_the_error_of_its_partition(version: int) -> None:
    row = {"partition_index": 1, "committed_offset": -1, "metadata": None, "error_code": 3}
    fields = (Field("topics", Array(nullable(TOPIC))),)
    data = written(fields, {"topics": [{"name": None, "partitions": [row]}]}, version=version, flexible=version >= 6)
    assert read_packed_topics(Cursor(data), version, {})[1] == {TopicPartition("", 1): 3}


@FORMS
def test_a_null_array_of_topics_means_no_commits(flexible: bool) -> None:
    assert read_packed_topics(Cursor(b"\x00" if flexible else b"\xff" * 4), 9 if flexible else 5, {}) == ((), {})


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("name", ["group_id", "protocol_type", "group_state", "group_type"])
def test_a_null_in_a_listed_group_is_empty_and_the_groups_around_it_are_read(version: int, name: str) -> None:
    rows: list[Struct] = [{field.name: f"{field.name}-{at}" for field in GROUP} for at in range(2)]
    plain: Struct = {field.name: "x" for field in GROUP}
    rows[1:1] = [plain, {**plain, name: None}, plain, {**plain, name: None}]
    fields = (Field("groups", Array(nullable(GROUP))),)
    data = written(fields, {"groups": rows}, version=version, flexible=version >= 3)
    found = read_listed_groups(Cursor(data), version)

    present = [field.name for field in GROUP if field.is_in(version)]
    wanted: dict[GroupKind, list[str]] = {}
    for row in rows:
        texts = {key: (row[key] or "") if key in present else "" for key in row}
        kind = GroupKind(texts["protocol_type"], texts["group_state"], texts["group_type"])
        wanted.setdefault(kind, []).append(texts["group_id"])
    assert found == wanted


@FORMS
def test_a_null_array_of_groups_is_an_empty_listing(flexible: bool) -> None:
    assert read_listed_groups(Cursor(b"\x00" if flexible else b"\xff" * 4), 5 if flexible else 2) == {}
