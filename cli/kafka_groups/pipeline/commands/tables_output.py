"""The output of `pipeline tables`: the documentation of tables and columns, sizes, and SQL for a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_groups.pipeline.commands.command_run import Run
from kafka_groups.pipeline.commands.rows import COLUMNS, SIZES, ColumnRow, SizeRow
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.writers.whole_result import write_rows

if TYPE_CHECKING:
    from kafka_groups.pipeline.store import Storage
    from kafka_groups.pipeline.tables import Table


def write_tables(run: Run, storage: Storage | None) -> None:
    """Write all tables: JSON has their documentation and sizes, other formats the sizes, or without storage columns.

    Raises StorageError.
    """
    from kafka_groups.pipeline.tables import SCHEMA_VERSION, TABLES

    sizes = {} if storage is None else _measure_tables(storage)
    if run.output_format == "json":
        documents = [_table_document(table, sizes.get(table.name)) for table in TABLES.values()]
        run.write({"schema_version": SCHEMA_VERSION, "tables": documents})
    elif storage is None:
        write_rows(run.screen, COLUMNS, _column_rows(is_short=run.output_format == "table"), run.output_format)
    else:
        write_rows(run.screen, SIZES, sizes.values(), run.output_format)


def create_statements(storage: Storage) -> list[str]:
    """Return a CREATE TABLE statement for each table that has a version. Raises StorageError."""
    from kafka_groups.pipeline.tables import TABLES

    directory = storage.directory
    return [
        table.create_statement(directory.address(directory.join(table.name)))
        for table in TABLES.values()
        if storage.log(table).delta_table is not None
    ]


def _measure_tables(storage: Storage) -> Mapping[str, SizeRow]:
    """Return the size of each table by its name."""
    from kafka_groups.pipeline.store.table_sizes import measure_tables

    return {table: SizeRow(table, **size._asdict()) for table, size in measure_tables(storage).items()}


def _column_rows(*, is_short: bool) -> list[ColumnRow]:
    """Return a row for each column of each table; `is_short` omits the fields of structs."""
    from kafka_groups.pipeline.tables import TABLES
    from kafka_groups.pipeline.tables.spark_types import spark_type_name

    return [
        ColumnRow(table.name, column.name, spark_type_name(column.type, is_short=is_short), column.about)
        for table in TABLES.values()
        for column in table.columns
    ]


def _table_document(table: Table, size: SizeRow | None) -> Document:
    """Return the object of a table; its size is null where it is not known."""
    from kafka_groups.pipeline.tables.spark_types import spark_type_name

    return {
        "table": table.name,
        "about": table.about,
        "derived": table.is_derived,
        "identity": list(table.identity),
        "time_column": table.time_column,
        "columns": [
            {"name": column.name, "type": spark_type_name(column.type), "about": column.about}
            for column in table.columns
        ],
        "rows": None if size is None else size.rows,
        "files": None if size is None else size.files,
        "bytes": None if size is None else size.bytes,
        "first_date": None if size is None else size.first_date,
        "last_date": None if size is None else size.last_date,
    }
