"""`kafka-groups pipeline build`: tables of lag, verdicts and rebalances, from what was ingested and sampled."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import Date, IntegerRange
from kafka_groups.options.verdicts import stop_after_option
from kafka_groups.pipeline.commands.build_engine import open_engine
from kafka_groups.pipeline.commands.command_run import Run, start_run
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import data_dir_option
from kafka_groups.pipeline.commands.spark_options import SparkChoice, spark_options
from kafka_groups.rendering.durations import format_duration
from kafka_groups.verdicts import Limits

if TYPE_CHECKING:
    from kafka_groups.pipeline.build.build_plan import DateRange
    from kafka_groups.pipeline.store import Storage

_DATE: Final = Date()
_DEFAULTS: Final = Limits()


@click.command(short_help="Derive lag, verdicts and rebalances.")
@data_dir_option
@click.option(
    "--from", "first", type=_DATE, metavar="DATE", help="First date (UTC) to derive if it changed, such as 2026-11-01."
)
@click.option("--to", "last", type=_DATE, metavar="DATE", help="Last date (UTC) to derive if it changed.")
@click.option("--full", is_flag=True, help="Derive all dates, or all from --from to --to, whether or not they changed.")
@click.option(
    "--allowed-lag",
    type=IntegerRange(min=0),
    metavar="N",
    default=_DEFAULTS.allowed_lag,
    show_default=True,
    help="Lag in records that is still OK.",
)
@stop_after_option(format_duration(_DEFAULTS.stop_after_ms))
@spark_options
@output_options()
def build(
    *,
    data_dir: str,
    first: datetime | None,
    last: datetime | None,
    full: bool,
    allowed_lag: int,
    stop_after: int,
    spark_choice: SparkChoice,
    output_format: str,
    colour: str,
) -> None:
    """Derive lag, time lag, rates, verdicts, rebalances and daily totals of the dates that changed.

    Running it again changes nothing. Late data is added to the dates that it belongs to. --from and --to limit the
    dates; other dates that changed are left to a later run. If data is missing, such as log end offsets, a note on
    stderr names what is unknown, and the other columns are derived.

    With another --allowed-lag or --stop-after than in the last run, all dates are derived again.

    Needs no cluster, but tables of ingest or sample in --data-dir, and the extra pipeline. More than 100,000 facts are
    derived on Spark, which needs the extra spark and Java 17 or newer (--fetch-java downloads one); fewer in this
    process, unless --master or --remote says where Spark runs.

    \b
    Examples:
      kafka-groups pipeline build --data-dir history
      kafka-groups pipeline build --data-dir history --full --stop-after 5m
      kafka-groups pipeline build --data-dir history --master 'local[2]'
    """
    if first is not None and last is not None and first > last:
        raise click.UsageError("--from is after --to")
    limits = Limits(allowed_lag, stop_after)
    with start_run("build", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.build.build_plan import ALL_DATES, DateRange
        from kafka_groups.pipeline.store import open_storage

        storage = open_storage(data_dir)
        first_date = ALL_DATES.first if first is None else first.date()
        last_date = ALL_DATES.last if last is None else last.date()
        run.finish(_derive(run, storage, spark_choice, limits, DateRange(first_date, last_date), full=full))


def _derive(
    run: Run, storage: Storage, spark_choice: SparkChoice, limits: Limits, selected_dates: DateRange, *, full: bool
) -> Summary:
    """Build the tables, print notes on what is missing, and return the summary. Raises StorageError, PipelineError."""
    from kafka_groups.pipeline.build.build_plan import estimate_facts
    from kafka_groups.pipeline.build.run import build as build_tables

    _note_other_limits(run, storage, limits)
    fact_count = estimate_facts(storage, limits=limits, selection=selected_dates, full=full)
    with open_engine(spark_choice, run.bar, fact_count=fact_count) as engine:
        build_result = build_tables(
            storage, engine, limits=limits, selection=selected_dates, full=full, progress=run.bar
        )
    for sentence in build_result.missing:
        run.print_note(sentence)
    return Summary(
        rows=build_result.rows,
        numbers={"dates": len(build_result.dates)},
        settings={
            "allowed_lag": limits.allowed_lag,
            "stop_after_ms": limits.stop_after_ms,
        },
        missing=build_result.missing,
        seconds=run.seconds(),
    )


def _note_other_limits(run: Run, storage: Storage, limits: Limits) -> None:
    """Print a note if the last build had other limits."""
    from kafka_groups.pipeline.build.fact_state import read_last_limits

    last_limits = read_last_limits(storage)
    if last_limits not in {None, limits}:
        run.print_note(
            f"The last run had other settings (--allowed-lag {last_limits.allowed_lag} --stop-after "
            f"{format_duration(last_limits.stop_after_ms)}), so all dates have to be derived again."
        )
