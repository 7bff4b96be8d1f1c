"""`kafka-groups pipeline build`: tables of lag, verdicts and rebalances, from what was ingested and sampled."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import Date, DecimalRange, IntegerRange
from kafka_groups.pipeline.commands.build_engine import open_engine
from kafka_groups.pipeline.commands.command_run import Run, start_run
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import data_dir_option
from kafka_groups.pipeline.commands.spark_options import SparkChoice, spark_options
from kafka_groups.verdicts import Rules

if TYPE_CHECKING:
    from kafka_groups.pipeline.build.build_plan import DateRange
    from kafka_groups.pipeline.store import Storage

_DATE: Final = Date()
_DEFAULTS: Final = Rules()


@click.command(short_help="Derive lag, verdicts and rebalances.")
@data_dir_option
@click.option(
    "--from", "first", type=_DATE, metavar="DATE", help="First date (UTC) to derive if it changed, such as 2026-11-01."
)
@click.option("--to", "last", type=_DATE, metavar="DATE", help="Last date (UTC) to derive if it changed.")
@click.option("--full", is_flag=True, help="Derive all dates, or all from --from to --to, whether or not they changed.")
@click.option(
    "--window-commits",
    type=IntegerRange(min=1, max=1_000),
    metavar="N",
    default=_DEFAULTS.intervals,
    show_default=True,
    help="Number of commits in the window of a verdict.",
)
@click.option(
    "--allowed-lag",
    type=IntegerRange(min=0),
    metavar="N",
    default=_DEFAULTS.allowed_lag,
    show_default=True,
    help="Lag in records that is still OK.",
)
@click.option(
    "--minimum-complete",
    type=DecimalRange(0, 1),
    metavar="SHARE",
    default=_DEFAULTS.minimum_complete,
    show_default=True,
    help="Filled share of the window, from 0 to 1, below which the verdict is UNKNOWN.",
)
@spark_options
@output_options()
def build(
    *,
    data_dir: str,
    first: datetime | None,
    last: datetime | None,
    full: bool,
    window_commits: int,
    allowed_lag: int,
    minimum_complete: float,
    spark_choice: SparkChoice,
    output_format: str,
    colour: str,
) -> None:
    """Derive lag, time lag, rates, verdicts, rebalances and daily totals of the dates that changed.

    Running it again changes nothing. Late data is added to the dates that it belongs to. --from and --to limit the
    dates; other dates that changed are left to a later run. If data is missing, such as log end offsets, a note on
    stderr names what is unknown, and the other columns are derived.

    Verdicts have the settings of Burrow (intervals, allowed-lag, minimum-complete). With other settings than those of
    the last run, all dates are derived again.

    Needs no cluster, but tables of ingest or sample in --data-dir, and the extra pipeline. More than 100,000 facts are
    derived on Spark, which needs the extra spark and Java 17 or newer (--fetch-java downloads one); fewer in this
    process, unless --master or --remote says where Spark runs.

    \b
    Examples:
      kafka-groups pipeline build --data-dir history
      kafka-groups pipeline build --data-dir history --full --window-commits 20
      kafka-groups pipeline build --data-dir history --master 'local[2]'
    """
    if first is not None and last is not None and first > last:
        raise click.UsageError("--from is after --to")
    rules = Rules(window_commits, allowed_lag, minimum_complete)
    with start_run("build", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.build.build_plan import ALL_DATES, DateRange
        from kafka_groups.pipeline.store import open_storage

        storage = open_storage(data_dir)
        first_date = ALL_DATES.first if first is None else first.date()
        last_date = ALL_DATES.last if last is None else last.date()
        run.finish(_derive(run, storage, spark_choice, rules, DateRange(first_date, last_date), full=full))


def _derive(
    run: Run, storage: Storage, spark_choice: SparkChoice, rules: Rules, dates: DateRange, *, full: bool
) -> Summary:
    """Build the tables, print notes on what is missing, and return the summary. Raises StorageError, PipelineError."""
    from kafka_groups.pipeline.build.build_plan import count_facts
    from kafka_groups.pipeline.build.run import build as build_tables

    _note_other_rules(run, storage, rules)
    facts = count_facts(storage, rules=rules, selection=dates, full=full)
    with open_engine(spark_choice, run.bar, facts=facts) as engine:
        built = build_tables(storage, engine, rules=rules, selection=dates, full=full, progress=run.bar)
    for sentence in built.missing:
        run.print_note(sentence)
    return Summary(
        rows=built.rows,
        numbers={"dates": len(built.dates)},
        settings={
            "window_commits": rules.intervals,
            "allowed_lag": rules.allowed_lag,
            "minimum_complete": rules.minimum_complete,
        },
        missing=built.missing,
        seconds=run.seconds(),
    )


def _note_other_rules(run: Run, storage: Storage, rules: Rules) -> None:
    """Print a note if the last build had other rules."""
    from kafka_groups.pipeline.build.fact_state import read_last_rules

    last = read_last_rules(storage)
    if last not in {None, rules}:
        run.print_note(
            f"The last run had other settings (--window-commits {last.intervals} --allowed-lag {last.allowed_lag} "
            f"--minimum-complete {last.minimum_complete:g}), so all dates have to be derived again."
        )
