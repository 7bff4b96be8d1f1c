"""Numbers, texts, bytes and ids as Kafka encodes them, and the place in some bytes where they are read.

Every count and length is bounded by the bytes that are left, so a wrong answer costs an error and
never memory.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
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
_MAX_TEXT: Final = 0x7FFF


class SchemaError(ValueError):
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
        """The next `size` bytes; SchemaError if there are fewer."""
        start = self.at
        end = start + size
        if size < 0 or end > len(self.data):
            msg = f"{size} bytes announced, {self.left()} left"
            raise SchemaError(msg)
        self.at = end
        return self.data[start:end]


def read_unsigned_varint(cursor: Cursor) -> int:
    """The base-128 number at the cursor, least significant group first (at most 32 bits)."""
    at = cursor.at
    # Nearly all of them are one byte: lengths of names, empty sets of tags.
    if at < len(cursor.data) and cursor.data[at] < _MORE_FOLLOWS:
        cursor.at = at + 1
        return cursor.data[at]
    value = shift = 0
    for byte in cursor.data[cursor.at : cursor.at + _MAX_VARINT_BYTES]:
        cursor.at += 1
        value |= (byte & (_MORE_FOLLOWS - 1)) << shift
        if byte < _MORE_FOLLOWS:
            if value > _MAX_UNSIGNED:
                msg = f"{value} does not fit in 32 bits"
                raise SchemaError(msg)
            return value
        shift += 7
    raise SchemaError("a variable-length number does not end")


def read_nullable_count(cursor: Cursor, *, flexible: bool) -> int | None:
    """The number of elements that follow, None for a null array; SchemaError if more than bytes are left."""
    count = read_unsigned_varint(cursor) - 1 if flexible else int(_INT32.unpack(cursor.take(4))[0])
    # Every element takes at least a byte, so a larger count is a lie, whatever follows.
    if count > cursor.left():
        msg = f"{count} elements announced, {cursor.left()} bytes left"
        raise SchemaError(msg)
    return None if count < 0 else count


def read_count(cursor: Cursor, *, flexible: bool) -> int:
    """The number of elements that follow; SchemaError if the array is null or more than bytes are left."""
    count = read_nullable_count(cursor, flexible=flexible)
    if count is None:
        raise SchemaError("an array is null that may not be")
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


def write_length(out: bytearray, length: int | None, *, flexible: bool, wide: bool) -> None:
    """Append a length, None for null: a varint where flexible, else four bytes if `wide`, two if not."""
    # Compact texts could be longer, but Kafka neither writes nor reads such (it closes the connection).
    if not wide and length is not None and length > _MAX_TEXT:
        msg = f"a text of {length} bytes does not fit; {_MAX_TEXT} is the limit"
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
            value = unpack_from(cursor.data, cursor.at)[0]
        except struct.error:
            msg = f"{name}: {size} bytes expected, {cursor.left()} left"
            raise SchemaError(msg) from None
        cursor.at += size
        return value

    def write(out: bytearray, value: Any) -> None:
        try:
            out += layout.pack(value)
        except struct.error as error:
            msg = f"{value!r} is no {name}"
            raise SchemaError(msg) from error

    return Primitive(name, lambda _flexible, _nullable: read, lambda _flexible, _nullable: write, 0)


def _sized(
    name: str, *, wide: bool, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes], default: Any
) -> Primitive:
    """Text or bytes: a length (two bytes or four; a varint where flexible), then that many bytes."""

    def make_read(flexible: bool, nullable: bool) -> Read:
        layout = _INT32 if wide else _INT16

        def read(cursor: Cursor) -> Any:
            at, data = cursor.at, cursor.data
            # A short one, as nearly all names are: its length is one byte, and all of it is there.
            if flexible and at < len(data) and 0 < data[at] < _MORE_FOLLOWS and at + data[at] <= len(data):
                cursor.at = end = at + data[at]
                return decode(data[at + 1 : end])
            size = read_unsigned_varint(cursor) - 1 if flexible else layout.unpack(cursor.take(layout.size))[0]
            if size >= 0:
                return decode(cursor.take(size))
            if nullable:
                return None
            msg = f"a {name} is null"
            raise SchemaError(msg)

        return read

    def make_write(flexible: bool, nullable: bool) -> Write:
        def write(out: bytearray, value: Any) -> None:
            if value is None and not nullable:
                msg = f"this {name} may not be null"
                raise SchemaError(msg)
            body = None if value is None else encode(value)
            write_length(out, None if body is None else len(body), flexible=flexible, wide=wide)
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
BOOL: Final = _bool()
UUID_: Final = _uuid()
STRING: Final = _sized("string", wide=False, decode=_decode_text, encode=_encode_text, default="")
BYTES: Final = _sized("bytes", wide=True, decode=bytes, encode=bytes, default=b"")
