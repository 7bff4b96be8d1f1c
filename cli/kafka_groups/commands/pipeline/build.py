"""`kafka-groups pipeline build`: lag, time lag, verdicts, rebalances, from what was ingested and sampled."""

from __future__ import annotations

import click

from kafka_groups.commands.options import takes_output
from kafka_groups.commands.pipeline.options import takes_tables
from kafka_groups.commands.pipeline.running import running, spark_of
from kafka_groups.commands.pipeline.spark_options import SparkWanted, takes_spark
from kafka_groups.rendering.pipeline.documents import Summary

_STARTING = "starting Spark"


@click.command(short_help="Derive lag, verdicts and rebalances.")
@takes_tables
@takes_spark
@takes_output()
def build(*, into: str, wanted: SparkWanted, output_format: str, colour: str) -> None:
    """Derive lag, time lag, rates, verdicts, rebalances and daily totals, of the dates that changed.

    Running it again changes nothing; late facts are put where they belong.

    \b
    kafka-groups pipeline build --into history
    """
    with running("build", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.building import build as work
        from kafka_groups.pipeline.building import is_small
        from kafka_groups.pipeline.storage import open_storage

        storage = open_storage(into)
        run.bar.begin(_STARTING)
        with spark_of(wanted, brief=is_small(storage)) as spark:
            run.bar(_STARTING, 1, 1)
            done = work(spark, storage, progress=run.bar)
        for sentence in done.missing:
            run.note(sentence)
        summary = Summary(
            rows=done.rows, numbers={"dates": len(done.dates)}, missing=done.missing, seconds=run.seconds()
        )
        run.finish(summary)
