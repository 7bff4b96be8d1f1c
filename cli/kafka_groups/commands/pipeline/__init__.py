"""`kafka-groups pipeline`: commands that collect and report the history of consumer groups."""

from __future__ import annotations

import click

from kafka_groups.commands.pipeline.backfill import backfill
from kafka_groups.commands.pipeline.build import build
from kafka_groups.commands.pipeline.compact import compact
from kafka_groups.commands.pipeline.doctor import doctor
from kafka_groups.commands.pipeline.ingest import ingest
from kafka_groups.commands.pipeline.report import report
from kafka_groups.commands.pipeline.sample import sample
from kafka_groups.commands.pipeline.tables import tables


class OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they are run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)


@click.group(cls=OrderedGroup)
def pipeline() -> None:
    """Keep the history of every consumer group in tables, and report on it.

    Collect data with ingest and sample, derive tables with build, view them with report. Find problems with doctor.
    """


for _command in (ingest, sample, backfill, build, report, tables, compact, doctor):
    pipeline.add_command(_command)
