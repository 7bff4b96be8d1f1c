"""`kafka-groups pipeline ingest`: the new records of `__consumer_offsets`, written to tables."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.options.connection import Connection, connection_options_per_request
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import IntegerRange
from kafka_groups.options.signals import defer_signals
from kafka_groups.pipeline.commands.clock import timestamp
from kafka_groups.pipeline.commands.command_run import Run, start_run
from kafka_groups.pipeline.commands.connection_settings import librdkafka_settings
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import data_dir_option, duration_option
from kafka_groups.pipeline.commands.spark_options import SparkChoice, spark_options
from kafka_groups.pipeline.commands.spark_session import STARTING_SPARK, open_spark_session

if TYPE_CHECKING:
    from kafka_groups.pipeline.facts.ingestion import Ingestion, IngestResult

_DEFAULT_INTERVAL_S: Final = 30.0
_NO_TOPIC: Final = "__consumer_offsets does not exist yet: this cluster has had no consumer groups yet."


@click.command(short_help="Read the new records of __consumer_offsets.")
@data_dir_option
@click.option("--once", is_flag=True, help="End when the new records are read. [default]")
@click.option("--continuous", is_flag=True, help="Read until interrupted.")
@duration_option("--interval", about="With --continuous: time to wait after reading to the end. [default: 30s]")
@click.option(
    "--records-per-batch",
    type=IntegerRange(min=1),
    metavar="N",
    help="Maximum number of records of a batch. [default: 4 million, or a fiftieth of a larger backlog]",
)
@spark_options
@output_options()
@connection_options_per_request
def ingest(
    *,
    data_dir: str,
    once: bool,
    continuous: bool,
    interval: float | None,
    records_per_batch: int | None,
    spark_choice: SparkChoice,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Read the new records of __consumer_offsets into tables: every commit, every rebalance, every deletion.

    Each run continues where the last one stopped. Brokers keep tombstones for delete.retention.ms of that topic, one
    day by default: run it at least once in that time, or deleted groups may still be reported as existing. With
    --continuous, it runs until it is interrupted, and retries while brokers are unavailable. --timeout limits each
    request to the brokers, and each wait for records.

    A record that this version cannot decode is written to the table unknown_records, and the others are ingested.
    Nothing on the cluster is changed: no group is joined, and nothing is committed.

    Needs Kafka 2.5 or newer, Java 17 or newer (--fetch-java downloads one), and the extra spark. Rights: READ on the
    topic __consumer_offsets. Without it, use sample, which needs only DESCRIBE.

    \b
    Examples:
      kafka-groups pipeline ingest --data-dir history -b localhost:9092
      kafka-groups pipeline ingest --data-dir history -b localhost:9092 --continuous --interval 1m
    """
    _check_flags(once=once, continuous=continuous, interval=interval)
    client = librdkafka_settings(connection)
    with start_run("ingest", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.facts.ingestion import open_ingestion
        from kafka_groups.pipeline.facts.source.brokers import check_client
        from kafka_groups.pipeline.store import open_storage

        check_client(client.properties, client.timeout_s)
        storage = open_storage(data_dir, create=True)
        with open_ingestion(storage, client.properties, timeout_s=client.timeout_s) as ingestion:
            run.summarize = lambda: _make_summary(ingestion.result(), run.seconds())
            if not ingestion.topic_exists:
                run.print_note(_NO_TOPIC)
            interval_s = (interval or _DEFAULT_INTERVAL_S) if continuous else None
            _read_records(run, ingestion, spark_choice, interval_s, records_per_batch)


def _read_records(
    run: Run, ingestion: Ingestion, spark_choice: SparkChoice, interval_s: float | None, records_per_batch: int | None
) -> None:
    """Read new records on Spark, and report the rows; with an interval in seconds, until a signal comes.

    A signal ends the reading, and is raised after the report. Raises the errors of the ingestion, and PipelineError if
    Spark fails.
    """
    is_continuous = interval_s is not None
    with ExitStack() as signal_deferral:
        run.bar.begin(STARTING_SPARK)
        with open_spark_session(spark_choice, brief=True) as spark:
            run.bar(STARTING_SPARK, 1, 1)
            # Spark takes a moment to stop: a signal during that time must not prevent the report.
            stop_request = signal_deferral.enter_context(defer_signals())
            ingest_result = ingestion.run(
                spark,
                continuous=is_continuous,
                interval_s=interval_s or _DEFAULT_INTERVAL_S,
                records_per_batch=records_per_batch,
                progress=run.bar,
                print_note=lambda note_text: run.print_note(f"{timestamp()} {note_text}"),
                should_stop=stop_request.is_received,
            )
            # A signal is the normal end of --continuous.
            is_interrupted = stop_request.is_received() and not is_continuous
        run.finish(_make_summary(ingest_result, run.seconds()), interrupted=is_interrupted)
        stop_request.raise_if_received()


def _check_flags(*, once: bool, continuous: bool, interval: float | None) -> None:
    if once and continuous:
        raise click.UsageError("--once contradicts --continuous: give one or the other")
    if interval is not None and not continuous:
        raise click.UsageError("--interval needs --continuous: give both or none")


def _make_summary(ingest_result: IngestResult, seconds: float) -> Summary:
    numbers = {"batches": ingest_result.batches, "records": ingest_result.records}
    return Summary(cluster_id=ingest_result.cluster_id, rows=ingest_result.rows, numbers=numbers, seconds=seconds)
