"""`kafka-groups pipeline export`: the tables as plain Parquet or CSV files."""

from __future__ import annotations

from pathlib import Path

import click

from kafka_groups.options.output import output_options
from kafka_groups.options.suggestions import Choice
from kafka_groups.pipeline.commands.command_run import start_run
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import data_dir_option
from kafka_groups.suggestions import did_you_mean


@click.command(short_help="Write the tables as Parquet or CSV files.")
@data_dir_option
@click.option("--as", "kind", type=Choice(["parquet", "csv"]), required=True, help="Format of the files.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    required=True,
    help="Directory for the files, empty or new.",
)
@click.option("--table", "names", metavar="TABLE", multiple=True, help="Only this table. Repeatable.")
@output_options()
def export(*, data_dir: str, kind: str, output: Path, names: tuple[str, ...], output_format: str, colour: str) -> None:
    """Write the tables as plain files, for programs that do not read Delta Lake.

    Parquet files are DIR/TABLE/date=DATE/part-0.parquet, with the rows of one date. CSV files are DIR/TABLE.csv, with a
    header and the column date at the end; lists and structs are JSON. A table without rows has no file.

    Needs no cluster and no Java, but tables in --data-dir, and the extra pipeline.

    \b
    Examples:
      kafka-groups pipeline export --data-dir history --as parquet --output plain
      kafka-groups pipeline export --data-dir history --as csv --output csv --table group_daily
    """
    with start_run("export", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.store import open_storage
        from kafka_groups.pipeline.store.plain_files import write_plain_files
        from kafka_groups.pipeline.tables import TABLES

        if unknown_names := [name for name in names if name not in TABLES]:
            known_text = f"tables are {', '.join(TABLES)}{did_you_mean(unknown_names[0], TABLES)}"
            msg = f"--table {unknown_names[0]}: there is no such table; {known_text}"
            raise click.UsageError(msg)
        chosen_tables = [table for table in TABLES.values() if not names or table.name in names]
        row_counts = write_plain_files(
            open_storage(data_dir), output, "csv" if kind == "csv" else "parquet", chosen_tables, progress=run.bar
        )
        run.finish(Summary(rows=row_counts, seconds=run.seconds()))
