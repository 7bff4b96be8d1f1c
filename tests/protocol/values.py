"""Values that a schema can express, for property tests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from kafka_groups.protocol import Array, Field, Inline, Primitive, Struct
from tests.protocol.kio_bridge import ERROR_CODES


def integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return st.integers(low, high) | st.sampled_from([low, -1, 0, 1, high])


# 126 and 127, 16382 and 16383: where a length plus one takes another byte as a varint. 32767: Kafka's limit.
_LONG_TEXTS = ["x" * 126, "x" * 127, "é" * 64, "x" * 16382, "x" * 16383, "x" * 32767]
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "int8": integers(8),
    "int16": integers(16),
    "int32": integers(32),
    "int64": integers(64),
    "uint16": st.integers(0, 2**16 - 1) | st.sampled_from([0, 2**15, 2**16 - 1]),
    "bool": st.booleans(),
    "uuid": st.just(UUID(int=0)) | st.uuids(),
    "string": st.text(max_size=12) | st.just("") | st.sampled_from(_LONG_TEXTS),
    "bytes": st.binary(max_size=12) | st.sampled_from([b"", bytes(127), bytes(range(256)) * 64]),
}
# kio has durations in its place, which are exact for some years only.
_LIFETIMES = integers(40)
_SHORT_TEXTS = st.text(max_size=3)


@cache  # hypothesis validates each strategy once, which costs more than most draws
def structs(fields: tuple[Field, ...], version: int) -> st.SearchStrategy[Struct]:
    return st.fixed_dictionaries({field.name: _values(field, version) for field in fields if field.is_in(version)})


def _values(field: Field, version: int) -> st.SearchStrategy[Any]:
    strategy = _never_null(field, version)
    return st.none() | strategy if field.is_nullable(version) else strategy


def _never_null(field: Field, version: int) -> st.SearchStrategy[Any]:
    if field.name in ("session_lifetime_ms", "retention_time_ms"):
        return _LIFETIMES
    match field.type:
        case Primitive():
            return st.sampled_from(ERROR_CODES) if field.name == "error_code" else VALUES[field.type.name]
        case Inline(fields):
            return structs(fields, version)
        case Array(Primitive(name="string")):
            return st.lists(VALUES["string"], max_size=2) | _SHORT_TEXTS.map(lambda one: [one] * 128)
        case Array(Primitive(name=name)):
            return st.lists(VALUES[name], max_size=3) | VALUES[name].map(lambda one: [one] * 127)
        case Array(tuple() as fields):
            return st.lists(structs(fields, version), max_size=2)
    raise AssertionError(field)
