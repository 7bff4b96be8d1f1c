"""`kafka-groups lag`: which groups are behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import click

from kafka_groups.commands.lag_check import UNCHECKED_NOTES, LagResult, is_unchecked, judge_at_end
from kafka_groups.commands.lag_clusters import show_lag_of_clusters
from kafka_groups.commands.lag_display import WatchTable, open_display
from kafka_groups.commands.lag_measurement import ClusterPolls, measure, now_ms, read_once, run_with_polls
from kafka_groups.commands.lag_options import LagOptions, lag_options
from kafka_groups.commands.lag_request import LagRequest, note_isolation, read_request
from kafka_groups.commands.lag_rows import ClusterLag, failing_groups
from kafka_groups.commands.lag_trouble import find_trouble
from kafka_groups.commands.lag_watch import ClusterPoll, Poll, WatchOptions, watch_lag
from kafka_groups.commands.record_settings import resolve_with_records
from kafka_groups.errors import AdminError, AuthenticationFailedError, ExportError, IncompleteResultError
from kafka_groups.groups.lag.lag_row import LagKey, LagRow, sort_worst_first
from kafka_groups.groups.lag.summary import GroupSummary
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession, open_session
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.output import output_options
from kafka_groups.options.selectors import filter_options, selector_options
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.writers import FORMATS
from kafka_groups.settings import resolve_settings


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

    With several profiles, --top and --fail-if are over the rows of all clusters, and a cluster that fails is one error.
    --watch tries it again at the next poll. The file of --polls keeps the polls of each cluster apart.

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
      kafka-groups lag --profile east,west --watch 10s
    """
    request = read_request(selectors, options, output_format, connection)
    if connection.profiles:
        show_lag_of_clusters(connection, request, colour=colour)
        return
    make_writer = request.output.make_writer
    resolve = resolve_with_records if request.output.with_time else resolve_settings
    with open_session(connection, colour=colour, make_writer=make_writer, resolve=resolve) as session:
        _show_lag(session, request)


def _show_lag(session: ClusterSession, request: LagRequest) -> None:
    """Write the lag of one poll, or of all polls of a watch.

    Raises CheckFailedError if the condition holds for a row at the end.
    """
    session.add_notes(note_isolation(request))
    watch = request.watch
    run: Callable[[ClusterPolls], LagResult] = (
        partial(_poll_once, session, request) if watch is None else partial(_watch, session, request, watch)
    )
    result = run_with_polls(request, run, session.print_messages)
    # The condition is judged last, whatever could not be written.
    judge_at_end(result, session.print_messages)


def _poll_once(session: ClusterSession, request: LagRequest, polls: ClusterPolls) -> LagResult:
    """Write the lag; with a file of polls with rates and verdicts."""
    output = request.output
    if request.has_polls:
        # A file that cannot be used is an error before the cluster is read.
        polls.open(session)
        reading = polls.add(session, measure(session, request, session.deadline), now_ms())
    else:
        reading = read_once(session, request)
    rows = _rows(request, reading.groups)
    unchecked = is_unchecked(request.condition, reading.groups)
    session.add_notes((*reading.notes, *(UNCHECKED_NOTES if unchecked and not reading.failures else ())))
    entries = list(output.entries(reading.groups, rows[: request.top]))
    failed: IncompleteResultError | ExportError | None = None
    try:
        session.write(
            entries,
            total=len(entries),
            failures=reading.failures,
            anything_succeeded=reading.anything_read,
            notes_after_rows=partial(find_trouble, request, session.screen, _totals(session, reading.groups)),
            is_unchecked=unchecked,
        )
    except (IncompleteResultError, ExportError) as error:
        failed = error
    return LagResult(failing_groups(request.condition, rows), failed)


def _watch(session: ClusterSession, request: LagRequest, options: WatchOptions, polls: ClusterPolls) -> LagResult:
    """Watch, and return the result of the last poll. All polls are printed by then."""
    if polls.file is not None:
        polls.open(session)
    output = request.output
    session.disable_progress()
    table = WatchTable(output.columns, request.top)
    with open_display(session.screen, session.writer, table, output.output_format) as display:
        poll = _poll_of(session, request, polls)
        note_rows = partial(find_trouble, request, session.screen)
        last = watch_lag(options, poll, display, screen=session.screen, file=polls.file, note_rows=note_rows)
    session.is_ended = True
    session.add_notes(last.unchecked_notes(request.condition))
    return last.result(request.condition, failing_groups(request.condition, [row for _, row in last.rows]))


def _poll_of(session: ClusterSession, request: LagRequest, polls: ClusterPolls) -> Poll:
    """Return the poll of one cluster. The first one that fails raises its AdminError, and so does a refused login."""

    def poll(at_ms: int) -> Iterator[ClusterPoll]:
        session.polls += 1
        try:
            measurement = measure(session, request, session.deadline.renew())
        except AuthenticationFailedError:
            raise
        except AdminError as error:
            if session.polls == 1:
                raise
            yield ClusterPoll(_cluster(session), None, Failure.of(error))
            return
        yield ClusterPoll(_cluster(session), polls.add(session, measurement, at_ms))

    return poll


def _cluster(session: ClusterSession) -> Cluster:
    return session.cluster() or Cluster("", None)


def _totals(session: ClusterSession, groups: Sequence[GroupSummary]) -> list[ClusterLag]:
    cluster = _cluster(session)
    return [ClusterLag(cluster, group.total) for group in groups]


def _rows(request: LagRequest, groups: Sequence[GroupSummary]) -> list[LagRow]:
    """Return the rows, the worst first unless nobody can see their order."""
    if request.output.key is LagKey.GROUP:
        return [group.total for group in groups]
    rows = [row for group in groups for row in group.rows]
    is_order_seen = request.output.has_order or request.top is not None or request.condition is not None
    return sort_worst_first(rows) if is_order_seen else rows
