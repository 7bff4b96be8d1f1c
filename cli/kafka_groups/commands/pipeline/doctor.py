"""`kafka-groups pipeline doctor`: what stands in the pipeline's way, and what may surprise."""

from __future__ import annotations

import os

import click

from kafka_groups.commands.options import Connection, takes_connection_for_long, takes_output
from kafka_groups.commands.pipeline.options import may_take_tables
from kafka_groups.commands.pipeline.running import check_timeout, client_settings, running, wire_settings
from kafka_groups.errors import IncompleteResultError, PipelineError
from kafka_groups.rendering.pipeline.documents import error_document
from kafka_groups.rendering.pipeline.rows import CHECKS, write_rows


@click.command(short_help="Check what stands in the way.")
@may_take_tables
@takes_output()
@takes_connection_for_long
def doctor(*, into: str | None, output_format: str, colour: str, connection: Connection) -> None:
    """Check Python, Spark and Java; rights, versions and settings of the brokers; with --into, the tables.

    Exit code 3 if a check failed, which is an error of the document, too; a warning is none. Starts no Spark.

    \b
    kafka-groups pipeline doctor -b localhost:9092 --into history
    """
    client = client_settings(connection) if _names_a_cluster(connection) else None
    if client is None:
        check_timeout(connection)
    with running("doctor", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.examining import examine

        checks = examine(client, into, environment=os.environ, wire=lambda: wire_settings(connection), progress=run.bar)
        run.bar.stop()
        failed = [PipelineError(f"{check.check}: {check.detail}") for check in checks if check.status == "failed"]
        is_partial = len(failed) < len(checks)
        if output_format == "json":
            status = "complete" if not failed else "partial" if is_partial else "failed"
            errors = [error_document(error) for error in failed]
            run.write({"checks": [check._asdict() for check in checks]}, status=status, errors=errors)
        else:
            write_rows(run.screen, CHECKS, checks, output_format)
        if failed:
            run.note(f"Failed checks: {len(failed)}.")
            raise IncompleteResultError(anything_succeeded=is_partial)


def _names_a_cluster(connection: Connection) -> bool:
    """Whether anything says which cluster; without one, the rest can be checked all the same."""
    named = (connection.bootstrap_server, connection.config, connection.profile, connection.properties)
    variables = ("BOOTSTRAP_SERVER", "CONFIG", "PROFILE")
    return any(named) or any(os.environ.get(f"KAFKA_GROUPS_{name}") for name in variables)
