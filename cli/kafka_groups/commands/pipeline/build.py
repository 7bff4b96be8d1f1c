"""`kafka-groups pipeline build`: tables of lag, verdicts and rebalances, from what was ingested and sampled."""

from __future__ import annotations

import click

from kafka_groups.commands.options import output_options
from kafka_groups.commands.pipeline.command_run import start_run
from kafka_groups.commands.pipeline.engine import open_engine
from kafka_groups.commands.pipeline.options import data_dir_option
from kafka_groups.commands.pipeline.spark_options import SparkChoice, spark_options
from kafka_groups.rendering.pipeline.documents import Summary


@click.command(short_help="Derive lag, verdicts and rebalances.")
@data_dir_option
@spark_options
@output_options()
def build(*, data_dir: str, spark_choice: SparkChoice, output_format: str, colour: str) -> None:
    """Derive lag, time lag, rates, verdicts, rebalances and daily totals of the dates that changed.

    Running it again changes nothing. Late data is added to the dates that it belongs to. If data is missing, such as
    log end offsets, a note on stderr names what is unknown, and the other columns are derived. Exit codes: see
    kafka-groups --help.

    Needs no cluster, but tables of ingest or sample in --data-dir, and the extra pipeline. More than 100,000 facts are
    derived on Spark, which needs the extra spark and Java 17 or newer (--fetch-java downloads one); fewer in this
    process, unless --master or --remote says where Spark runs.

    \b
    Examples:
      kafka-groups pipeline build --data-dir history
      kafka-groups pipeline build --data-dir history --master 'local[2]'
    """
    with start_run("build", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.storage import open_storage
        from kafka_groups.pipeline.transform.build import build as build_tables
        from kafka_groups.pipeline.transform.build import count_facts

        storage = open_storage(data_dir)
        with open_engine(spark_choice, run.bar, facts=count_facts(storage)) as engine:
            built = build_tables(storage, engine, progress=run.bar)
        for sentence in built.missing:
            run.print_note(sentence)
        summary = Summary(
            rows=built.rows, numbers={"dates": len(built.dates)}, missing=built.missing, seconds=run.seconds()
        )
        run.finish(summary)
