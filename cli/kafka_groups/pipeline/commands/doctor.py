"""`kafka-groups pipeline doctor`: checks of this machine, the brokers and the tables."""

from __future__ import annotations

import os

import click

from kafka_groups.errors import IncompleteResultError, PipelineError
from kafka_groups.model import status_of
from kafka_groups.options.connection import Connection, connection_options_per_request
from kafka_groups.options.output import output_options
from kafka_groups.pipeline.commands.command_run import start_run
from kafka_groups.pipeline.commands.connection_settings import (
    admin_settings,
    check_timeout,
    librdkafka_settings,
    names_cluster,
)
from kafka_groups.pipeline.commands.documents import error_document
from kafka_groups.pipeline.commands.options import optional_data_dir_option
from kafka_groups.pipeline.commands.rows import CHECKS
from kafka_groups.rendering.writers.whole_result import write_rows


@click.command(short_help="Check Python, Spark, Java, the brokers and the tables.")
@optional_data_dir_option
@output_options()
@connection_options_per_request
def doctor(*, data_dir: str | None, output_format: str, colour: str, connection: Connection) -> None:
    """Check Python, Spark and Java; rights, and what may delay or escape ingest; with --data-dir, the tables.

    A check that fails does not prevent the others. Each has the status ok, warning or failed; a detail says what
    helps. It starts no Spark, and changes nothing. The failed checks are also errors of the JSON document, warnings
    are not. Without a cluster, only this machine and the tables are checked.

    Needs Kafka 0.11 or newer. Rights: READ and DESCRIBE_CONFIGS on the topic __consumer_offsets,
    DESCRIBE_CONFIGS on the cluster, and DESCRIBE on the groups and their topics; a missing right is a failed check or a
    warning.

    \b
    Examples:
      kafka-groups pipeline doctor -b localhost:9092
      kafka-groups pipeline doctor -b localhost:9092 --data-dir history --format json | jq .checks
    """
    # Without a cluster, all other checks can still be made.
    client = librdkafka_settings(connection) if names_cluster(connection) else None
    if client is None:
        check_timeout(connection)
    with start_run("doctor", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.doctor.checks import run_checks

        checks = run_checks(
            client,
            data_dir,
            environment=os.environ,
            connection_settings=lambda: admin_settings(connection),
            progress=run.bar,
        )
        run.bar.stop()
        failed_checks = [
            PipelineError(f"{check.check}: {check.detail}") for check in checks if check.status == "failed"
        ]
        status = status_of(anything_failed=bool(failed_checks), anything_succeeded=len(failed_checks) < len(checks))
        if output_format == "json":
            errors = [error_document(error) for error in failed_checks]
            run.write({"checks": [check._asdict() for check in checks]}, status=status, errors=errors)
        else:
            write_rows(run.screen, CHECKS, checks, output_format)
        if failed_checks:
            run.print_note(f"Failed checks: {len(failed_checks)}.")
            raise IncompleteResultError(status)
