"""Kafka's binary encoding: primitives, and a reader and a writer driven by tables of fields.

A message is a tuple of `Field`s with version ranges, as in Kafka's own schema files
(clients/src/main/resources/common/message). A table and a version are compiled once into a chain of
functions; structs are plain dicts keyed by field name, and a field that a version lacks holds its
default. Every count and length is bounded by the bytes that are left, so a wrong answer costs an
error and never memory. Pure: no sockets, no clock.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

Struct: TypeAlias = dict[str, Any]
Read: TypeAlias = Callable[["Cursor"], Any]
Write: TypeAlias = Callable[[bytearray, Any], None]

_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_MAX_VARINT_BYTES: Final = 5
_MORE_FOLLOWS: Final = 0x80
_NULL_STRUCT: Final = 0xFF
_MAX_UNSIGNED: Final = 2**32 - 1
_MAX_TEXT: Final = 0x7FFF


class CodecError(ValueError):
    """The bytes are not what the table says, or a value does not fit its field."""


class Cursor:
    """A place in some bytes; the readers below move it on."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def left(self) -> int:
        """Bytes not yet read."""
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """The next `size` bytes; CodecError if there are fewer."""
        start = self.at
        end = start + size
        if size < 0 or end > len(self.data):
            msg = f"{size} bytes announced, {self.left()} left"
            raise CodecError(msg)
        self.at = end
        return self.data[start:end]


def read_unsigned_varint(cursor: Cursor) -> int:
    """The base-128 number at the cursor, least significant group first (at most 32 bits)."""
    value = shift = 0
    for byte in cursor.data[cursor.at : cursor.at + _MAX_VARINT_BYTES]:
        cursor.at += 1
        value |= (byte & (_MORE_FOLLOWS - 1)) << shift
        if byte < _MORE_FOLLOWS:
            if value > _MAX_UNSIGNED:
                msg = f"{value} does not fit in 32 bits"
                raise CodecError(msg)
            return value
        shift += 7
    raise CodecError("a variable-length number does not end")


def read_count(cursor: Cursor, *, flexible: bool) -> int:
    """The number of elements that follow; CodecError if it is null or more than the bytes that are left."""
    count = read_unsigned_varint(cursor) - 1 if flexible else int(_INT32.unpack(cursor.take(4))[0])
    # Every element takes at least a byte, so a larger count is a lie, whatever follows.
    if not 0 <= count <= cursor.left():
        msg = f"{count} elements announced, {cursor.left()} bytes left"
        raise CodecError(msg)
    return count


def skip_tags(cursor: Cursor) -> None:
    """Move past the tagged fields at the end of a flexible struct."""
    for _ in range(read_unsigned_varint(cursor)):
        read_unsigned_varint(cursor)
        cursor.take(read_unsigned_varint(cursor))


def write_unsigned_varint(out: bytearray, value: int) -> None:
    """Append a base-128 number, least significant group first."""
    while value >= _MORE_FOLLOWS:
        out.append((value & (_MORE_FOLLOWS - 1)) | _MORE_FOLLOWS)
        value >>= 7
    out.append(value)


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parts: how it is read and written, depending on (flexible, nullable)."""

    name: str
    read: Callable[[bool, bool], Read]
    write: Callable[[bool, bool], Write]
    default: Any


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of an element; a tuple of fields as element is a struct."""

    element: Primitive | tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Inline:
    """One struct inside another."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a schema: versions `since`..`until` have it; None means it has no end, or never.

    `nullable_since` is the first version that may hold null, `tag` makes it a tagged field (KIP-482).
    """

    name: str
    type: Primitive | Array | Inline
    since: int = 0
    until: int | None = None
    nullable_since: int | None = None
    tag: int | None = None
    default: Any = ...

    def is_in(self, version: int) -> bool:
        """Whether this version of the message has the field."""
        return self.since <= version and (self.until is None or version <= self.until)

    def is_nullable(self, version: int) -> bool:
        """Whether null may stand here in this version."""
        return self.nullable_since is not None and version >= self.nullable_since

    def absent_value(self) -> Any:
        """What stands for the field where a version lacks it."""
        if self.default is not ...:
            return self.default
        if isinstance(self.type, Primitive):
            return self.type.default
        return () if isinstance(self.type, Array) else None


def compile_reader(fields: tuple[Field, ...], *, version: int, flexible: bool) -> Read:
    """A function that reads one struct of this version at a cursor."""
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
            _read_tags(cursor, tagged, values)
        return values

    return read


def compile_writer(fields: tuple[Field, ...], *, version: int, flexible: bool) -> Write:
    """A function that appends one struct of this version; missing keys are written as their defaults."""
    present = [field for field in fields if field.is_in(version)]
    plain = [(field, _writer_of(field, version, flexible)) for field in present if field.tag is None]
    tagged = [(field, _writer_of(field, version, flexible)) for field in present if field.tag is not None]

    def write(out: bytearray, values: Mapping[str, Any]) -> None:
        for field, write_field in plain:
            value = values[field.name] if field.name in values else field.absent_value()
            write_field(out, value)
        if flexible:
            _write_tags(out, tagged, values)

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
        return _inline_reader(compile_reader(field.type.fields, version=version, flexible=flexible), nullable=nullable)
    element = field.type.element
    read_element = (
        element.read(flexible, False)
        if isinstance(element, Primitive)
        else compile_reader(element, version=version, flexible=flexible)
    )
    read_count = _count_reader(flexible=flexible)

    def read(cursor: Cursor) -> list[Any] | None:
        count = read_count(cursor)
        if count < 0:
            if nullable:
                return None
            msg = f"{field.name} is null"
            raise CodecError(msg)
        # Every element takes at least a byte, so a larger count is a lie, whatever follows.
        if count > cursor.left():
            msg = f"{field.name}: {count} elements announced, {cursor.left()} bytes left"
            raise CodecError(msg)
        return [read_element(cursor) for _ in range(count)]

    return read


def _writer_of(field: Field, version: int, flexible: bool) -> Write:
    nullable = field.is_nullable(version)
    if isinstance(field.type, Primitive):
        return field.type.write(flexible, nullable)
    if isinstance(field.type, Inline):
        return _inline_writer(compile_writer(field.type.fields, version=version, flexible=flexible), nullable=nullable)
    element = field.type.element
    write_element = (
        element.write(flexible, False)
        if isinstance(element, Primitive)
        else compile_writer(element, version=version, flexible=flexible)
    )

    def write(out: bytearray, values: Any) -> None:
        if values is None and not nullable:
            msg = f"{field.name} may not be null in version {version}"
            raise CodecError(msg)
        _write_length(out, None if values is None else len(values), flexible=flexible, wide=True)
        for value in values or ():
            write_element(out, value)

    return write


def _inline_reader(read_struct: Read, *, nullable: bool) -> Read:
    if not nullable:
        return read_struct
    return lambda cursor: None if cursor.take(1)[0] == _NULL_STRUCT else read_struct(cursor)


def _inline_writer(write_struct: Write, *, nullable: bool) -> Write:
    def write(out: bytearray, value: Any) -> None:
        if nullable:
            out.append(_NULL_STRUCT if value is None else 1)
        if value is not None or not nullable:
            write_struct(out, value or {})

    return write


def _count_reader(*, flexible: bool) -> Callable[[Cursor], int]:
    if flexible:
        return lambda cursor: read_unsigned_varint(cursor) - 1
    return lambda cursor: int(_INT32.unpack(cursor.take(4))[0])


def _write_length(out: bytearray, length: int | None, *, flexible: bool, wide: bool) -> None:
    # Compact texts could be longer, but Kafka neither writes nor reads such (it closes the connection).
    if not wide and length is not None and length > _MAX_TEXT:
        msg = f"a text of {length} bytes does not fit; {_MAX_TEXT} is the limit"
        raise CodecError(msg)
    if flexible:
        write_unsigned_varint(out, 0 if length is None else length + 1)
    elif wide:
        out += _INT32.pack(-1 if length is None else length)
    else:
        out += _INT16.pack(-1 if length is None else length)


def _number(name: str, layout: struct.Struct) -> Primitive:
    size = layout.size
    unpack_from = layout.unpack_from

    def read(cursor: Cursor) -> Any:
        try:
            value = unpack_from(cursor.data, cursor.at)[0]
        except struct.error:
            msg = f"{name}: {size} bytes expected, {cursor.left()} left"
            raise CodecError(msg) from None
        cursor.at += size
        return value

    def write(out: bytearray, value: Any) -> None:
        try:
            out += layout.pack(value)
        except struct.error as error:
            msg = f"{value!r} is no {name}"
            raise CodecError(msg) from error

    return Primitive(name, lambda _flexible, _nullable: read, lambda _flexible, _nullable: write, 0)


def _sized(
    name: str, *, wide: bool, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes], default: Any
) -> Primitive:
    """Text or bytes: a length (two bytes or four; a varint where flexible), then that many bytes."""

    def make_read(flexible: bool, nullable: bool) -> Read:
        layout = _INT32 if wide else _INT16

        def read(cursor: Cursor) -> Any:
            size = read_unsigned_varint(cursor) - 1 if flexible else layout.unpack(cursor.take(layout.size))[0]
            if size >= 0:
                return decode(cursor.take(size))
            if nullable:
                return None
            msg = f"a {name} is null"
            raise CodecError(msg)

        return read

    def make_write(flexible: bool, nullable: bool) -> Write:
        def write(out: bytearray, value: Any) -> None:
            if value is None and not nullable:
                msg = f"this {name} may not be null"
                raise CodecError(msg)
            body = None if value is None else encode(value)
            _write_length(out, None if body is None else len(body), flexible=flexible, wide=wide)
            out += body or b""

        return write

    return Primitive(name, make_read, make_write, default)


def _decode_text(body: bytes) -> str:
    # A name that is not UTF-8 must not hide the others: its odd bytes stay visible as escapes.
    return body.decode("utf-8", "backslashreplace")


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:  # an argument of the command line that is not UTF-8
        msg = f"{text!r} is not UTF-8"
        raise CodecError(msg) from error


def _uuid() -> Primitive:
    def read(cursor: Cursor) -> UUID:
        return UUID(bytes=cursor.take(16))

    def write(out: bytearray, value: Any) -> None:
        out += value.bytes

    return Primitive("uuid", lambda _flexible, _nullable: read, lambda _flexible, _nullable: write, UUID(int=0))


def _bool() -> Primitive:
    def read(cursor: Cursor) -> bool:
        return cursor.take(1) != b"\x00"

    def write(out: bytearray, value: Any) -> None:
        out.append(1 if value else 0)

    return Primitive("bool", lambda _flexible, _nullable: read, lambda _flexible, _nullable: write, default=False)


INT8: Final = _number("int8", _INT8)
INT16: Final = _number("int16", _INT16)
INT32: Final = _number("int32", _INT32)
INT64: Final = _number("int64", _INT64)
BOOL: Final = _bool()
UUID_: Final = _uuid()
STRING: Final = _sized("string", wide=False, decode=_decode_text, encode=_encode_text, default="")
BYTES: Final = _sized("bytes", wide=True, decode=bytes, encode=bytes, default=b"")
