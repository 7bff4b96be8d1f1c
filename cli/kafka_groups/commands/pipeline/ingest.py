"""`kafka-groups pipeline ingest`: what brokers wrote about groups since last time, into tables."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from kafka_groups.commands.options import Connection, takes_connection_for_long, takes_output
from kafka_groups.commands.pipeline.options import FormatWanted, takes_duration, takes_table_format, takes_tables
from kafka_groups.commands.pipeline.running import client_settings, moment, running, spark_of
from kafka_groups.commands.pipeline.spark_options import SparkWanted, takes_spark
from kafka_groups.commands.pipeline.stopping import asks_to_stop
from kafka_groups.rendering.pipeline.documents import Summary

if TYPE_CHECKING:
    from kafka_groups.pipeline.ingesting import Ingested

_EVERY_S = 30.0
_STARTING = "starting Spark"


@click.command(short_help="Read what brokers wrote about groups.")
@takes_tables
@takes_table_format
@click.option("--once", is_flag=True, help="Read what is new, and end. [default]")
@click.option("--continuous", is_flag=True, help="Go on until it is interrupted.")
@takes_duration("--every", about="With --continuous: how often a batch begins. [default: 30s]")
@click.option(
    "--records-per-batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="The most records that one batch reads. [default: 4 million, or a fiftieth of a larger backlog]",
)
@takes_spark
@takes_output()
@takes_connection_for_long
def ingest(
    *,
    into: str,
    table_format: FormatWanted,
    once: bool,
    continuous: bool,
    every: float | None,
    records_per_batch: int | None,
    wanted: SparkWanted,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Read __consumer_offsets into tables: every commit, every rebalance, every removal.

    Each run goes on where the last one stopped; no group is joined and nothing is committed. --continuous outlives
    brokers that are away for a while. --timeout is for each answer of the brokers, and each wait for records.

    \b
    kafka-groups pipeline ingest --into history -b localhost:9092
    """
    _check_flags(once=once, continuous=continuous, every=every)
    client = client_settings(connection)
    with running("ingest", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.examining import check_client
        from kafka_groups.pipeline.ingesting import prepared
        from kafka_groups.pipeline.storage import check_storage

        check_client(client.properties)
        storage = check_storage(into, table_format=table_format.asked, usual_format=table_format.usual)
        with prepared(storage, client.properties, timeout_s=client.timeout_s) as ingestion, ExitStack() as until_told:
            run.is_writing(lambda: _summary(ingestion.total(), run.seconds()))
            if not ingestion.topic_is_there:
                run.note("__consumer_offsets does not exist yet: no group has ever been on this cluster.")
            run.bar.begin(_STARTING)
            with spark_of(wanted, brief=True) as spark:
                run.bar(_STARTING, 1, 1)
                # Spark takes a moment to stop, in which a signal must not take what is to be told.
                asked = until_told.enter_context(asks_to_stop())
                done = ingestion.run(
                    spark,
                    continuous=continuous,
                    every_s=every or _EVERY_S,
                    records_per_batch=records_per_batch,
                    progress=run.bar,
                    note=lambda text: run.note(f"{moment()} {text}"),
                    stop=asked,
                )
                # Going on until somebody ends it is all that --continuous does.
                cut_short = asked() and not continuous
            run.finish(_summary(done, run.seconds()), cut_short=cut_short)
            asked.end()


def _check_flags(*, once: bool, continuous: bool, every: float | None) -> None:
    if once and continuous:
        raise click.UsageError("--once contradicts --continuous: give one or the other")
    if every is not None and not continuous:
        raise click.UsageError("--every goes with --continuous")


def _summary(done: Ingested, seconds: float) -> Summary:
    numbers = {"batches": done.batches, "records": done.records}
    return Summary(cluster_id=done.cluster_id, rows=done.rows, numbers=numbers, seconds=seconds)
