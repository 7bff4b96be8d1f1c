"""The session of a command that changes groups: a cluster, and the writer of its plan or its outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import click

from kafka_groups.commands.change_options import ChangeOptions
from kafka_groups.options.cluster_session import ClusterSession, open_session
from kafka_groups.options.connection import Connection
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.changes import CHANGE_VIEWS
from kafka_groups.rendering.writers import Writer, open_writer

STDOUT: Final = "-"


@contextmanager
def open_change_session(
    connection: Connection, *, command: str, output_format: str, colour: str, change: ChangeOptions
) -> Iterator[ClusterSession]:
    """Open the session of a command that changes groups; without a table if the plan is exported to stdout."""
    if change.export == STDOUT and output_format != "table":
        msg = f"--export - prints the plan in place of the table; --format {output_format} contradicts it"
        raise click.UsageError(msg)
    make_writer = partial(_make_writer, command, output_format, change)
    with open_session(connection, colour=colour, make_writer=make_writer) as session:
        yield session


def _make_writer(command: str, output_format: str, change: ChangeOptions, screen: Screen) -> Writer:
    view = CHANGE_VIEWS[command].view
    columns = view.table(options={"--execute"} if change.execute else (), as_kafka=output_format == "kafka")
    if change.export == STDOUT:
        from kafka_groups.rendering.writers.silent import SilentWriter

        return SilentWriter()
    if output_format == "kafka":
        from kafka_groups.rendering.writers.kafka import KafkaResetWriter

        return KafkaResetWriter(screen, columns)
    return open_writer(screen, output_format, command=command, view=view, columns=columns)
