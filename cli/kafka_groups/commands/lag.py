"""`kafka-groups lag`: which groups are behind."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import click

from kafka_groups.admin import Deadline
from kafka_groups.commands.condition_options import needs_time, read_condition
from kafka_groups.commands.known_resets import KnownResets, note_resets
from kafka_groups.commands.lag_check import UNCHECKED_NOTES, LagResult, judge_at_end
from kafka_groups.commands.lag_clusters import show_lag_of_clusters
from kafka_groups.commands.lag_options import (
    LagOptions,
    lag_options,
    read_limits,
    read_watch_options,
    require_consistent,
)
from kafka_groups.commands.lag_output import LagOutput, note_isolation
from kafka_groups.commands.lag_polls import PollsFile, open_polls
from kafka_groups.commands.lag_trouble import note_trouble_of_session
from kafka_groups.commands.lag_watch import WatchOptions, watch_lag
from kafka_groups.commands.record_settings import resolve_with_records
from kafka_groups.conditions import Condition
from kafka_groups.errors import ExportError, IncompleteResultError
from kafka_groups.groups.lag.measurement import LagMeasurement, add_poll, measure_lag, summarize
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.lag.summary import ISOLATION_LEVELS, GroupSummary, LagKey, LagRow, sort_worst_first
from kafka_groups.groups.selection import Selectors
from kafka_groups.kinds import Operation
from kafka_groups.model import status_of
from kafka_groups.options.cluster_session import ClusterSession, open_session
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.output import output_options
from kafka_groups.options.selectors import filter_options, selector_options
from kafka_groups.options.topics import format_topics, parse_topics
from kafka_groups.rendering.views.lag import LAG_VIEWS, PACE_VIEW
from kafka_groups.rendering.writers import FORMATS
from kafka_groups.settings import resolve_settings
from kafka_groups.verdicts import Limits

_ISOLATION_LEVELS = {name: level for level, name in ISOLATION_LEVELS.items()}


@click.command()
@selector_options
@filter_options
@lag_options
@output_options(formats=(*FORMATS, "openmetrics"))
@clusters_options
def lag(
    *,
    selectors: Selectors,
    options: LagOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Show how far groups are behind, the worst first.

    Without ids, --match or --all-groups, all consumer groups are shown. LAG is the number of messages between the
    commits and the log ends. PARTITIONS-BEHIND have a lag. UNCOMMITTED have no commit, although a member owns them, or
    other partitions of their topic have an owner or a commit. LOST messages were deleted by retention before they were
    read. MARGIN messages, or MARGIN% of the log, may be deleted before messages are lost; each is the smallest one of
    the partitions that still have messages to read. NOTE marks commits below the log start (data_loss) and above
    the log end (beyond_end), unknown log ends or starts (incomplete), and members whose partitions are unknown
    (unknown_assignment). A partition that several members own counts once.

    With --topic, rows and totals are those of these topics alone, and groups that do not read them have no row; STATE
    and MEMBERS are those of the group. --match and --topic together narrow both.

    With --time, one record of each lagging partition is read. TIME-LAG is its age, the largest of all partitions.
    QUALITY is exact; compacted (the record at the commit does not exist, the age is that of the next one); data_loss
    (the age of the first record that is left, so a lower bound); lower_bound, if a partition is not known or, with
    --isolation committed, has an open transaction (NOTE open_transaction); or unknown: nothing is committed, or the
    reason is on stderr. NOTE caught_up means that there is a lag, but no record: the marker of a transaction has an
    offset, too. A condition on time_lag, such as 'time_lag>5m', or on such a note implies --time.

    With --watch or --polls, rates in messages a second, the trend of the lag, the time until it is gone, and a
    verdict replace the retention columns: OK, WARN (the group falls behind or loses data), REWIND (its commits went
    back), STOP (it does not move), or UNKNOWN (not enough polls yet); RULE is the rule that gave it. With --watch,
    --timeout is for each poll; the exit code is that of the last poll.

    A condition of --fail-if compares keys of --format json (lag, members, state, messages_lost, …) by < <= > >= == !=
    and joins comparisons by and, or and parentheses. A comparison with a missing value is never true. note==WORD holds
    if WORD is one of the notes, note!=WORD if it is none. If no group matches, the condition is not checked.

    If a group, a partition or a broker fails, its error is on stderr, and the others are shown. Nothing on the cluster
    is changed, and no group is joined.

    Needs Kafka 0.11 or newer. Rights: DESCRIBE on each group and on its topics; for --time READ on the topics, and with
    polls also DESCRIBE_CONFIGS, without which the retention of a topic is unknown.

    \b
    Examples:
      kafka-groups lag -b localhost:9092
      kafka-groups lag --by partition --top 10 -b localhost:9092
    """
    request = _read_request(selectors, options, output_format, connection)
    if connection.profiles:
        if options.has_polls:
            raise click.UsageError("--watch and --polls contradict several profiles; run lag once for each cluster")
        show_lag_of_clusters(
            connection,
            partial(_read_once, request=request),
            request.output,
            condition=request.condition,
            top=request.top,
            colour=colour,
            notes=note_isolation(request.isolation),
        )
        return
    make_writer = request.output.make_writer
    resolve = resolve_with_records if request.output.with_time else resolve_settings
    with open_session(connection, colour=colour, make_writer=make_writer, resolve=resolve) as session:
        _show_lag(session, request)


class _Request(NamedTuple):
    """What a caller wants to know, and how it is shown.

    `topics` maps topics to partitions, none for all of a topic; without topics all are shown. `top` is the number of
    rows, None for all. `limits` are those of verdicts. `watch` is None for one poll, and `polls_file` is None without
    --polls.
    """

    selectors: Selectors
    topics: Mapping[str, Sequence[int]]
    output: LagOutput
    isolation: str
    condition: Condition | None
    top: int | None
    limits: Limits
    watch: WatchOptions | None
    polls_file: str | None
    connection: Connection


def _read_request(selectors: Selectors, options: LagOptions, output_format: str, connection: Connection) -> _Request:
    """Return the request of the options. Raises UsageError for options that are wrong, or contradict each other."""
    view = PACE_VIEW if options.has_polls else LAG_VIEWS[options.key]
    condition = None if options.fail_if is None else read_condition(options.fail_if, option="--fail-if", view=view)
    with_time = options.with_time or needs_time(condition)
    output = LagOutput(
        view, options.key, with_time, output_format, options.metrics_file, with_all_metrics=options.with_all_metrics
    )
    watch = read_watch_options(options, output)
    require_consistent(options, output_format)
    limits = read_limits(options, with_time=with_time)
    return _Request(
        selectors=selectors,
        topics=parse_topics(options.topics),
        output=output,
        isolation=options.isolation,
        condition=condition,
        top=options.top,
        limits=limits,
        watch=watch,
        polls_file=options.polls_file,
        connection=connection,
    )


def _show_lag(session: ClusterSession, request: _Request) -> None:
    """Write the lag of one poll, or of all polls of a watch.

    Raises CheckFailedError if the condition holds for a row at the end.
    """
    session.add_notes(note_isolation(request.isolation))
    result = _run(session, request)
    # The condition is judged last, whatever could not be written.
    judge_at_end(session, request.condition, result)


def _read_once(session: ClusterSession, *, request: _Request) -> LagReading:
    measurement = _measure(session, request, session.deadline, has_polls=False)
    return _complete(session, request, summarize(measurement, request.output.key))


def _run(session: ClusterSession, request: _Request) -> LagResult:
    """Poll once, or watch. A file of polls is read before, and written after the output."""
    watch = request.watch
    poll = partial(_poll_once, session, request) if watch is None else partial(_watch, session, request, watch)
    if request.polls_file is None:
        return poll(None)
    result: LagResult | None = None
    try:
        topics = format_topics(request.topics)
        with open_polls(session, request.polls_file, isolation=request.isolation, topics=topics) as file:
            _prepare(file.polls, session, request)
            result = poll(file)
    except (IncompleteResultError, ExportError) as error:
        if result is None:
            raise
        return result._replace(failed=error)
    return result


def _prepare(polls: Polls, session: ClusterSession, request: _Request) -> Polls:
    """Give polls what verdicts need besides them: the limits, and the resets of the user's journal. Return them."""
    polls.limits = request.limits
    polls.find_reset_run = KnownResets(lambda: session.admin.cluster_id(timeout=session.deadline))
    return polls


def _poll_once(session: ClusterSession, request: _Request, file: PollsFile | None) -> LagResult:
    """Write the lag; with a file of polls with rates and verdicts."""
    key = request.output.key
    output = request.output
    measurement = _measure(session, request, session.deadline, has_polls=file is not None)
    now_ms = time.time_ns() // 1_000_000
    reading = summarize(measurement, key) if file is None else add_poll(file.polls, measurement, now_ms)
    reading = _complete(session, request, reading)
    rows = _rows(request, reading.groups)
    result = LagResult(rows, is_any_group_read=bool(reading.groups))
    is_unchecked = result.is_unchecked(request.condition)
    session.add_notes((*reading.notes, *(UNCHECKED_NOTES if is_unchecked and not reading.failures else ())))
    entries = list(output.entries(reading.groups, rows[: request.top]))
    try:
        session.write(
            entries,
            total=len(entries),
            failures=reading.failures,
            anything_succeeded=reading.anything_read,
            notes_after_rows=partial(note_trouble_of_session, session, request.connection, output, reading.groups),
            is_unchecked=is_unchecked,
        )
    except (IncompleteResultError, ExportError) as error:
        return result._replace(failed=error)
    return result


def _watch(session: ClusterSession, request: _Request, options: WatchOptions, file: PollsFile | None) -> LagResult:
    """Watch, and return the rows of the last poll. All polls are printed by then."""
    polls = file.polls if file is not None else _prepare(Polls(), session, request)

    def poll(at_ms: int) -> LagReading:
        measurement = _measure(session, request, session.deadline.renew(), has_polls=True)
        reading = _complete(session, request, add_poll(polls, measurement, at_ms))
        trouble = note_trouble_of_session(session, request.connection, request.output, reading.groups)
        return reading._replace(notes=(*reading.notes, *trouble))

    last = watch_lag(session, options, poll, file, output_format=request.output.output_format)
    session.is_ended = True
    result = LagResult(last.rows, is_any_group_read=bool(last.rows))
    is_unchecked = result.is_unchecked(request.condition)
    if is_unchecked and not last.failures:
        session.add_notes(UNCHECKED_NOTES)
    if last.failures or is_unchecked:
        return result._replace(
            failed=IncompleteResultError(status_of(anything_failed=True, anything_succeeded=bool(last.rows)))
        )
    return result


def _measure(session: ClusterSession, request: _Request, deadline: Deadline, *, has_polls: bool) -> LagMeasurement:
    return measure_lag(
        session.admin,
        request.selectors,
        isolation_level=_ISOLATION_LEVELS[request.isolation],
        with_time=request.output.with_time,
        with_retention=request.output.with_time and has_polls,
        topics=request.topics,
        deadline=deadline,
    )


def _complete(session: ClusterSession, request: _Request, reading: LagReading) -> LagReading:
    """Return a reading with suggestions for absent groups and topics, and with notes on known resets."""
    failures = session.suggest_groups(reading.failures, request.selectors, Operation.LIST_OFFSETS)
    # Only the first poll of a watch may cost a listing of topics.
    if request.topics and failures and session.polls <= 1:
        from kafka_groups.groups.suggestions import suggest_topics

        failures = suggest_topics(session.admin, failures, session.deadline)
    return reading._replace(failures=failures, notes=(*reading.notes, *note_resets(reading.resets)))


def _rows(request: _Request, groups: Sequence[GroupSummary]) -> list[LagRow]:
    """Return the rows, the worst first unless nobody can see their order."""
    if request.output.key is LagKey.GROUP:
        return [group.total for group in groups]
    rows = [row for group in groups for row in group.rows]
    is_order_seen = request.output.has_order or request.top is not None or request.condition is not None
    return sort_worst_first(rows) if is_order_seen else rows
