"""`kafka-groups pipeline compact`: fewer, larger files, and an end for what is past its keeping."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from kafka_groups.commands.options import takes_output
from kafka_groups.commands.pipeline.options import takes_past, takes_tables
from kafka_groups.commands.pipeline.running import running
from kafka_groups.rendering.pipeline.documents import Summary

if TYPE_CHECKING:
    from kafka_groups.pipeline.compacting import Compacted


@click.command(short_help="Join small files, remove old dates.")
@takes_tables
@takes_past(
    "--keep", about="Remove dates that are older than this, as 90d; 8d at the least. Without it, none is removed."
)
@takes_output()
def compact(*, into: str, keep: float | None, output_format: str, colour: str) -> None:
    """Join small files, and remove old dates if --keep says so. No reader sees a row twice, or misses one.

    Needs no Spark. Parquet tables want a local file system of Linux for it (ext4, XFS, Btrfs, tmpfs), and a query that
    began before may end with an error of a missing file: run it again (build and report do by themselves). Delta tables
    keep what was replaced or removed for a day, for readers under way; the next run after that deletes it.

    Of what groups and members said of themselves the last record stays, however old: it tells who is there today.

    \b
    kafka-groups pipeline compact --into history --keep 90d
    """
    with running("compact", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.compacting import LEAST_KEEP
        from kafka_groups.pipeline.compacting import compact as work
        from kafka_groups.pipeline.storage import open_storage

        if keep is not None and keep < LEAST_KEEP.total_seconds():
            msg = f"--keep is {LEAST_KEEP.days}d at the least: build makes a day from the week before it, too"
            raise click.UsageError(msg)
        storage = open_storage(into)
        kept = None if keep is None else timedelta(seconds=keep)
        done = work(
            storage,
            keep=kept,
            now=datetime.now(UTC),
            progress=run.bar,
            begun=lambda so_far: run.is_writing(lambda: _summary(so_far(), run.seconds())),
        )
        run.finish(_summary(done, run.seconds()))


def _summary(done: Compacted, seconds: float) -> Summary:
    numbers = {
        "dates": done.dates,
        "files_before": done.files_before,
        "files_after": done.files_after,
        "removed_dates": done.removed_dates,
    }
    return Summary(rows={}, numbers=numbers, seconds=seconds)
