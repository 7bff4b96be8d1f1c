"""`kafka-groups pipeline sample`: the current log end offsets, commits and group states, written to tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.model import Failure
from kafka_groups.options.connection import Connection, connection_options
from kafka_groups.options.output import output_options
from kafka_groups.pipeline.commands.clock import now_ms, timestamp
from kafka_groups.pipeline.commands.command_run import Run, start_run
from kafka_groups.pipeline.commands.connection_settings import admin_settings
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import data_dir_option, duration_option

if TYPE_CHECKING:
    from kafka_groups.pipeline.facts.sample import SampleResult
    from kafka_groups.pipeline.store import Storage


@click.command(short_help="Record the current log end offsets and group states.")
@data_dir_option
@duration_option("--interval", about="Sample at this interval until interrupted.")
@output_options()
@connection_options
def sample(
    *,
    data_dir: str,
    interval: float | None,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Record the log end offsets and the commits, states and members of all groups, as the brokers report them now.

    Lag needs log end offsets, which __consumer_offsets does not contain, so run sample every minute beside ingest.
    Samples alone also give lag and verdicts. Samples that are further apart than ten minutes give no rates, and gaps
    in the charts of a report. A sample has a row of some 5 bytes for each commit of each group, even if the commit has
    not changed: a million commits each minute are 7 GB a day.

    If a group, a partition or a broker fails, its error is on stderr, and the others are written. Nothing on the
    cluster is changed. With --interval, --timeout limits each sample, and the command continues after a sample that
    failed.

    Needs Kafka 0.11 or newer, and the extra pipeline, but no Java. Rights: DESCRIBE on each group, and on each topic.
    Topics without it are not in the sample. Groups without it are not listed, or fail if DESCRIBE on the cluster lists
    them.

    \b
    Examples:
      kafka-groups pipeline sample --data-dir history -b localhost:9092
      kafka-groups pipeline sample --data-dir history -b localhost:9092 --interval 60s
    """
    settings = admin_settings(connection)
    with start_run("sample", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.store import open_storage

        storage = open_storage(data_dir, create=True)
        if interval is not None:
            with GroupAdmin(settings, progress=run.bar) as admin:
                _sample_repeatedly(run, admin, storage, interval)
            return
        with GroupAdmin(settings, progress=run.bar) as admin:
            sample_result = _sample_once(admin, storage)
        row_counts = dict(sample_result.rows)
        numbers = {"samples": 1}
        summary = Summary(cluster_id=sample_result.cluster_id, rows=row_counts, numbers=numbers, seconds=run.seconds())
        run.finish(summary, sample_result.failures)


def _sample_once(admin: GroupAdmin, storage: Storage) -> SampleResult:
    """Sample once, and return what was written. Raises AdminError if the cluster is unavailable."""
    from kafka_groups.pipeline.facts.sample import sample as sample_groups

    return sample_groups(admin, storage, now_ms=now_ms)


def _sample_repeatedly(run: Run, admin: GroupAdmin, storage: Storage, interval_s: float) -> None:
    """Sample until interrupted, with a line for each sample; then report all rows and the last failures.

    All samples use the connections of one client, whose sessions are renewed.
    """
    row_counts: Counter[str] = Counter()
    cluster_id: str | None = None
    sample_count = 0
    failures: tuple[Failure, ...] = ()
    next_start_s = time.monotonic()

    def summarize() -> Summary:
        return Summary(
            cluster_id=cluster_id, rows=dict(row_counts), numbers={"samples": sample_count}, seconds=run.seconds()
        )

    run.summarize = summarize
    try:
        while True:
            try:
                sample_result = _sample_once(admin, storage)
            except AdminError as error:
                if isinstance(error, AuthenticationFailedError) and not sample_count:
                    raise
                # A history must continue after a cluster was unavailable for a while.
                run.print_note(f"{timestamp()} Error: {error}")
                failures = (Failure.of(error),)
            else:
                sample_count = sample_count + 1
                cluster_id = sample_result.cluster_id
                row_counts.update(sample_result.rows)
                run.print_note(_describe_sample(sample_result.rows, sample_result.failures))
                failures = sample_result.failures or failures
            # A late sample does not delay those after it.
            next_start_s = max(next_start_s + interval_s, time.monotonic() - interval_s)
            time.sleep(max(0.0, next_start_s - time.monotonic()))
    except (KeyboardInterrupt, SystemExit):
        run.report(summarize(), failures)
        raise


def _describe_sample(row_counts: Mapping[str, int], failures: tuple[Failure, ...]) -> str:
    """Return a line with the time, the number of rows that a sample wrote, and its first failure."""
    failures_text = f"; {len(failures):,} failed, the first: {failures[0].message}" if failures else ""
    return f"{timestamp()} {sum(row_counts.values()):,} rows{failures_text}"
