"""`kafka-groups pipeline build`: tables of lag, verdicts and rebalances, from what was ingested and sampled."""

from __future__ import annotations

import click

from kafka_groups.commands.options import output_options
from kafka_groups.commands.pipeline.command_run import start_run
from kafka_groups.commands.pipeline.options import data_dir_option
from kafka_groups.commands.pipeline.spark_options import SparkChoice, spark_options
from kafka_groups.commands.pipeline.spark_session import STARTING_SPARK, open_spark_session
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

    Needs no cluster, but tables of ingest or sample in --data-dir, the extra spark, and Java 17 or newer (--fetch-java
    downloads one).

    \b
    Examples:
      kafka-groups pipeline build --data-dir history
      kafka-groups pipeline build --data-dir history --master 'local[2]'
    """
    with start_run("build", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.building import build as build_tables
        from kafka_groups.pipeline.building import is_small
        from kafka_groups.pipeline.storage import open_storage

        storage = open_storage(data_dir)
        run.bar.begin(STARTING_SPARK)
        with open_spark_session(spark_choice, brief=is_small(storage)) as spark:
            run.bar(STARTING_SPARK, 1, 1)
            built = build_tables(spark, storage, progress=run.bar)
        for sentence in built.missing:
            run.print_note(sentence)
        summary = Summary(
            rows=built.rows, numbers={"dates": len(built.dates)}, missing=built.missing, seconds=run.seconds()
        )
        run.finish(summary)
