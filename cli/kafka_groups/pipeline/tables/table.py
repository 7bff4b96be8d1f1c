"""A table: a frame that is stored as Parquet files, in one directory for each date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_groups.pipeline.frames.columns import Column
from kafka_groups.pipeline.frames.frame import Frame
from kafka_groups.pipeline.tables.spark_types import spark_type_name
from kafka_groups.pipeline.tables.sql import Identifier, Sql, render_spark_sql


@dataclass(frozen=True, slots=True)
class Table:
    """A frame that is stored.

    - `identity` names the columns that identify a row. Rows that are equal in all of them are one row, read twice.
    - `time_column` names the column of the row's time. The date of that time (UTC) partitions the table.
    - `is_derived` is true if a build can derive the table again from facts, date by date. Facts were read from brokers,
      and cannot be derived.
    """

    name: str
    frame: type[Frame]
    identity: tuple[str, ...]
    time_column: str
    is_derived: bool

    @property
    def about(self) -> str:
        """The meaning of a row, as a sentence."""
        return " ".join((self.frame.__doc__ or "").split())

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns without `date`, which is in the names of the directories instead."""
        return self.frame.columns()

    def arrow(self) -> Any:
        """Return the columns as an Arrow schema, without `date`."""
        return self.frame.schema()

    def ddl(self, separator: str = ", ") -> str:
        """Return the columns as Spark's DDL, with `date`."""
        columns = [f"`{column.name}` {spark_type_name(column.type)}" for column in self.columns]
        return separator.join([*columns, "`date` DATE"])

    def create_statement(self, location: str) -> str:
        """Return the CREATE TABLE statement that registers the table in a catalog (Unity Catalog, Glue, Hive)."""
        return render_spark_sql(
            "CREATE TABLE IF NOT EXISTS {name} (\n  {columns}\n)\n"
            "USING DELTA\nPARTITIONED BY ({date})\nLOCATION {location};",
            name=Sql(self.name),
            columns=Sql(self.ddl(",\n  ")),
            date=Identifier("date"),
            location=location,
        )
