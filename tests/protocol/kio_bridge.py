"""Conversion between plain values and the classes of the package `kio`, which checks this project's bytes.

kio's classes are generated from Kafka's schemas and have the same fields in other types: error codes are
enum members, durations are timedeltas that lost their unit's suffix, arrays are tuples, and an
all-zero UUID is None.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.serial._introspect import EntityField, EntityTupleField, classify_field, get_field_tag, is_optional

from kafka_groups.protocol import Array, Field, Inline, Primitive, Struct
from kafka_groups.protocol.messages import Api

ERROR_CODES = tuple(int(code) for code in ErrorCode)
_DURATIONS = {"timedelta_i32": "int32", "timedelta_i64": "int64"}
_PLAIN_TYPES = {"error_code": "int16", **_DURATIONS}
_MILLISECOND = timedelta(milliseconds=1)


class Line(NamedTuple):
    """One field of a message in one version, from a schema or from kio."""

    path: str
    type: str
    nullable: bool


def kio_class(api: Api, kind: str, version: int) -> Any:
    """Return the class of kio for a request or a response."""
    return _class(f"{_snake(api.name)}.v{version}.{kind}", f"{api.name}{kind.capitalize()}")


def assignment_class(version: int) -> Any:
    """Return the class of kio for the bytes of a member's assignment."""
    return _class(f"consumer_protocol_assignment.v{version}.data", "ConsumerProtocolAssignment")


def kio_bytes(cls: Any, values: Struct) -> bytes:
    """Return the bytes that kio writes for these values."""
    out = io.BytesIO()
    entity_writer(cls)(out, _to_kio(cls, values))
    return out.getvalue()


def kio_values(cls: Any, data: bytes) -> Struct:
    """Return the values that kio reads from these bytes. AssertionError if it does not read all of them."""
    entity, size = entity_reader(cls)(data, 0)
    assert size == len(data)
    return _from_kio(entity)


def kio_outline(cls: Any, path: str = "") -> Iterator[Line]:
    """Yield every untagged field of a class and of those within, in the order of the bytes."""
    for field in _untagged(cls):
        name = path + _schema_name(field)
        kafka_type = field.metadata.get("kafka_type", "struct")
        # kio's UUIDs are always optional; None stands for zero, not for null.
        yield Line(name, _PLAIN_TYPES.get(kafka_type, kafka_type), is_optional(field) and kafka_type != "uuid")
        yield from kio_outline(inner, f"{name}.") if (inner := _inner_class(field)) else ()


def kio_defaults(cls: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the default of every field within that is not an array and has one in Kafka's schema."""
    for field in _untagged(cls):
        name = path + _schema_name(field)
        if field.default not in (dataclasses.MISSING, ()):
            yield name, _to_plain_value(field, field.default)
        yield from kio_defaults(inner, f"{name}.") if (inner := _inner_class(field)) else ()


def schema_outline(fields: tuple[Field, ...], version: int, path: str = "") -> Iterator[Line]:
    """Yield every untagged field of a schema of the package in a version, in the order of the bytes."""
    for field in _present(fields, version):
        yield Line(path + field.name, _type_name(field), field.is_nullable(version))
        yield from schema_outline(_inner_fields(field), version, f"{path}{field.name}.")


def schema_defaults(fields: tuple[Field, ...], version: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the value of each field within that a caller omits."""
    for field in _present(fields, version):
        yield path + field.name, field.absent_value()
        yield from schema_defaults(_inner_fields(field), version, f"{path}{field.name}.")


def present_values(fields: tuple[Field, ...], version: int, struct: Struct) -> Struct:
    """Return a struct without the defaults of fields that its version does not have."""
    return {field.name: _present_value(field, version, struct[field.name]) for field in _present(fields, version)}


def _present_value(field: Field, version: int, value: Any) -> Any:
    inner = _inner_fields(field)
    if not inner or value is None:
        return value
    if isinstance(value, dict):
        return present_values(inner, version, value)
    return [present_values(inner, version, element) for element in value]


def _present(fields: tuple[Field, ...], version: int) -> Iterator[Field]:
    return (field for field in fields if field.is_in(version) and field.tag is None)


def _inner_fields(field: Field) -> tuple[Field, ...]:
    if isinstance(field.type, Inline):
        return field.type.fields
    if isinstance(field.type, Array) and not isinstance(field.type.element, Primitive):
        return field.type.element
    return ()


def _type_name(field: Field) -> str:
    kind = field.type.element if isinstance(field.type, Array) else field.type
    return kind.name if isinstance(kind, Primitive) else "struct"


def _class(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"kio.schema.{module}"), name)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _untagged(cls: Any) -> list[Any]:
    return [field for field in dataclasses.fields(cls) if get_field_tag(field) is None]


def _schema_name(field: Any) -> str:
    return f"{field.name}_ms" if field.metadata.get("kafka_type") in _DURATIONS else str(field.name)


def _inner_class(field: Any) -> Any:
    shape = classify_field(field)
    return shape.type_ if isinstance(shape, EntityField | EntityTupleField) else None


def _to_kio(cls: Any, values: Struct) -> Any:
    """Return the kio object of these values, which may include tagged fields. TypeError if kio does not know a key."""
    fields = {_schema_name(field): field for field in dataclasses.fields(cls)}
    return cls(**{fields[name].name: _to_kio_value(fields[name], value) for name, value in values.items()})


def _to_kio_value(field: Any, value: Any) -> Any:
    inner = _inner_class(field)
    match value, field.metadata.get("kafka_type"):
        case list(), _:
            return tuple(_to_kio(inner, element) if inner else element for element in value)
        case dict(), _:
            return _to_kio(inner, value)
        case int(), "error_code":
            return ErrorCode(value)
        case int(), kind if kind in _DURATIONS:
            return value * _MILLISECOND
    return value


def _from_kio(entity: Any) -> Struct:
    return {
        _schema_name(field): _to_plain_value(field, getattr(entity, field.name)) for field in _untagged(type(entity))
    }


def _to_plain_value(field: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return [_from_kio(element) if dataclasses.is_dataclass(element) else element for element in value]
    if dataclasses.is_dataclass(value):
        return _from_kio(value)
    if isinstance(value, timedelta):
        return value // _MILLISECOND
    if value is None and field.metadata.get("kafka_type") == "uuid":
        return UUID(int=0)
    return value
