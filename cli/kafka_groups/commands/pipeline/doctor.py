"""`kafka-groups pipeline doctor`: what stands in the pipeline's way, and what may surprise."""

from __future__ import annotations

import os

import click

from kafka_groups.commands.options import Connection, takes_connection, takes_output
from kafka_groups.commands.pipeline.options import may_take_tables
from kafka_groups.commands.pipeline.running import client_settings, running, wire_settings
from kafka_groups.errors import IncompleteAnswerError
from kafka_groups.rendering.pipeline.rows import CHECKS, write_rows


@click.command(short_help="Check what stands in the way.")
@may_take_tables
@takes_output()
@takes_connection
def doctor(*, into: str | None, output_format: str, colour: str, connection: Connection) -> None:
    """Check Python, Spark and Java; rights, versions and settings of the brokers; with --into, the tables.

    Exit code 1 if a check failed; a warning is none. Starts no Spark.

    \b
    kafka-groups pipeline doctor -b localhost:9092 --into history
    """
    client = client_settings(connection) if _names_a_cluster(connection) else None
    with running("doctor", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.examining import examine

        checks = examine(client, into, environment=os.environ, wire=lambda: wire_settings(connection), progress=run.bar)
        run.bar.stop()
        if output_format == "json":
            run.write({"checks": [check._asdict() for check in checks]})
        else:
            write_rows(run.screen, CHECKS, checks, output_format)
        failed = sum(check.status == "failed" for check in checks)
        if failed:
            run.note(f"Failed checks: {failed}.")
            raise IncompleteAnswerError(anything_answered=False)


def _names_a_cluster(connection: Connection) -> bool:
    """Whether anything says which cluster; without one, the rest can be checked all the same."""
    named = (connection.bootstrap_server, connection.config, connection.profile, connection.properties)
    variables = ("BOOTSTRAP_SERVER", "CONFIG", "PROFILE")
    return any(named) or any(os.environ.get(f"KAFKA_GROUPS_{name}") for name in variables)
