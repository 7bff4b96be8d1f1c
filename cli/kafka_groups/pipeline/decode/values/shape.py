"""What the table of a record type says, and how its values are read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final

from kafka_groups.protocol import Cursor, Field, Read, SchemaError, Struct, compile_reader


@dataclass(frozen=True, slots=True)
class ValueSchema:
    """The values of one record type: its fields, its versions, and the first one with compact texts and tags.

    `once` are other fields that an early release wrote under the same version, by which no value of today can be read.
    """

    fields: tuple[Field, ...]
    versions: range = range(1)
    flexible_since: int = 0
    once: tuple[Field, ...] | None = None


# A value starts with its version, a key with its type.
PREFIX_BYTES: Final = 2


def read_prefix(cursor: Cursor) -> int:
    """Read the version or type at the cursor."""
    return int.from_bytes(cursor.take(PREFIX_BYTES), "big", signed=True)


def read_value(schema: ValueSchema, value: bytes) -> Struct:
    """Read the fields of a value; SchemaError, with a sentence, if it is not exactly as the schema says."""
    cursor = Cursor(value)
    version = read_prefix(cursor)
    if version not in schema.versions:
        msg = f"version {version} of the value is not known, only {schema.versions[0]} to {schema.versions[-1]}"
        raise SchemaError(msg)
    flexible = version >= schema.flexible_since
    try:
        return _read_all(cursor, _reader(schema.fields, version, flexible=flexible))
    except SchemaError:
        if schema.once is not None:
            with suppress(SchemaError):
                return _read_all(Cursor(value[PREFIX_BYTES:]), _reader(schema.once, version, flexible=flexible))
        raise


def _read_all(cursor: Cursor, read: Read) -> Struct:
    found: Struct = read(cursor)
    # A broker never leaves bytes over, so these are of a layout that nobody here has seen.
    if cursor.remaining():
        msg = f"{cursor.remaining()} bytes are left over after the value"
        raise SchemaError(msg)
    return found


@cache
def _reader(fields: tuple[Field, ...], version: int, *, flexible: bool) -> Read:
    return compile_reader(fields, version=version, flexible=flexible)
