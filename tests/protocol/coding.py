"""Values as bytes in hexadecimal digits, and back, by the protocol package alone."""

from __future__ import annotations

from typing import Any

from kafka_groups.protocol import (
    Cursor,
    Field,
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
