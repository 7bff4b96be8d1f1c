"""`kafka-groups pipeline compact`: small files joined into larger ones, and old dates removed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from kafka_groups.options.output import output_options
from kafka_groups.pipeline.commands.command_run import start_run
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import data_dir_option, parse_past_duration
from kafka_groups.suggestions import did_you_mean

if TYPE_CHECKING:
    from kafka_groups.pipeline.store.compaction import CompactionResult
    from kafka_groups.pipeline.tables import Table


@click.command(short_help="Join small files, remove old dates.")
@data_dir_option
@click.option(
    "--retention",
    metavar="[TABLE=]DURATION",
    multiple=True,
    help="Remove dates that are older than this, such as 90d, from all tables, or from one: lag_history=30d. At least "
    "8d. Repeatable. [default: no limit]",
)
@output_options()
def compact(*, data_dir: str, retention: tuple[str, ...], output_format: str, colour: str) -> None:
    """Join small files, and remove old dates if --retention is given. No reader sees a row twice, or misses one.

    The newest date of each table is kept, and the last record of each group and member, however old it is: it shows
    which groups and members exist. A date from which facts were removed is not derived again. Replaced and removed
    files stay for a day, for queries that are running; the next run after that deletes them. If a run fails, no row is
    lost, and the next run continues.

    Needs no cluster and no Java, but tables of ingest or sample in --data-dir, and the extra pipeline.

    \b
    Examples:
      kafka-groups pipeline compact --data-dir history
      kafka-groups pipeline compact --data-dir history --retention 90d --retention lag_history=30d
    """
    with start_run("compact", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.store import open_storage
        from kafka_groups.pipeline.store.compaction import compact as compact_tables

        retention_by_table = _parse_retention(retention)

        def report_from(compaction_result: CompactionResult) -> None:
            run.summarize = lambda: _make_summary(compaction_result, run.seconds())

        compaction_result = compact_tables(
            open_storage(data_dir),
            retention=retention_by_table,
            now=datetime.now(UTC),
            progress=run.bar,
            on_start=report_from,
        )
        run.finish(_make_summary(compaction_result, run.seconds()))


def _parse_retention(option_values: tuple[str, ...]) -> dict[Table, timedelta]:
    """Return the retention of each table that has one: how long its dates are kept. Raises UsageError."""
    from kafka_groups.pipeline.store.retention import MIN_RETENTION, uniform_retention

    tables_by_name = {table.name: table for table in uniform_retention(MIN_RETENTION)}
    for_all_tables: dict[Table, timedelta] = {}
    for_single_tables: dict[Table, timedelta] = {}
    for option_value in option_values:
        table_name, separator, duration = option_value.rpartition("=")
        if separator and table_name not in tables_by_name:
            tables = f"{', '.join(tables_by_name)}{did_you_mean(table_name, tables_by_name)}"
            msg = f"--retention {option_value}: there is no table {table_name!r} with a retention; tables are {tables}"
            raise click.UsageError(msg)
        retention = timedelta(seconds=parse_past_duration("--retention", duration))
        if retention < MIN_RETENTION:
            msg = (
                f"--retention must be at least {MIN_RETENTION.days}d: build derives a day from the week before it, too"
            )
            raise click.UsageError(msg)
        if separator:
            for_single_tables[tables_by_name[table_name]] = retention
        else:
            for_all_tables = uniform_retention(retention)
    return for_all_tables | for_single_tables


def _make_summary(compaction_result: CompactionResult, seconds: float) -> Summary:
    numbers = {
        "dates": compaction_result.dates,
        "files_before": compaction_result.files_before,
        "files_after": compaction_result.files_after,
        "removed_dates": compaction_result.removed_dates,
    }
    return Summary(rows={}, numbers=numbers, seconds=seconds)
