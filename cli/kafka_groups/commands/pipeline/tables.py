"""`kafka-groups pipeline tables`: what every table and column means, and what a directory of them holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafka_groups.commands.options import takes_output
from kafka_groups.commands.pipeline.options import may_take_tables
from kafka_groups.commands.pipeline.running import running
from kafka_groups.rendering.documents import Document
from kafka_groups.rendering.pipeline.rows import COLUMNS, SIZES, ColumnRow, TableSize, write_rows

if TYPE_CHECKING:
    from kafka_groups.pipeline.tables import Table


@click.command(short_help="Show tables, columns and sizes.")
@may_take_tables
@takes_output()
def tables(*, into: str | None, output_format: str, colour: str) -> None:
    """Show every table and column with its type and meaning; with --into, how much of each is there.

    Needs no Spark. JSON has both; --into "" leaves out KAFKA_GROUPS_INTO. What a STRUCT consists of is told by the
    other formats than table.

    \b
    kafka-groups pipeline tables
    kafka-groups pipeline tables --into history
    """
    with running("tables", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.tables import SCHEMA_VERSION, TABLES, spell_type

        table_format, sizes = (None, {}) if into is None else _held(into)
        if output_format == "json":
            found = [_document(table, sizes.get(table.name)) for table in TABLES.values()]
            run.write({"schema_version": SCHEMA_VERSION, "table_format": table_format, "tables": found})
        elif into is None:
            is_short = output_format == "table"
            rows = [
                ColumnRow(table.name, column.name, spell_type(column.type, is_short=is_short), column.about)
                for table in TABLES.values()
                for column in table.columns
            ]
            write_rows(run.screen, COLUMNS, rows, output_format)
        else:
            write_rows(run.screen, SIZES, sizes.values(), output_format)


def _held(into: str) -> tuple[str, dict[str, TableSize]]:
    """The format of a directory's tables, and how much each of them has."""
    from kafka_groups.pipeline.examining import measure
    from kafka_groups.pipeline.storage import open_storage

    storage = open_storage(into)
    table_format = storage.table_format
    return table_format, {name: TableSize(name, *size, table_format) for name, size in measure(storage).items()}


def _document(table: Table, size: TableSize | None) -> Document:
    from kafka_groups.pipeline.tables import spell_type

    # The format is the directory's, and stands beside the tables.
    size_keys = TableSize._fields[1:-1]
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
