"""`kafka-groups remove-members`: remove members from a group."""

from __future__ import annotations

import click

from kafka_groups.changes.member_removal import plan_member_removal
from kafka_groups.commands.change_options import ChangeOptions, change_options
from kafka_groups.commands.change_run import ChangeRun
from kafka_groups.commands.change_session import open_change_session
from kafka_groups.options import offer
from kafka_groups.options.connection import Connection, connection_options
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import NAME


@click.command("remove-members")
@click.option(
    "-g", "--group", metavar="ID", type=NAME, required=True, shell_complete=offer("groups"), help="The group."
)
@click.option(
    "--instance",
    "instances",
    metavar="ID",
    type=NAME,
    multiple=True,
    help="The static member with this group instance id (group.instance.id). Repeatable.",
)
@click.option("--all", "all_members", is_flag=True, help="All members of the group.")
@change_options()
@output_options()
@connection_options
def remove_members(
    *,
    group: str,
    instances: tuple[str, ...],
    all_members: bool,
    change: ChangeOptions,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Remove members from a group.

    Give --instance for a static member that is stuck, or --all. Without --execute, only print which.

    The group rebalances without them. A client that still runs usually joins again: stop it first. A removal cannot be
    undone.

    Kafka has this for consumer groups, and there for members that use the classic protocol. Members that use the
    KIP-848 protocol are refused, and so are share groups, streams groups and Connect groups.

    Needs Kafka 0.11 or newer, --instance 2.4. Rights: DESCRIBE on the group; with --execute READ on it.

    \b
    Examples:
      kafka-groups remove-members --group invoices --instance worker-3 -b localhost:9092
      kafka-groups remove-members --group invoices --all --execute --yes -b localhost:9092
    """
    if all_members and instances:
        raise click.UsageError("--all contradicts --instance: give one or the other")
    if not (all_members or instances):
        raise click.UsageError("no member is selected; give --instance ID, or --all")
    with open_change_session(
        connection, command="remove-members", output_format=output_format, colour=colour, change=change
    ) as session:
        run = ChangeRun(session=session, command="remove-members", options=change)
        with run.planning():
            planned = plan_member_removal(
                session.admin, group, instances=instances, all_members=all_members, deadline=session.deadline
            )
        run.finish(planned)
