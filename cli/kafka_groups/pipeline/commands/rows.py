"""The rows of the pipeline's commands and their columns: what a table holds, what a doctor found."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_groups.rendering.columns import Column


class SizeRow(NamedTuple):
    """A table of a directory, and what it holds."""

    table: str
    rows: int
    files: int
    bytes: int
    first_date: str | None
    last_date: str | None


class ColumnRow(NamedTuple):
    """A column of a table, and what it promises."""

    table: str
    name: str
    type: str
    about: str


class TableRows(NamedTuple):
    """A table and the rows that it was given."""

    table: str
    rows: int


class Number(NamedTuple):
    """A number that a command has of its work."""

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
WRITTEN: Final = (Column("TABLE", "table"), Column("ROWS", "rows", is_number=True))
