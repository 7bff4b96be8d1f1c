"""What a table and a column are, and how Spark spells their types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: pa.DataType
    about: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: `identity` are the columns that identify a row, `dated_by` the time whose date partitions it.

    A derived table is written again, date by date, from the others; the rest are facts that nothing can bring back.
    """

    name: str
    about: str
    identity: tuple[str, ...]
    dated_by: str
    columns: tuple[Column, ...]
    derived: bool = False

    def arrow(self) -> pa.Schema:
        """Return its columns for Arrow, without the date, which stands in directory names."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def ddl(self) -> str:
        """Return its columns for Spark, `date` included."""
        columns = ", ".join(f"`{column.name}` {spell_type(column.type)}" for column in self.columns)
        return f"{columns}, `date` DATE"


def create_statement(table: Table, location: str) -> str:
    """Return the statement by which a catalog of Spark (Unity, Glue, Hive) learns of a table at its location."""
    columns = [f"  `{column.name}` {spell_type(column.type)}" for column in table.columns]
    quoted = location.replace("'", "\\'")
    return (
        f"CREATE TABLE IF NOT EXISTS {table.name} (\n"
        + ",\n".join([*columns, "  `date` DATE"])
        + f"\n)\nUSING DELTA\nPARTITIONED BY (`date`)\nLOCATION '{quoted}';"
    )


def spell_type(kind: pa.DataType, *, is_short: bool = False) -> str:
    """Return an Arrow type as Spark writes it; a short one omits what a struct consists of."""
    if pa.types.is_struct(kind):
        inner = "…" if is_short else ", ".join(f"`{field.name}`: {spell_type(field.type)}" for field in kind)
        return f"STRUCT<{inner}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{spell_type(kind.value_type, is_short=is_short)}>"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    return _SPELLED[kind]


_SPELLED: Final = {
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.bool_(): "BOOLEAN",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
}

TEXT: Final = pa.string()
INT: Final = pa.int32()
LONG: Final = pa.int64()
REAL: Final = pa.float64()
FLAG: Final = pa.bool_()
TEXTS: Final = pa.list_(pa.string())

CLUSTER: Final = Column("cluster_id", TEXT, "Kafka's id of the cluster")
GROUP: Final = Column("group", TEXT, "id of the group")
TOPIC: Final = Column("topic", TEXT, "name of the topic")
PARTITION: Final = Column("partition", INT, "partition of the topic")
