"""`kafka-groups pipeline`: the history of every consumer group, kept in tables."""

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


class InOrderOfWork(click.Group):
    """Lists its commands as they follow each other, not by the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they were added."""
        return list(self.commands)


@click.group(cls=InOrderOfWork)
def pipeline() -> None:
    """Keep the history of every consumer group in tables, and report on it.

    ingest and sample bring facts, build derives from them, report shows. doctor says what stands in the way.
    """


for _command in (ingest, sample, backfill, build, report, tables, compact, doctor):
    pipeline.add_command(_command)
