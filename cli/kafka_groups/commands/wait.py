"""`kafka-groups wait`: until groups have caught up."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

import click

from kafka_groups.commands.condition_options import describe_names, needs_time, read_condition
from kafka_groups.commands.record_settings import resolve_with_records
from kafka_groups.commands.wait_clusters import ClustersWait, wait_for_clusters
from kafka_groups.errors import CheckFailedError, IncompleteResultError
from kafka_groups.groups.lag.lag_row import LagKey
from kafka_groups.groups.lag.measurement import read_lag
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.groups.wait import WaitOutcome, wait_until
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession, open_session
from kafka_groups.options.connection import Connection, connection_options_per_poll
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import NAME, parse_option_duration
from kafka_groups.options.selectors import filter_options, require_selectors, selector_options
from kafka_groups.options.signals import pause
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.views.lag import LAG_VIEWS, lag_columns, lag_document
from kafka_groups.rendering.writers import open_writer
from kafka_groups.settings import resolve_settings

_VIEW = LAG_VIEWS[LagKey.GROUP]
# The last poll begins when the time of --for is over.
_SHORTEST_POLL_S: Final = 1.0


@click.command()
@selector_options
@filter_options
@click.option(
    "--until",
    metavar="COND",
    type=NAME,
    required=True,
    help="Wait until the condition holds for every group, such as 'lag<=0' or 'state==Empty'.",
)
@click.option(
    "--for",
    "limit",
    metavar="DURATION",
    help="Wait for at most this long, such as 10m. Without it, there is no limit.",
)
@output_options()
@connection_options_per_poll
def wait(
    *,
    selectors: Selectors,
    until: str,
    limit: str | None,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Wait until a condition holds for groups.

    It must hold for every selected group. The command polls with the requests of lag: after 1 second, and then in
    intervals that grow to 10 seconds. At the end it prints the last lag of the groups. A group that does not exist, a
    group that cannot be read, and one with an unknown log end or log start do not fulfil the condition. A cluster that
    restarts meanwhile does not end the wait. For the condition see lag --help; it compares totals of groups. A
    condition on time_lag also reads a record of each partition that lags.

    Behind the last commit of a transactional topic is the marker of a transaction, which has an offset and is no
    record: there lag<=0 may never hold. Wait until 'time_lag<=0s' or 'lag<=0 or note==caught_up' instead. Nor does
    lag<=0 hold where retention has deleted records before they were read: readable_lag counts those that are left. A
    commit above the log end, such as that of a recreated topic, fulfils no condition on the lag, unless it compares
    the note beyond_end.

    Nothing on the cluster is changed, and no group is joined.

    Needs Kafka 0.11 or newer. Rights: DESCRIBE on each group and on its topics; READ on the topics for time_lag.

    \b
    Examples:
      kafka-groups wait billing --until 'lag<=1000' --for 10m -b localhost:9092
      kafka-groups wait --match 'bill.*' --until 'lag<=0 or members==0' --for 1h -b localhost:9092
    """
    require_selectors(selectors)
    condition = read_condition(until, option="--until", view=_VIEW)
    limit_s = None if limit is None else parse_option_duration("--for", limit)
    columns = lag_columns(_VIEW, with_time=needs_time(condition))
    make_writer = partial(open_writer, output_format=output_format, command="wait", view=_VIEW, columns=columns)
    if connection.profiles:
        poll = partial(_poll, selectors=selectors, with_time=needs_time(condition))
        wait_for_clusters(
            connection,
            ClustersWait(poll, condition, _required(selectors)),
            limit_s=limit_s,
            columns=columns,
            colour=colour,
            output_format=output_format,
            make_writer=make_writer,
        )
        return
    resolve = resolve_with_records if needs_time(condition) else resolve_settings
    with open_session(connection, colour=colour, make_writer=make_writer, resolve=resolve) as session:
        outcome = wait_until(
            lambda remaining_s: _poll(session, remaining_s, selectors=selectors, with_time=needs_time(condition)),
            condition,
            named=_required(selectors),
            limit_s=limit_s,
            clock=time.monotonic,
            pause=pause,
            report=partial(_report, session),
        )
        _write(session, columns, outcome)


def _required(selectors: Selectors) -> list[str]:
    """Return the named groups that must be there: none that is excluded, or that --state or --type may exclude."""
    if selectors.states or selectors.types:
        return []
    return [name for name in selectors.named if not selectors.excludes(name)]


def _poll(session: ClusterSession, remaining_s: float | None, *, selectors: Selectors, with_time: bool) -> LagReading:
    """Read once, for as long as --timeout and --for allow. A named group that cannot be read is noted once."""
    session.begin_poll()
    deadline = session.deadline.renew()
    if remaining_s is not None and remaining_s < deadline.timeout_s:
        deadline = session.admin.deadline(max(remaining_s, _SHORTEST_POLL_S))
    reading = read_lag(session.admin, selectors, with_time=with_time, deadline=deadline)
    failures = session.suggest_groups(reading.failures, selectors, Operation.LIST_OFFSETS)
    reading = reading._replace(failures=failures)
    session.add_notes(_note_waiting(reading.failures, {*selectors.named} - _noted_groups(session)))
    return reading


def _noted_groups(session: ClusterSession) -> set[str | None]:
    return {note.subject for note in session.notes if note.kind is NoteKind.WAITING}


def _note_waiting(failures: Iterable[Failure], groups: Collection[str | None]) -> list[Note]:
    """Return a note on each of these groups that cannot be read.

    A name may be wrong; a pattern may select thousands that cannot be read.
    """
    return [
        Note(NoteKind.WAITING, each.group, f"Waiting for group '{each.group}': {each.message} ({each.name})")
        for each in failures
        if each.group in groups
    ]


def _report(session: ClusterSession, fulfilled: int, total: int) -> None:
    if session.progress is not None:
        session.progress("groups that fulfil the condition", fulfilled, total)


def _write(session: ClusterSession, columns: tuple[Column, ...], outcome: WaitOutcome) -> None:
    reading = outcome.reading
    failures = reading.failures if outcome.last_error is None else (*reading.failures, Failure.of(outcome.last_error))
    # It holds for all groups, because there are none.
    is_unchecked = outcome.is_fulfilled and not reading.groups
    text = "The condition of --until was not checked."
    unchecked = [Note(NoteKind.CONDITION_UNCHECKED, None, text)] if is_unchecked else []
    session.add_notes((*reading.notes, *unchecked))
    entries = [
        Entry(columns, (group.total,), partial(lag_document, LagKey.GROUP, group.total, ())) for group in reading.groups
    ]
    try:
        session.write(
            entries,
            total=len(entries),
            failures=failures,
            anything_succeeded=bool(reading.groups),
            is_unchecked=is_unchecked,
        )
    except IncompleteResultError:
        if outcome.is_fulfilled:
            raise
    if not outcome.is_fulfilled and not outcome.unfulfilled:
        raise CheckFailedError("the condition of --until may not hold: a broker did not list its groups")
    if outcome.unfulfilled:
        msg = f"the condition of --until does not hold for {describe_names(outcome.unfulfilled)}"
        if outcome.beyond_end:
            names = describe_names(outcome.beyond_end)
            msg += f": a commit of {names} is above the log end (beyond_end), so what was read is unknown; "
            msg += "reset it, or add 'or note==beyond_end' to the condition"
        raise CheckFailedError(msg)
