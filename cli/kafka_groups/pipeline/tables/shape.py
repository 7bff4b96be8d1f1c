"""What a table and a column are, the notation that they are written in, and how Spark spells their types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import Any, Final

import pyarrow as pa

from kafka_groups.surrogates import escape_bytes

TIME: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "TIMESTAMP": TIME,
    "ARRAY<STRING>": pa.list_(pa.string()),
    "ARRAY<INT>": pa.list_(pa.int32()),
}
_SPELLED: Final = {kind: name for name, kind in _TYPES.items()}


def _structs(fields: str) -> pa.DataType:
    return pa.list_(pa.struct([(name, _TYPES[kind]) for name, kind in map(str.split, fields.split(", "))]))


# KIP-848 and share groups write topic ids and no names, classic groups names and no ids.
_TYPES["ASSIGNMENT"] = _structs("topic STRING, topic_id STRING, partitions ARRAY<INT>")
_TYPES["MEMBERS"] = _structs(
    "member_id STRING, group_instance_id STRING, client_id STRING, client_host STRING, rebalance_timeout_ms INT, "
    "session_timeout_ms INT, topics ARRAY<STRING>, assignment ASSIGNMENT"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: pa.DataType
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: `identity` are the columns that identify a row, `dated_by` the time whose date partitions it.

    A derived table is written again, date by date, from facts, which were read from brokers: nothing brings them back.
    """

    name: str
    about: str
    identity: tuple[str, ...]
    dated_by: str
    columns: tuple[Column, ...]
    derived: bool

    def arrow(self) -> pa.Schema:
        """Return its columns for Arrow, without the date, which stands in directory names."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def ddl(self, separator: str = ", ") -> str:
        """Return its columns for Spark, `date` included."""
        columns = [f"`{column.name}` {spell_type(column.type)}" for column in self.columns]
        return separator.join([*columns, "`date` DATE"])


def create_statement(table: Table, location: str) -> str:
    """Return the statement by which a catalog of Spark (Unity, Glue, Hive) learns of a table at its location."""
    columns = table.ddl(",\n  ")
    quoted = location.replace("'", "\\'")
    return (
        f"CREATE TABLE IF NOT EXISTS {table.name} (\n  {columns}\n)\n"
        f"USING DELTA\nPARTITIONED BY (`date`)\nLOCATION '{quoted}';"
    )


def spell_type(kind: pa.DataType, *, is_short: bool = False) -> str:
    """Return an Arrow type as Spark writes it; a short one omits what a struct consists of."""
    if pa.types.is_struct(kind):
        inner = "…" if is_short else ", ".join(f"`{field.name}`: {spell_type(field.type)}" for field in kind)
        return f"STRUCT<{inner}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{spell_type(kind.value_type, is_short=is_short)}>"
    return _SPELLED[kind]


def parse_tables(text: str) -> tuple[Table, ...]:
    """Return tables, which blank lines separate.

    The first line of each has its name and what it has, the second one its identity and the column that dates its rows.
    A column is a line `name TYPE: what it says`; a line of names stands for columns as in the first table with such.
    """
    tables, known = list[Table](), dict[str, Column]()
    for table in "\n".join(logical_lines(text)).split("\n\n"):
        title, kind, *lines = table.splitlines()
        name, _, about = title.partition(": ")
        kind, identity, dated_by = re.split("; identity |; dated by ", kind)
        columns = tuple(column for line in lines for column in _parse_columns(line, known))
        known = {column.name: column for column in columns} | known
        tables.append(Table(name, about, tuple(identity.split(", ")), dated_by, columns, derived=kind == "derived"))
    return tuple(tables)


def _parse_columns(line: str, known: Mapping[str, Column]) -> list[Column]:
    head, _, about = line.partition(": ")
    if not about:
        return [known[name] for name in head.split(", ")]
    name, kind = head.split()
    return [Column(name, _TYPES[kind], about)]


def logical_lines(text: str) -> list[str]:
    """Return the lines of a text without their margin, each joined with those of a deeper margin behind it."""
    return re.sub(r"\n +", " ", dedent(text).strip()).splitlines()


def shaped(schema: pa.Schema, size: int, columns: Mapping[str, Any], same: Mapping[str, Any]) -> pa.RecordBatch:
    """Return `size` rows: columns, or values that all rows share (times: microseconds), else null."""

    def column(name: str, kind: pa.DataType) -> Any:
        if columns.get(name) is None:
            return pa.repeat(pa.scalar(same.get(name), kind), size)
        found = columns[name]
        return found.cast(kind) if isinstance(found, pa.Array) else _to_arrow(found, kind)

    return pa.RecordBatch.from_arrays([column(field.name, field.type) for field in schema], schema=schema)


def _to_arrow(values: Any, kind: pa.DataType) -> Any:
    """Return values as a column; a name that is not UTF-8, which some brokers return, has visible escapes in it."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(_escaped(values), kind)


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escape_bytes(value)
    if isinstance(value, Mapping):
        return {name: _escaped(each) for name, each in value.items()}
    return [_escaped(each) for each in value] if isinstance(value, list | tuple) else value
