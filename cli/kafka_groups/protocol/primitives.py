"""Kafka's primitive types (numbers, strings, bytes, UUIDs), and the cursor that they are read at.

Every count and length is bounded by the remaining bytes, so a malformed response costs an error and
never memory. A null where the schema has none is read as empty, because one such value must not hide all others of a
response; it is never written. Of the negative lengths only -1 is null, and any other is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

Read: TypeAlias = Callable[["Cursor"], Any]
Write: TypeAlias = Callable[[bytearray, Any], None]

_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_MAX_VARINT_BYTES: Final = 5
_MORE_FOLLOWS: Final = 0x80
_MAX_UNSIGNED: Final = 2**32 - 1
_MAX_STRING: Final = 0x7FFF
_NULL: Final = -1


class SchemaError(ValueError):
    """Bytes that do not match their schema, or a value that does not fit its field."""


class Cursor:
    """A position in some bytes; the readers below advance it.

    `has_stray_null` is whether they read a null where the schema has none.
    """

    __slots__ = ("data", "has_stray_null", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position
        self.has_stray_null = False

    def remaining(self) -> int:
        """Return the number of bytes not yet read."""
        return len(self.data) - self.position

    def end(self) -> None:
        """Check the end of a message. SchemaError if bytes are left behind a stray null: no null, but other bytes."""
        if self.has_stray_null and self.remaining():
            msg = f"{self.remaining()} bytes are left over behind a null that the schema does not have"
            raise SchemaError(msg)

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes and move past them; SchemaError if there are fewer."""
        start = self.position
        end = start + size
        if size < 0 or end > len(self.data):
            msg = f"{size} bytes declared, {self.remaining()} remaining"
            raise SchemaError(msg)
        self.position = end
        return self.data[start:end]


def read_unsigned_varint(cursor: Cursor) -> int:
    """Read a base-128 number of at most 32 bits, least significant group first. SchemaError if it is longer."""
    at = cursor.position
    # Nearly all of them are one byte: lengths of names, empty sets of tags.
    if at < len(cursor.data) and cursor.data[at] < _MORE_FOLLOWS:
        cursor.position = at + 1
        return cursor.data[at]
    value = shift = 0
    for byte in cursor.data[cursor.position : cursor.position + _MAX_VARINT_BYTES]:
        cursor.position += 1
        value |= (byte & (_MORE_FOLLOWS - 1)) << shift
        if byte < _MORE_FOLLOWS:
            if value > _MAX_UNSIGNED:
                msg = f"{value} does not fit in 32 bits"
                raise SchemaError(msg)
            return value
        shift += 7
    raise SchemaError("a variable-length number is not terminated")


def read_nullable_count(cursor: Cursor, *, flexible: bool) -> int | None:
    """Read the number of elements of an array, None for a null array; SchemaError if it exceeds the remaining bytes."""
    count = read_unsigned_varint(cursor) - 1 if flexible else int(_INT32.unpack(cursor.take(4))[0])
    # Every element takes at least a byte, so a larger count is wrong, whatever follows.
    if not _NULL <= count <= cursor.remaining():
        msg = f"{count} array elements declared, {cursor.remaining()} bytes remaining"
        raise SchemaError(msg)
    return None if count == _NULL else count


def read_count(cursor: Cursor, *, flexible: bool) -> int:
    """Read the number of elements of an array, 0 for a null array; SchemaError if it exceeds the remaining bytes."""
    count = read_nullable_count(cursor, flexible=flexible)
    if count is None:
        cursor.has_stray_null = True
    return count or 0


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


class Primitive(NamedTuple):
    """A type without parts; `read` and `write` return its reader and writer for (flexible, nullable)."""

    name: str
    read: Callable[[bool, bool], Read]
    write: Callable[[bool, bool], Write]
    default: Any


def write_length(out: bytearray, length: int | None, *, flexible: bool, wide: bool) -> None:
    """Append a length, None for null: a varint where flexible, else four bytes if `wide`, two if not."""
    # Compact strings could be longer, but Kafka neither writes nor reads such (it closes the connection).
    if not wide and length is not None and length > _MAX_STRING:
        msg = f"a string of {length} bytes is too long; the limit is {_MAX_STRING} bytes"
        raise SchemaError(msg)
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
            value = unpack_from(cursor.data, cursor.position)[0]
        except struct.error:
            msg = f"{name}: {size} bytes expected, {cursor.remaining()} remaining"
            raise SchemaError(msg) from None
        cursor.position += size
        return value

    def write(out: bytearray, value: Any) -> None:
        try:
            out += layout.pack(value)
        except struct.error as error:
            msg = f"{value!r} is not an {name}"
            raise SchemaError(msg) from error

    return Primitive(name, lambda _flexible, _nullable: read, lambda _flexible, _nullable: write, 0)


def _sized(
    name: str, *, wide: bool, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes], default: Any
) -> Primitive:
    """Return a type of variable size: its length (two bytes, four if `wide`, a varint if flexible), then its bytes."""

    def make_read(flexible: bool, nullable: bool) -> Read:
        layout = _INT32 if wide else _INT16

        def read(cursor: Cursor) -> Any:
            at = cursor.position
            data = cursor.data
            # A short value, as nearly all names are: its length takes one byte, and all of its bytes are there.
            if flexible and at < len(data) and 0 < data[at] < _MORE_FOLLOWS and at + data[at] <= len(data):
                cursor.position = end = at + data[at]
                return decode(data[at + 1 : end])
            size = read_unsigned_varint(cursor) - 1 if flexible else layout.unpack(cursor.take(layout.size))[0]
            if size != _NULL:
                return decode(cursor.take(size))
            if nullable:
                return None
            cursor.has_stray_null = True
            return default

        return read

    def make_write(flexible: bool, nullable: bool) -> Write:
        def write(out: bytearray, value: Any) -> None:
            if value is None and not nullable:
                msg = f"this {name} may not be null"
                raise SchemaError(msg)
            body = None if value is None else encode(value)
            if flexible and body is not None and len(body) < _MORE_FOLLOWS - 1:  # its length takes one byte
                out.append(len(body) + 1)
                out += body
                return
            write_length(out, None if body is None else len(body), flexible=flexible, wide=wide)
            out += body or b""

        return write

    return Primitive(name, make_read, make_write, default)


def decode_string(body: bytes) -> str:
    """Return a string from its bytes; bytes that are not UTF-8 become surrogates, so that no other name equals it."""
    return body.decode("utf-8", "surrogateescape")


def decode_visibly(body: bytes) -> str:
    r"""Return a string from its bytes, with a visible `\xff` for a byte that is not UTF-8: for files of UTF-8 only."""
    return body.decode("utf-8", "backslashreplace")


def _encode_string(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        # Kafka's brokers would accept other bytes, and alter them.
        msg = f"{text!r} is not UTF-8; write it in UTF-8"
        raise SchemaError(msg) from error


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
UINT16: Final = _number("uint16", struct.Struct(">H"))
BOOL: Final = _bool()
UUID_: Final = _uuid()
STRING: Final = _sized("string", wide=False, decode=decode_string, encode=_encode_string, default="")
VISIBLE_STRING: Final = _sized("string", wide=False, decode=decode_visibly, encode=_encode_string, default="")
BYTES: Final = _sized("bytes", wide=True, decode=bytes, encode=bytes, default=b"")
