"""`kafka-groups pipeline tables`: the documentation of tables and columns, and the sizes of a directory's tables."""

from __future__ import annotations

import click

from kafka_groups.options.output import output_options
from kafka_groups.pipeline.commands.command_run import start_run
from kafka_groups.pipeline.commands.options import optional_data_dir_option
from kafka_groups.pipeline.commands.tables_output import create_statements, write_tables


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
        from kafka_groups.pipeline.store import open_storage

        storage = None if data_dir is None else open_storage(data_dir)
        if ddl and storage is not None:
            run.bar.stop()
            click.echo("\n\n".join(create_statements(storage)))
        else:
            write_tables(run, storage)
