"""`kafka-groups pipeline backfill`: log ends of the past, so that lag has a history from the first day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafka_groups.admin import GroupAdmin
from kafka_groups.commands.options import Connection, takes_connection_for_long, takes_output
from kafka_groups.commands.pipeline.options import (
    FormatWanted,
    takes_duration,
    takes_past,
    takes_table_format,
    takes_tables,
)
from kafka_groups.commands.pipeline.running import Run, client_settings, now_ms, running, wire_settings
from kafka_groups.errors import SettingsError
from kafka_groups.rendering.pipeline.documents import Summary

if TYPE_CHECKING:
    from kafka_groups.pipeline.backfilling import Backfilled
    from kafka_groups.pipeline.backfilling.compacted import Policies

_MS = 1000
_LEAST_STEP_S = 1.0
_COMPACTED = "{count:,} topics are compacted and left out, for their logs do not tell what they held: {listed}."
_COMPACTED_ONE = "1 topic is compacted and left out, for its log does not tell what it held: {listed}."
_UNKNOWN = (
    "It is not known of {count:,} topics whether they are compacted, which would make their lags of the past too "
    "large: {why}."
)
_UNKNOWN_ONE = (
    "It is not known of 1 topic whether it is compacted, which would make its lags of the past too large: {why}."
)


@click.command(short_help="Look up log ends of the past.")
@takes_tables
@takes_table_format
@takes_past("--since", default="7d", about="How far back.")
@takes_duration("--step", default="60s", about="How far the looked up times are apart; a second at the least.")
@click.option("--topic", "topics", metavar="T", multiple=True, help="Only this topic. Repeatable.")
@takes_output()
@takes_connection_for_long
def backfill(
    *,
    into: str,
    table_format: FormatWanted,
    since: float,
    step: float,
    topics: tuple[str, ...],
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Look up where logs ended in the past, as far as the brokers still have records.

    Where older records are deleted, nothing is told of the times before the first one that is left; where none is, logs
    are told to have been empty. It goes by the times that records have; where producers give them other ones than now,
    a log end may be told too low, and one that commits go far beyond is not believed. Topics that are compacted are
    left out, for their logs do not tell what they held. What was looked up once stays as it is. Needs no Spark.
    --timeout is for each question, of up to 20,000 times of partitions.

    \b
    kafka-groups pipeline backfill --into history -b localhost:9092 --since 7d
    """
    _check(step, since)
    settings = wire_settings(connection)
    with running("backfill", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.backfilling import backfill as work
        from kafka_groups.pipeline.storage import check_storage
        from kafka_groups.pipeline.tables import PARTITION_OFFSETS

        storage = check_storage(into, table_format=table_format.asked, usual_format=table_format.usual)
        until_ms, step_ms = now_ms(), round(step * _MS)
        with GroupAdmin(settings) as admin:
            cluster_id = admin.cluster_id()
            storage.make()

            def summary_of(done: Backfilled) -> Summary:
                rows = {PARTITION_OFFSETS.name: done.rows}
                numbers = {"partitions": done.partitions, "times": done.times}
                return Summary(cluster_id=cluster_id, rows=rows, numbers=numbers, seconds=run.seconds())

            done = work(
                admin,
                storage,
                cluster_id=cluster_id,
                since_ms=_first_time(until_ms, since, step_ms),
                until_ms=until_ms,
                now_ms=until_ms,
                step_ms=step_ms,
                topics=topics or None,
                left_out=lambda names: _compacted(run, connection, names),
                progress=run.bar,
                begun=lambda so_far: run.is_writing(lambda: summary_of(so_far)),
            )
        _tell_unknown(run, done)
        run.finish(summary_of(done), done.failures)


def _tell_unknown(run: Run, done: Backfilled) -> None:
    """Log ends that the brokers could not tell, or not rightly."""
    if done.deleted:
        run.note(f"{done.deleted:,} log ends of the past are not known, since the records of then are deleted.")
    if done.ahead:
        run.note(f"{done.ahead:,} log ends of the past are not known, since records have timestamps of the future.")


def _check(step: float, since: float) -> None:
    if step < _LEAST_STEP_S:
        raise click.UsageError("--step is a second at the least; write for example 60s")
    if step > since:
        raise click.UsageError("--step is longer than --since: there is nothing between")


def _first_time(until_ms: int, since: float, step_ms: int) -> int:
    """A multiple of the step: tomorrow's run meets the times of today, and leaves them as they are."""
    return -(-(until_ms - round(since * _MS)) // step_ms) * step_ms


def _compacted(run: Run, connection: Connection, names: Sequence[str]) -> Sequence[str]:
    """Those of these topics that are compacted. They are told, and so are those of which it is not known."""
    from kafka_groups.pipeline.backfilling.compacted import Policies, find_compacted

    try:
        client = client_settings(connection)
    except SettingsError as error:
        # What the wire takes and librdkafka does not is no reason to do without a backfill.
        found = Policies([], [*names], str(error))
    else:
        found = find_compacted(client.properties, client.timeout_s, names)
    _tell(run, found)
    return found.compacted


def _tell(run: Run, found: Policies) -> None:
    from kafka_groups.pipeline.sentences import few

    if count := len(found.compacted):
        run.note((_COMPACTED if count > 1 else _COMPACTED_ONE).format(count=count, listed=few(found.compacted)))
    if count := len(found.unknown):
        run.note((_UNKNOWN if count > 1 else _UNKNOWN_ONE).format(count=count, why=found.why.rstrip(".")))
