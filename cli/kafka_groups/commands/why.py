"""`kafka-groups why`: the cause of a lag, its evidence and the next command."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kafka_groups.commands.condition_options import describe_names
from kafka_groups.commands.why_options import (
    WhyOptions,
    holds_for,
    read_finding_condition,
    read_schedule,
    why_options,
)
from kafka_groups.commands.why_run import Run, judge_once, watch
from kafka_groups.conditions import Condition
from kafka_groups.errors import CheckFailedError, IncompleteResultError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.selection import Selectors
from kafka_groups.options.cluster_session import ClusterSession, open_session
from kafka_groups.options.connection import Connection, connection_options_per_poll, connection_words
from kafka_groups.options.output import output_options, run_on_cluster
from kafka_groups.options.selectors import filter_options, require_selectors, selector_options


@click.command()
@selector_options
@filter_options
@why_options
@output_options()
@connection_options_per_poll
def why(
    *,
    selectors: Selectors,
    options: WhyOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Show why groups are behind, and what to run next.

    The groups are polled six times in 30 seconds, all in the same requests: members, offsets, log ends, log starts and
    last stable offsets, topics, and the commits of other groups. Each finding names its cause and since when it holds,
    has the evidence, what would refute it, and the next command. It is CERTAIN (the evidence admits no other cause),
    STRONG or LIKELY, and trouble or an explanation: the reason why a lag is no trouble. Then follow the causes that
    were checked and not found, and those that could not be tested, with the reason. docs/why.md has a table of causes.

    Ctrl-C ends the polls early, and what they show is printed. --watch goes on, and judges the newest polls after each
    interval. CSV and ndjson have a row for each finding; --format json has all groups, also those with none.

    A condition of --fail-if compares cause (by == !=) and certainty (likely < strong < certain) of findings that are
    trouble. If no group matches, the condition is not checked.

    If a group, a partition or a broker fails, its error is on stderr, and the others are judged. What the user may not
    read is named as evidence that is missing. Nothing on the cluster is changed, no group is joined, and no record is
    read.

    Needs Kafka 0.11 or newer, and 2.8 for open transactions. Rights: DESCRIBE on each group and on its topics; for open
    transactions READ on the topics.

    \b
    Examples:
      kafka-groups why billing -b localhost:9092
      kafka-groups why --match 'bill.*' --samples 2 --interval 1s --format csv -b localhost:9092
    """
    require_selectors(selectors)
    schedule = read_schedule(options, output_format)
    condition = read_finding_condition(options.fail_if)
    run = Run(selectors, schedule, output_format, lambda session: _words(session, connection))
    if schedule.watch_polls is not None:
        if connection.profiles:
            raise click.UsageError("--watch contradicts several profiles; run why once for each cluster")
        with open_session(connection, colour=colour, make_writer=run.make_writer) as session:
            watch(session, run)
        return
    _judge_all(connection, run, condition, colour)


def _words(session: ClusterSession, connection: Connection) -> Sequence[str]:
    cluster = session.cluster()
    return connection_words(connection, None if cluster is None else cluster.name)


def _judge_all(connection: Connection, run: Run, condition: Condition | None, colour: str) -> None:
    """Judge the groups of one or several clusters.

    Raises CheckFailedError if the condition holds for a finding, whatever else failed; else the error of what failed.
    """
    failing: list[str] = []
    judged: list[str] = []

    def judge(session: ClusterSession) -> None:
        result = judge_once(session, run, has_condition=condition is not None)
        for judgement in result.judgements:
            judged.append(judgement.diagnosis.evidence.group)
            if condition is not None and any(holds_for(condition, row) for row in judgement.rows):
                failing.append(judgement.diagnosis.evidence.group)
        if result.failed is not None:
            raise result.failed

    try:
        run_on_cluster(connection, judge, colour=colour, output_format=run.output_format, make_writer=run.make_writer)
    except IncompleteResultError:
        if not failing:
            raise
    if failing:
        msg = f"the condition of --fail-if holds for {describe_names(failing)}"
        raise CheckFailedError(msg)
    if condition is not None and not judged:
        raise IncompleteResultError(ResultStatus.FAILED)
