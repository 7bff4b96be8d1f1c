"""Results that are whole before they are written: rows of one kind, in every format that has rows, and documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.documents import format_json
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.csv import CsvWriter
from kafka_groups.rendering.writers.table import write_table


def write_rows(screen: Screen, columns: Sequence[Column], rows: Iterable[Any], output_format: str) -> None:
    """Write rows as a table, csv, or a JSON object a line under their attributes' names."""
    rows = list(rows)
    if output_format == "csv":
        writer = CsvWriter(screen, columns)
        writer.add(Entry(columns, rows, dict))
    elif output_format == "ndjson":
        write_records(screen, ({column.attribute: column.of(row) for column in columns} for row in rows))
    else:
        write_table(screen, columns, rows)
    screen.out.flush()


def write_records(screen: Screen, records: Iterable[Document]) -> None:
    """Write each record as a JSON object on a line."""
    screen.out.writelines(format_json(screen, record) + "\n" for record in records)
    screen.out.flush()


def write_document(screen: Screen, document: Document, *, indent: int = 2) -> None:
    """Write one document, indented for people who look into it."""
    screen.out.write(format_json(screen, document, indent=indent) + "\n")
    screen.out.flush()
