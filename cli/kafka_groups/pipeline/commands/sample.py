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
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.output import output_options
from kafka_groups.pipeline.commands.clock import now_ms, timestamp
from kafka_groups.pipeline.commands.command_run import Run, start_run
from kafka_groups.pipeline.commands.connection_settings import admin_settings
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import data_dir_option, duration_option
from kafka_groups.pipeline.commands.sample_clusters import describe_sample, sample_clusters
from kafka_groups.rendering.clusters import Cluster

if TYPE_CHECKING:
    from kafka_groups.pipeline.facts.sample import SampleResult
    from kafka_groups.pipeline.store import Storage


@click.command(short_help="Record the current log end offsets and group states.")
@data_dir_option
@duration_option("--interval", about="Sample at this interval until interrupted.")
@output_options()
@clusters_options
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

    With several profiles, the clusters are read at the same time, and their rows stay apart by cluster_id. A cluster
    that fails, or whose interval is not over, does not delay the samples of the others.

    Needs Kafka 0.11 or newer, and the extra pipeline, but no Java. Rights: DESCRIBE on each group, and on each topic.
    Topics without it are not in the sample. Groups without it are not listed, or fail if DESCRIBE on the cluster lists
    them.

    \b
    Examples:
      kafka-groups pipeline sample --data-dir history -b localhost:9092
      kafka-groups pipeline sample --data-dir history -b localhost:9092 --interval 60s
    """
    settings = None if connection.profiles else admin_settings(connection)
    with start_run("sample", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.store import open_storage

        storage = open_storage(data_dir, create=True)
        if settings is None:
            sample_clusters(run, connection, storage, interval)
            return
        name = settings.profile or settings.cluster_name
        with GroupAdmin(settings, progress=run.bar) as admin:
            if interval is not None:
                _sample_repeatedly(run, admin, storage, interval, name=name)
                return
            result = _sample_once(admin, storage)
        cluster = Cluster(name or result.cluster_id, result.cluster_id)
        failures = [failure._replace(cluster=cluster.name) for failure in result.failures]
        run.finish(_summarize(run, cluster, result.rows, samples=1), failures)


def _summarize(run: Run, cluster: Cluster, rows: Mapping[str, int], *, samples: int) -> Summary:
    return Summary(
        cluster_id=cluster.id,
        rows=dict(rows),
        rows_by_cluster={cluster: dict(rows)},
        numbers={"samples": samples},
        seconds=run.seconds(),
    )


def _sample_once(admin: GroupAdmin, storage: Storage) -> SampleResult:
    """Sample once, and return what was written. Raises AdminError if the cluster is unavailable."""
    from kafka_groups.pipeline.facts.sample import sample as sample_groups

    return sample_groups(admin, storage, now_ms=now_ms)


def _sample_repeatedly(run: Run, admin: GroupAdmin, storage: Storage, interval_s: float, *, name: str | None) -> None:
    """Sample until interrupted, with a line for each sample; then report all rows and the last failures.

    `name` is what results call the cluster, None for its id. All samples use the connections of one client, whose
    sessions are renewed.
    """
    row_counts: Counter[str] = Counter()
    cluster = Cluster(name or "", None)
    sample_count = 0
    failures: list[Failure] = []
    next_start_s = time.monotonic()

    def summarize() -> Summary:
        return _summarize(run, cluster, row_counts, samples=sample_count)

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
                failures = [Failure.of(error)]
            else:
                sample_count = sample_count + 1
                cluster = Cluster(name or sample_result.cluster_id, sample_result.cluster_id)
                row_counts.update(sample_result.rows)
                run.print_note(f"{timestamp()} {describe_sample(sample_result)}")
                failures = [*sample_result.failures] or failures
            # A late sample does not delay those after it.
            next_start_s = max(next_start_s + interval_s, time.monotonic() - interval_s)
            time.sleep(max(0.0, next_start_s - time.monotonic()))
    except (KeyboardInterrupt, SystemExit):
        run.report(summarize(), [failure._replace(cluster=cluster.name or None) for failure in failures])
        raise
