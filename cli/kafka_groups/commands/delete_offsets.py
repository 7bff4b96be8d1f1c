"""`kafka-groups delete-offsets`: remove the commits, or start offsets, of groups on topics."""

from __future__ import annotations

import click

from kafka_groups.changes.change import Action
from kafka_groups.changes.deletion import DeletionRequest
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.plan_rows import NO_FILE, read_plan_rows
from kafka_groups.commands.change_options import (
    ChangeOptions,
    change_options,
    plan_file_options,
    read_text,
    select_rows,
)
from kafka_groups.commands.change_run import ChangeRun
from kafka_groups.commands.change_session import open_change_session
from kafka_groups.groups.selection import Selectors
from kafka_groups.options.connection import Connection, connection_options
from kafka_groups.options.output import output_options
from kafka_groups.options.selectors import filter_options, require_selectors, selector_options
from kafka_groups.options.topics import parse_topics, topic_option


@click.command("delete-offsets")
@selector_options
@filter_options
@topic_option()
@plan_file_options
@click.option("--internal-topics", is_flag=True, help="Delete offsets on internal topics of Streams applications, too.")
@change_options()
@output_options()
@connection_options
def delete_offsets(
    *,
    selectors: Selectors,
    topics: tuple[str, ...],
    from_file: str | None,
    force: bool,
    internal_topics: bool,
    change: ChangeOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Delete offsets of groups on topics. Without --execute, only print which.

    A group may have members, if none of them is subscribed to the topic (else GROUP_SUBSCRIBED_TO_TOPIC). Before it
    executes, the command reads the groups again, and refuses commits that have changed since the plan. It first records
    the commits, so that kafka-groups undo can restore them.

    A share group must have no members, and loses its start offsets on all partitions of a topic: Kafka does not delete
    a part of them. Offsets of streams groups on internal topics of the application are deleted only with
    --internal-topics.

    Needs Kafka 2.4 or newer, share groups 4.1. Rights: DESCRIBE on the groups and topics; with --execute DELETE on the
    groups and READ on the topics.

    \b
    Examples:
      kafka-groups delete-offsets billing --topic orders -b localhost:9092
      kafka-groups delete-offsets --all-groups --topic orders --execute --yes -b localhost:9092
    """
    rows = NO_FILE
    if from_file is not None:
        if topics:
            raise click.UsageError("--from-file names the partitions; --topic contradicts it")
        rows = read_plan_rows(read_text(from_file), name=from_file, actions=(Action.DELETE_OFFSETS,))
        rows, selectors = select_rows(rows, selectors)
    else:
        require_selectors(selectors)
        if not topics:
            raise click.UsageError("no partition is selected; give --topic T[:P,…], or --from-file PLAN")
    with open_change_session(
        connection, command="delete-offsets", output_format=output_format, colour=colour, change=change
    ) as session:
        run = ChangeRun(session=session, command="delete-offsets", options=change, force=force, file=rows)
        request = DeletionRequest(topics=parse_topics(topics), file=rows, force=force, internal_topics=internal_topics)
        with run.planning():
            planned = plan_offset_deletion(session.admin, selectors, request, deadline=session.deadline)
        run.finish(planned)
