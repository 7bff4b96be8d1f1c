"""Rows of one kind in every format: what a table holds, what a doctor found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.documents import format_json
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.screen import Screen, escape_controls
from kafka_groups.rendering.writers.csv import open_csv
from kafka_groups.rendering.writers.table import write_table


class TableSize(NamedTuple):
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


def write_rows(screen: Screen, columns: Sequence[Column], rows: Iterable[Any], output_format: str) -> None:
    """Write rows as a table, csv, or a JSON object a line under their attributes' names."""
    rows = list(rows)
    if output_format == "csv":
        writer = open_csv(screen)
        writer.writerow([column.header for column in columns])
        writer.writerows([_cell(screen, column.of(row)) for column in columns] for row in rows)
    elif output_format == "ndjson":
        write_records(screen, ({column.attribute: column.of(row) for column in columns} for row in rows))
    else:
        write_table(screen, columns, rows)
    screen.out.flush()


def write_records(screen: Screen, records: Iterable[Document]) -> None:
    """Write each record as a JSON object on a line."""
    for record in records:
        screen.out.write(format_json(screen, record) + "\n")
    screen.out.flush()


def write_document(screen: Screen, document: Document) -> None:
    """Write one document, indented for people who look into it."""
    screen.out.write(format_json(screen, document, indent=2) + "\n")
    screen.out.flush()


def _cell(screen: Screen, value: Any) -> Any:
    return escape_controls(value) if screen.out_is_terminal and isinstance(value, str) else value
