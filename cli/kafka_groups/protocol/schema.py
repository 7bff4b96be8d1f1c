"""Schemas: APIs and their messages as tables of fields with version ranges, as in Kafka's schema files.

A message is compiled once per version into a chain of functions. Structs are plain dicts keyed by
field name; a field that a version lacks holds its default. Schemas are tuples, because Python creates a class of them
in a sixth of the time of a dataclass.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_groups.protocol.primitives import (
    INT32,
    STRING,
    Cursor,
    Primitive,
    Read,
    SchemaError,
    Write,
    read_count,
    read_nullable_count,
    read_unsigned_varint,
    skip_tags,
    write_length,
    write_unsigned_varint,
)

Struct: TypeAlias = dict[str, Any]

_NULL_STRUCT: Final = 0xFF
_NO_TAGS: Final = b"\x00"
_NULL_TAGGED_STRUCT: Final = 0
_SIZE: Final = struct.Struct(">i")
_HEADER: Final = struct.Struct(">hhi")
_WRITE_CLIENT_ID: Final = STRING.write(False, True)


class Array(NamedTuple):
    """An array of elements; a tuple of fields as element is a struct."""

    element: Primitive | tuple[Field, ...]


class Inline(NamedTuple):
    """A struct inside another."""

    fields: tuple[Field, ...]


class Field(NamedTuple):
    """One line of a schema: versions `since`..`until` have it; `until=None` means all later versions.

    `nullable_since` is the first version that may hold null (None: no version may), `tag` makes it a tagged field
    (KIP-482).
    """

    name: str
    type: Primitive | Array | Inline
    since: int = 0
    until: int | None = None
    nullable_since: int | None = None
    tag: int | None = None
    default: Any = ...

    def is_in(self, version: int) -> bool:
        """Return whether this version of the message has the field."""
        return self.since <= version and (self.until is None or version <= self.until)

    def is_nullable(self, version: int) -> bool:
        """Return whether the field may be null in this version."""
        return self.nullable_since is not None and version >= self.nullable_since

    def absent_value(self) -> Any:
        """Return the value of the field in versions that lack it."""
        if self.default is not ...:
            return self.default
        if isinstance(self.type, Primitive):
            return self.type.default
        return () if isinstance(self.type, Array) else None


def compile_reader(fields: tuple[Field, ...], *, version: int, flexible: bool) -> Read:
    """Return a function that reads one struct of this version at a cursor."""
    present = [field for field in fields if field.is_in(version)]
    plain = [(field.name, _reader_of(field, version, flexible)) for field in present if field.tag is None]
    tagged = {
        field.tag: (field.name, _reader_of(field, version, flexible)) for field in present if field.tag is not None
    }
    absent = {field.name: field.absent_value() for field in fields if field not in present or field.tag is not None}

    def read(cursor: Cursor) -> Struct:
        values: Struct = dict(absent)
        for name, read_field in plain:
            values[name] = read_field(cursor)
        if flexible:
            if cursor.data[cursor.position : cursor.position + 1] == _NO_TAGS:  # as nearly all structs end
                cursor.position += 1
            else:
                _read_tags(cursor, tagged, values)
        return values

    return read


def compile_writer(fields: tuple[Field, ...], *, version: int, flexible: bool) -> Write:
    """Return a function that appends one struct of this version; missing keys are written as their defaults."""
    present = [field for field in fields if field.is_in(version)]
    plain = [(field, _writer_of(field, version, flexible)) for field in present if field.tag is None]
    tagged = [(field, _writer_of(field, version, flexible)) for field in present if field.tag is not None]

    def write(out: bytearray, values: Mapping[str, Any]) -> None:
        for field, write_field in plain:
            value = values[field.name] if field.name in values else field.absent_value()
            write_field(out, value)
        if flexible and tagged:
            _write_tags(out, tagged, values)
        elif flexible:
            out += _NO_TAGS

    return write


def _read_tags(cursor: Cursor, known: Mapping[int, tuple[str, Read]], values: Struct) -> None:
    for _ in range(read_unsigned_varint(cursor)):
        tag = read_unsigned_varint(cursor)
        body = Cursor(cursor.take(read_unsigned_varint(cursor)))
        if tag in known:
            name, read_field = known[tag]
            values[name] = read_field(body)


def _write_tags(out: bytearray, tagged: list[tuple[Field, Write]], values: Mapping[str, Any]) -> None:
    given = [(field, write) for field, write in tagged if not _is_absent(field, values.get(field.name, ...))]
    write_unsigned_varint(out, len(given))
    for field, write in sorted(given, key=lambda pair: pair[0].tag or 0):
        body = bytearray()
        write(body, values[field.name])
        write_unsigned_varint(out, field.tag or 0)
        write_unsigned_varint(out, len(body))
        out += body


def _is_absent(field: Field, value: Any) -> bool:
    absent = field.absent_value()
    return value is ... or value == absent or (absent == () and value == [])


def _reader_of(field: Field, version: int, flexible: bool) -> Read:
    nullable = field.is_nullable(version)
    if isinstance(field.type, Primitive):
        return field.type.read(flexible, nullable)
    if isinstance(field.type, Inline):
        read_struct = compile_reader(field.type.fields, version=version, flexible=flexible)
        return _inline_reader(read_struct, _null_of(field) if nullable else None)
    element = field.type.element
    read_element = (
        element.read(flexible, False)
        if isinstance(element, Primitive)
        else compile_reader(element, version=version, flexible=flexible)
    )

    def read(cursor: Cursor) -> list[Any] | None:
        count = read_nullable_count(cursor, flexible=flexible) if nullable else read_count(cursor, flexible=flexible)
        return None if count is None else [read_element(cursor) for _ in range(count)]

    return read


def _writer_of(field: Field, version: int, flexible: bool) -> Write:
    nullable = field.is_nullable(version)
    if isinstance(field.type, Primitive):
        return field.type.write(flexible, nullable)
    if isinstance(field.type, Inline):
        write_struct = compile_writer(field.type.fields, version=version, flexible=flexible)
        return _inline_writer(write_struct, _null_of(field) if nullable else None)
    element = field.type.element
    write_element = (
        element.write(flexible, False)
        if isinstance(element, Primitive)
        else compile_writer(element, version=version, flexible=flexible)
    )

    def write(out: bytearray, values: Any) -> None:
        if values is None and not nullable:
            msg = f"{field.name} may not be null in version {version}"
            raise SchemaError(msg)
        write_length(out, None if values is None else len(values), flexible=flexible, wide=True)
        for value in values or ():
            write_element(out, value)

    return write


def _null_of(field: Field) -> int:
    """Return the byte that stands for a null struct, where a struct that is there has 1 before it."""
    return _NULL_STRUCT if field.tag is None else _NULL_TAGGED_STRUCT


def _inline_reader(read_struct: Read, null: int | None) -> Read:
    if null is None:
        return read_struct
    return lambda cursor: None if cursor.take(1)[0] == null else read_struct(cursor)


def _inline_writer(write_struct: Write, null: int | None) -> Write:
    def write(out: bytearray, value: Any) -> None:
        if null is not None:
            out.append(null if value is None else 1)
        if value is not None or null is None:
            write_struct(out, value or {})

    return write


class Api:
    """One Kafka API in the versions that this tool supports (source: its two schema files).

    `flexible_since` is the first version with compact types and tags; `response_tags` is False for
    ApiVersions alone, whose response header never has tags (KIP-511). Since version `throttle_since` a
    response begins with `throttle_time_ms`. `first_release` is the first version of Kafka that supports the lowest
    version of the API.
    """

    def __init__(  # noqa: PLR0913 - every part of a schema
        self,
        *,
        key: int,
        name: str,
        lowest: int,
        highest: int,
        flexible_since: int,
        request: tuple[Field, ...],
        response: tuple[Field, ...],
        throttle_since: int | None = None,
        response_tags: bool = True,
        first_release: str | None = None,
    ) -> None:
        self.key: Final = key
        self.name: Final = name
        self.lowest: Final = lowest
        self.highest: Final = highest
        self.flexible_since: Final = flexible_since
        self.request: Final = request
        self.response: Final = response
        self.throttle_since: Final = throttle_since
        self.response_tags: Final = response_tags
        self.first_release: Final = first_release
        # The compiled writer of the request body, and the reader of the response body, by version.
        self.request_writer: Final[Callable[[int], Write]] = cache(
            lambda version: compile_writer(request, version=version, flexible=self.is_flexible(version))
        )
        self.response_reader: Final[Callable[[int], Read]] = cache(
            lambda version: compile_reader(response, version=version, flexible=self.is_flexible(version))
        )

    def __repr__(self) -> str:
        return f"Api({self.name})"

    def is_flexible(self, version: int) -> bool:
        """Return whether this version has compact types and tagged fields."""
        return version >= self.flexible_since

    def encode_request(self, version: int, *, correlation_id: int, client_id: str, body: Mapping[str, Any]) -> bytes:
        """Return the request with its size and header in front. SchemaError if a value does not fit its field."""
        out = bytearray(_SIZE.size)
        out += _HEADER.pack(self.key, version, correlation_id)
        # The client id keeps its two-byte length even in the flexible header (RequestHeader.json).
        _WRITE_CLIENT_ID(out, client_id)
        if self.is_flexible(version):
            out.append(0)
        self.request_writer(version)(out, body)
        _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
        return bytes(out)

    def open_response(self, version: int, payload: bytes) -> Cursor:
        """Return a cursor behind the header of a response; `payload` begins with the correlation id."""
        cursor = Cursor(payload, _SIZE.size)
        if self.response_tags and self.is_flexible(version):
            skip_tags(cursor)
        return cursor

    def read_response(self, version: int, payload: bytes) -> Struct:
        """Return the whole response as a struct; SchemaError if the bytes do not match the schema."""
        cursor = self.open_response(version, payload)
        response: Struct = self.response_reader(version)(cursor)
        cursor.end()
        return response

    def throttle_s(self, version: int, payload: bytes) -> float:
        """Return the throttle time of a response, in seconds; 0 if it has none or cannot be read."""
        if self.throttle_since is None or version < self.throttle_since:
            return 0.0
        try:
            return max(0, int(INT32.read(False, False)(self.open_response(version, payload)))) / 1000
        except SchemaError:
            return 0.0
