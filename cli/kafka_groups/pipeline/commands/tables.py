"""`kafka-groups pipeline tables`: the documentation of tables and columns, and the sizes of a directory's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafka_groups.options.output import output_options
from kafka_groups.pipeline.commands.command_run import start_run
from kafka_groups.pipeline.commands.options import optional_data_dir_option
from kafka_groups.pipeline.commands.rows import COLUMNS, SIZES, ColumnRow, SizeRow
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.writers.whole_result import write_rows

if TYPE_CHECKING:
    from kafka_groups.pipeline.tables import Table


@click.command(short_help="Show tables, columns and sizes.")
@optional_data_dir_option
@click.option(
    "--ddl",
    is_flag=True,
    help="Print CREATE TABLE statements for a catalog of Spark (Unity Catalog, Glue, Hive); needs --data-dir.",
)
@output_options()
def tables(*, data_dir: str | None, ddl: bool, output_format: str, colour: str) -> None:
    """Show every table and column with its type and meaning; with --data-dir, the size of each table.

    JSON has both. --data-dir "" ignores KAFKA_GROUPS_DATA_DIR. All formats except table show the fields of a STRUCT.

    Needs no cluster and no Java, but the extra pipeline.

    \b
    Examples:
      kafka-groups pipeline tables
      kafka-groups pipeline tables --data-dir history
      kafka-groups pipeline tables --data-dir history --ddl
    """
    if ddl and (data_dir is None or output_format != "table"):
        problem = "needs --data-dir" if data_dir is None else f"prints SQL: it contradicts --format {output_format}"
        msg = f"--ddl {problem}"
        raise click.UsageError(msg)
    with start_run("tables", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.tables import SCHEMA_VERSION, TABLES

        if ddl and data_dir is not None:
            run.bar.stop()
            click.echo("\n\n".join(_statements(data_dir)))
            return
        sizes = {} if data_dir is None else _sizes(data_dir)
        if output_format == "json":
            documents = [_document(table, sizes.get(table.name)) for table in TABLES.values()]
            run.write({"schema_version": SCHEMA_VERSION, "tables": documents})
        elif data_dir is None:
            write_rows(run.screen, COLUMNS, _column_rows(is_short=output_format == "table"), output_format)
        else:
            write_rows(run.screen, SIZES, sizes.values(), output_format)


def _statements(data_dir: str) -> list[str]:
    """Return a statement for each table that has a version. Raises StorageError."""
    from kafka_groups.pipeline.store import open_storage
    from kafka_groups.pipeline.tables import TABLES
    from kafka_groups.pipeline.tables.catalog import create_statement

    storage = open_storage(data_dir)
    return [
        create_statement(table, storage.directory.address(storage.directory.join(table.name)))
        for table in TABLES.values()
        if storage.log(table).delta_table is not None
    ]


def _column_rows(*, is_short: bool) -> list[ColumnRow]:
    from kafka_groups.pipeline.tables import TABLES
    from kafka_groups.pipeline.tables.spark_types import spell_type

    return [
        ColumnRow(table.name, column.name, spell_type(column.type, is_short=is_short), column.about)
        for table in TABLES.values()
        for column in table.columns
    ]


def _sizes(data_dir: str) -> dict[str, SizeRow]:
    """Return the size of each table by its name. Raises StorageError."""
    from kafka_groups.pipeline.store import open_storage
    from kafka_groups.pipeline.store.table_sizes import measure_tables

    sizes = measure_tables(open_storage(data_dir))
    return {table: SizeRow(table, **size._asdict()) for table, size in sizes.items()}


def _document(table: Table, size: SizeRow | None) -> Document:
    from kafka_groups.pipeline.tables.spark_types import spell_type

    size_keys = SizeRow._fields[1:]
    return {
        "table": table.name,
        "about": table.about,
        "derived": table.derived,
        "identity": list(table.identity),
        "dated_by": table.dated_by,
        "columns": [
            {"name": column.name, "type": spell_type(column.type), "about": column.about} for column in table.columns
        ],
        **{key: getattr(size, key, None) for key in size_keys},
    }
