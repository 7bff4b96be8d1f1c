"""`kafka-groups pipeline sample`: log ends, commits and group states as they are now, into tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from kafka_groups.admin import GroupAdmin
from kafka_groups.commands.options import Connection, takes_connection, takes_output
from kafka_groups.commands.pipeline.options import FormatWanted, takes_duration, takes_table_format, takes_tables
from kafka_groups.commands.pipeline.running import Run, moment, now_ms, running, wire_settings
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.model import Failure
from kafka_groups.rendering.pipeline.documents import Summary

if TYPE_CHECKING:
    from kafka_groups.pipeline.sampling import Sampled
    from kafka_groups.pipeline.storage import Storage
    from kafka_groups.settings import ConnectionSettings


@click.command(short_help="Ask for log ends and states as they are now.")
@takes_tables
@takes_table_format
@takes_duration("--every", about="Go on until it is interrupted, this often.")
@takes_output()
@takes_connection
def sample(
    *,
    into: str,
    table_format: FormatWanted,
    every: float | None,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Ask the brokers for log ends, commits, states and members of all groups, and keep the answers.

    Lag needs log ends, which __consumer_offsets does not tell; without rights to read that topic, samples are enough
    for lag and verdicts. Needs no Spark. With --every, --timeout is for each round. A round has a row for each commit
    of each group, also if it has not changed, of some 5 bytes: a million commits each minute are 7 GB a day. Rounds
    that are further apart than ten minutes give no rates, and holes in what a report draws.

    \b
    kafka-groups pipeline sample --into history -b localhost:9092 --every 60s
    """
    settings = wire_settings(connection)
    with running("sample", output_format=output_format, colour=colour) as run:
        from kafka_groups.pipeline.storage import check_storage

        storage = check_storage(into, table_format=table_format.asked, usual_format=table_format.usual)
        if every is None:
            done, cluster_id = _ask(run, settings, storage)
            rows, failures = dict(done.rows), done.failures
            run.finish(
                Summary(cluster_id=cluster_id, rows=rows, numbers={"rounds": 1}, seconds=run.seconds()), failures
            )
            return
        _go_on(run, settings, storage, every)


def _ask(run: Run, settings: ConnectionSettings, storage: Storage) -> tuple[Sampled, str]:
    from kafka_groups.pipeline.sampling import sample as work

    with GroupAdmin(settings, one_deadline=True, progress=run.bar) as admin:
        cluster_id = admin.cluster_id()
        storage.make()
        return work(admin, storage, cluster_id=cluster_id, now_ms=now_ms), cluster_id


def _go_on(run: Run, settings: ConnectionSettings, storage: Storage, every_s: float) -> None:
    """Round after round, a line each; when it is interrupted, what all of them wrote, and what failed last."""
    rows: Counter[str] = Counter()
    cluster_id: str | None = None
    rounds = 0
    failures: tuple[Failure, ...] = ()
    begun = time.monotonic()

    def so_far() -> Summary:
        return Summary(cluster_id=cluster_id, rows=dict(rows), numbers={"rounds": rounds}, seconds=run.seconds())

    run.is_writing(so_far)
    try:
        while True:
            try:
                done, cluster_id = _ask(run, settings, storage)
            except AdminError as error:
                if isinstance(error, AuthenticationFailedError) and not rounds:
                    raise
                # A cluster that is away for a while is what a history should outlive.
                run.note(f"{moment()} Error: {error}")
                failures = (Failure.of(error),)
            else:
                rounds += 1
                rows.update(done.rows)
                run.note(_line(done.rows, done.failures))
                failures = done.failures or failures
            # Late rounds do not shift those after them.
            begun = max(begun + every_s, time.monotonic() - every_s)
            time.sleep(max(0.0, begun - time.monotonic()))
    except (KeyboardInterrupt, SystemExit):
        run.end(so_far(), failures)
        raise


def _line(rows: Mapping[str, int], failures: tuple[Failure, ...]) -> str:
    told = f"; {len(failures):,} failed, the first: {failures[0].message}" if failures else ""
    return f"{moment()} {sum(rows.values()):,} rows{told}"
