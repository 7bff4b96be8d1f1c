"""`kafka-groups pipeline backfill`: past log end offsets, so that lag has a history from the first day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import SettingsError
from kafka_groups.options import offer
from kafka_groups.options.connection import Connection, connection_options_per_request
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import NAME
from kafka_groups.pipeline.commands.clock import now_ms
from kafka_groups.pipeline.commands.command_run import Run, start_run
from kafka_groups.pipeline.commands.connection_settings import admin_settings, librdkafka_settings
from kafka_groups.pipeline.commands.documents import Summary
from kafka_groups.pipeline.commands.options import (
    data_dir_option,
    duration_option,
    past_option,
)

if TYPE_CHECKING:
    from kafka_groups.pipeline.facts.backfill import BackfillResult
    from kafka_groups.pipeline.facts.time_grid import LookupPeriod
    from kafka_groups.pipeline.facts.topic_settings import Policies
    from kafka_groups.pipeline.store import Storage

_MS = 1000
_MIN_INTERVAL_S = 1.0
_COMPACTED = "{count:,} topics are compacted and skipped, because their logs no longer hold every record: {names}."
_COMPACTED_ONE = "1 topic is compacted and skipped, because its log no longer holds every record: {names}."
_UNKNOWN = "{count:,} topics may be compacted, which would make their past lags too large: {reason}."
_UNKNOWN_ONE = "1 topic may be compacted, which would make its past lags too large: {reason}."


@click.command(short_help="Look up past log end offsets.")
@data_dir_option
@past_option("--since", default="7d", about="Length of the period until now.")
@duration_option("--interval", default="60s", about="Interval between two times, at least 1s.")
@click.option(
    "--topic",
    "topics",
    metavar="T",
    type=NAME,
    multiple=True,
    shell_complete=offer("topics"),
    help="Only this topic. Repeatable.",
)
@output_options()
@connection_options_per_request
def backfill(
    *,
    data_dir: str,
    since: float,
    interval: float,
    topics: tuple[str, ...],
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Look up log end offsets of past times, as far back as the brokers still have records.

    Run it once, so that lag has a history from the first day. Times before the first retained record get no log end
    offset. The lookup uses the timestamps of records. Where producers set other times than the current one, a log end
    offset may be too low, and one that commits exceed by far is discarded. Compacted topics are skipped with a note,
    because their logs no longer hold every record. A log end offset that was written once is not changed by a later
    run.

    If a topic or a partition fails, its error is on stderr, and the others are written. Nothing on the cluster is
    changed. --timeout limits each request, of up to 20,000 pairs of partition and time.

    Needs Kafka 0.11 or newer, and the extra pipeline, but no Java. Rights: DESCRIBE and DESCRIBE_CONFIGS on each topic,
    none on groups. Without DESCRIBE_CONFIGS, a note says that compacted topics were not recognized.

    \b
    Examples:
      kafka-groups pipeline backfill --data-dir history -b localhost:9092 --since 1d
      kafka-groups pipeline backfill --data-dir history -b localhost:9092 --topic orders --interval 5m
    """
    _check_interval(interval, since)
    settings = admin_settings(connection)
    with start_run("backfill", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.facts.time_grid import LookupPeriod
        from kafka_groups.pipeline.store import open_storage

        storage = open_storage(data_dir, create=True)
        until_ms = now_ms()
        period = LookupPeriod(until_ms - round(since * _MS), until_ms, step_ms=round(interval * _MS), now_ms=until_ms)
        with GroupAdmin(settings) as admin:
            backfill_result = _look_up(run, connection, admin, storage, period, topics)
        if backfill_result.deleted:
            run.print_note(f"{backfill_result.deleted:,} past log end offsets are unknown: their records were deleted.")
        if backfill_result.ahead:
            reason = "records have timestamps in the future"
            run.print_note(f"{backfill_result.ahead:,} past log end offsets are unknown: {reason}.")
        run.finish(_make_summary(run, backfill_result), backfill_result.failures)


def _look_up(
    run: Run,
    connection: Connection,
    admin: GroupAdmin,
    storage: Storage,
    period: LookupPeriod,
    topics: Sequence[str],
) -> BackfillResult:
    from kafka_groups.pipeline.facts.backfill import backfill as backfill_tables

    def report_from(backfill_result: BackfillResult) -> None:
        run.summarize = lambda: _make_summary(run, backfill_result)

    return backfill_tables(
        admin,
        storage,
        period,
        topics=topics or None,
        exclude_topics=lambda names: _find_compacted_topics(run, connection, names),
        progress=run.bar,
        on_start=report_from,
    )


def _make_summary(run: Run, backfill_result: BackfillResult) -> Summary:
    from kafka_groups.pipeline.tables import PARTITION_OFFSETS

    row_counts = {PARTITION_OFFSETS.name: backfill_result.rows}
    numbers = {"partitions": backfill_result.partitions, "times": backfill_result.times}
    return Summary(cluster_id=backfill_result.cluster_id, rows=row_counts, numbers=numbers, seconds=run.seconds())


def _check_interval(interval: float, since: float) -> None:
    if interval < _MIN_INTERVAL_S:
        raise click.UsageError("--interval must be at least 1s; write for example 60s")
    if interval > since:
        raise click.UsageError("--interval is longer than --since; give a shorter --interval or a longer --since")


def _find_compacted_topics(run: Run, connection: Connection, names: Sequence[str]) -> Sequence[str]:
    """Return which of these topics are compacted; print notes on them and on those that may be compacted."""
    from kafka_groups.pipeline.facts.topic_settings import Policies, find_compacted

    try:
        client = librdkafka_settings(connection)
    except SettingsError as error:
        # GroupAdmin accepts settings that librdkafka rejects; a backfill is possible without knowing the policies.
        policies = Policies([], [*names], str(error))
    else:
        policies = find_compacted(client.properties, client.timeout_s, names)
    _note_policies(run, policies)
    return policies.compacted_topics


def _note_policies(run: Run, policies: Policies) -> None:
    """Print how many topics are compacted, and how many may be."""
    from kafka_groups.pipeline.build.sentences import list_names

    if count := len(policies.compacted_topics):
        note_template = _COMPACTED if count > 1 else _COMPACTED_ONE
        run.print_note(note_template.format(count=count, names=list_names(policies.compacted_topics)))
    if count := len(policies.unknown_topics):
        note_template = _UNKNOWN if count > 1 else _UNKNOWN_ONE
        run.print_note(note_template.format(count=count, reason=policies.reason.rstrip(".")))
