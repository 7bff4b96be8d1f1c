"""A table: a frame that is stored, one directory of Parquet files for each date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_groups.pipeline.frames.columns import Column
from kafka_groups.pipeline.frames.frame import Frame
from kafka_groups.pipeline.tables.spark_types import spark_type_name
from kafka_groups.pipeline.tables.sql import Identifier, Sql, render_spark_sql


@dataclass(frozen=True, slots=True)
class Table:
    """A stored frame.

    `identity` has the names of the columns that identify a row; rows that agree in all of them are the same row, read
    twice. `dated_by` is the name of the column with a time, whose date (UTC) partitions the table. A derived table can
    be built again, date by date, from tables of facts. Facts were read from brokers, and nothing brings them back.
    """

    name: str
    frame: type[Frame]
    identity: tuple[str, ...]
    dated_by: str
    derived: bool

    @property
    def about(self) -> str:
        """The meaning of a row, as a sentence."""
        return " ".join((self.frame.__doc__ or "").split())

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns without the date, which is part of the names of directories."""
        return self.frame.columns()

    def arrow(self) -> Any:
        """Return the columns as an Arrow schema, without the date."""
        return self.frame.schema()

    def ddl(self, separator: str = ", ") -> str:
        """Return the columns as Spark's DDL, with `date`."""
        columns = [f"`{column.name}` {spark_type_name(column.type)}" for column in self.columns]
        return separator.join([*columns, "`date` DATE"])

    def create_statement(self, location: str) -> str:
        """Return the CREATE TABLE statement for a catalog (Unity Catalog, Glue, Hive) of the table at its location."""
        return render_spark_sql(
            "CREATE TABLE IF NOT EXISTS {name} (\n  {columns}\n)\n"
            "USING DELTA\nPARTITIONED BY ({date})\nLOCATION {location};",
            name=Sql(self.name),
            columns=Sql(self.ddl(",\n  ")),
            date=Identifier("date"),
            location=location,
        )
