"""`kafka-groups pipeline compact`: small files joined into larger ones, and old dates removed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from kafka_groups.commands.options import output_options
from kafka_groups.commands.pipeline.command_run import start_run
from kafka_groups.commands.pipeline.options import data_dir_option, past_option
from kafka_groups.rendering.pipeline.documents import Summary

if TYPE_CHECKING:
    from kafka_groups.pipeline.compacting import Compacted


@click.command(short_help="Join small files, remove old dates.")
@data_dir_option
@past_option(
    "--retention", about="Remove dates that are older than this, such as 90d; at least 8d. [default: no limit]"
)
@output_options()
def compact(*, data_dir: str, retention: float | None, output_format: str, colour: str) -> None:
    """Join small files, and remove old dates if --retention is given. No reader sees a row twice, or misses one.

    The last record of each group and member is kept, however old it is: it shows which groups and members exist. While
    Parquet tables are compacted, a running query may fail because a file is missing: run it again (build and report do
    so themselves). Delta tables keep replaced and removed files for a day, for queries that are running. The next run
    after that deletes the files. If a run fails, no row is lost, and the next run continues. Exit codes: see
    kafka-groups --help.

    Needs no cluster and no Java, but tables of ingest or sample in --data-dir, and the extra pipeline. Parquet tables
    must be on a local file system of Linux (ext4, XFS, Btrfs, tmpfs).

    \b
    Examples:
      kafka-groups pipeline compact --data-dir history
      kafka-groups pipeline compact --data-dir history --retention 90d
    """
    with start_run("compact", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.compacting import LEAST_KEEP
        from kafka_groups.pipeline.compacting import compact as compact_tables
        from kafka_groups.pipeline.storage import open_storage

        if retention is not None and retention < LEAST_KEEP.total_seconds():
            msg = f"--retention must be at least {LEAST_KEEP.days}d: build derives a day from the week before it, too"
            raise click.UsageError(msg)

        def report_from(count: Callable[[], Compacted]) -> None:
            run.summarize = lambda: _summary(count(), run.seconds())

        compacted = compact_tables(
            open_storage(data_dir),
            keep=None if retention is None else timedelta(seconds=retention),
            now=datetime.now(UTC),
            progress=run.bar,
            begun=report_from,
        )
        run.finish(_summary(compacted, run.seconds()))


def _summary(compacted: Compacted, seconds: float) -> Summary:
    numbers = {
        "dates": compacted.dates,
        "files_before": compacted.files_before,
        "files_after": compacted.files_after,
        "removed_dates": compacted.removed_dates,
    }
    return Summary(rows={}, numbers=numbers, seconds=seconds)
