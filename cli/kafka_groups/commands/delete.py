"""`kafka-groups delete`: remove groups with all their commits."""

from __future__ import annotations

import click

from kafka_groups.changes.change import Action
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
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


@click.command()
@selector_options
@filter_options
@plan_file_options
@click.option("--any-type", is_flag=True, help="Delete groups of other kinds, too: Connect, other protocols.")
@change_options()
@output_options()
@connection_options
def delete(
    *,
    selectors: Selectors,
    from_file: str | None,
    force: bool,
    any_type: bool,
    change: ChangeOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Delete groups with their offsets. Without --execute, only print which.

    Consumer groups, share groups and streams groups are deleted. A group with members is refused. So is a group of
    another kind (Connect, other protocols), unless --any-type is given. The others are deleted. Before it executes, the
    command reads the groups again, and refuses those whose offsets have changed since the plan. It first records the
    offsets, so that kafka-groups undo can restore them. The type of a KIP-848 or streams group is not restored, nor
    which records of a share group are acknowledged beyond its start offsets.

    Needs Kafka 1.1 or newer. Rights: DESCRIBE on the groups; with --execute DELETE on them.

    \b
    Examples:
      kafka-groups delete billing -b localhost:9092
      kafka-groups delete --match 'test-.*' --state Empty --execute --yes -b localhost:9092
    """
    rows = NO_FILE
    if from_file is not None:
        rows = read_plan_rows(read_text(from_file), name=from_file, actions=(Action.DELETE_GROUP,))
        rows, selectors = select_rows(rows, selectors)
    else:
        require_selectors(selectors)
    with open_change_session(
        connection, command="delete", output_format=output_format, colour=colour, change=change
    ) as session:
        run = ChangeRun(session=session, command="delete", options=change, force=force, file=rows)
        request = DeletionRequest(file=rows, any_type=any_type, force=force)
        with run.planning():
            planned = plan_group_deletion(session.admin, selectors, request, deadline=session.deadline)
        run.finish(planned)
