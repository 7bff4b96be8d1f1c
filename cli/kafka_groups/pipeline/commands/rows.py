"""The rows that the pipeline's commands write, and their columns."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_groups.rendering.columns import Column


class SizeRow(NamedTuple):
    """One row per table of a directory, with its size. Dates are YYYY-MM-DD, and None for a table without rows."""

    table: str
    rows: int
    files: int
    bytes: int
    first_date: str | None
    last_date: str | None


class ColumnRow(NamedTuple):
    """One row per column of a table, with its type and its description."""

    table: str
    name: str
    type: str
    about: str


class TableRows(NamedTuple):
    """One row per table, with the number of rows that a command wrote to it."""

    table: str
    rows: int


class ClusterTableRows(NamedTuple):
    """One row per cluster and table, with the number of rows that a command wrote to it; the cluster's name and id."""

    cluster: str | None
    cluster_id: str | None
    table: str
    rows: int


class Number(NamedTuple):
    """One row per number that a command reports, such as the number of batches; None if unknown."""

    what: str
    number: int | None


SIZES: Final = (
    Column("TABLE", "table"),
    Column("ROWS", "rows", is_number=True),
    Column("FILES", "files", is_number=True),
    Column("BYTES", "bytes", is_number=True),
    Column("FIRST-DATE", "first_date"),
    Column("LAST-DATE", "last_date"),
)
COLUMNS: Final = (
    Column("TABLE", "table"),
    Column("COLUMN", "name"),
    Column("TYPE", "type", when_narrow="fold"),
    Column("ABOUT", "about", when_narrow="fold"),
)
CHECKS: Final = (Column("CHECK", "check"), Column("STATUS", "status"), Column("DETAIL", "detail", when_narrow="fold"))
NUMBERS: Final = (Column("WHAT", "what"), Column("NUMBER", "number", is_number=True))
CLUSTER: Final = Column("CLUSTER", "cluster")
CLUSTER_ID: Final = Column("CLUSTER-ID", "cluster_id")
WRITTEN: Final = (Column("TABLE", "table"), Column("ROWS", "rows", is_number=True))
