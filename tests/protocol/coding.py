"""Values as bytes in hexadecimal digits, and back, by the protocol package alone."""

from __future__ import annotations

from typing import Any

from kafka_groups.protocol import (
    Array,
    Cursor,
    Field,
    Inline,
    Primitive,
    compile_reader,
    compile_writer,
)


def written(kind: Primitive, value: Any, *, flexible: bool = False, nullable: bool = False) -> str:
    out = bytearray()
    kind.write(flexible, nullable)(out, value)
    return out.hex()


def read(kind: Primitive, data: str, *, flexible: bool = False, nullable: bool = False) -> tuple[Any, int]:
    cursor = Cursor(bytes.fromhex(data))
    return kind.read(flexible, nullable)(cursor), cursor.remaining()


def struct_written(
    fields: tuple[Field, ...], values: dict[str, Any], *, version: int = 0, flexible: bool = False
) -> str:
    out = bytearray()
    compile_writer(fields, version=version, flexible=flexible)(out, values)
    return out.hex(" ")


def struct_read(fields: tuple[Field, ...], data: str, *, version: int = 0, flexible: bool = False) -> dict[str, Any]:
    cursor = Cursor(bytes.fromhex(data))
    struct: dict[str, Any] = compile_reader(fields, version=version, flexible=flexible)(cursor)
    assert cursor.remaining() == 0
    return struct


def nullable(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of a message that may hold null everywhere, which a test writes in place of the real one."""
    return tuple(field._replace(type=_nullable_type(field.type), nullable_since=_since(field)) for field in fields)


def _since(field: Field) -> int | None:
    # A struct that may be null begins with another byte than one that may not.
    return field.nullable_since if isinstance(field.type, Inline) else 0


def _nullable_type(kind: Primitive | Array | Inline) -> Primitive | Array | Inline:
    match kind:
        case Array(element) if not isinstance(element, Primitive):
            return Array(nullable(element))
        case Inline(fields):
            return Inline(nullable(fields))
    return kind
