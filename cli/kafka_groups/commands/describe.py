"""`kafka-groups describe`: offsets and lag, members, state, or topology."""

from __future__ import annotations

from functools import partial

import click

from kafka_groups.admin.api import TimePlan
from kafka_groups.groups.assignments import note_shared
from kafka_groups.groups.descriptions import describe_groups, description_steps
from kafka_groups.groups.selection import Selectors, listing_steps, select_groups
from kafka_groups.kinds import GROUP_STATES, Operation, group_types
from kafka_groups.options import offer
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.output import output_options, require_one_table, run_on_cluster
from kafka_groups.options.selectors import parse_names, require_selectors, selector_options
from kafka_groups.rendering.views.describe import DescribeView
from kafka_groups.rendering.writers import FORMATS


@click.command()
@selector_options
@click.option("--offsets", is_flag=True, help="Show offsets and lag by partition. [default]")
@click.option(
    "--members", is_flag=True, help="Show members, and how many partitions each one has; with --verbose, which ones."
)
@click.option("--topology", is_flag=True, help="Show the nodes of the topologies of streams groups (Kafka 4.4).")
@click.option("--state", is_flag=True, help="Show state, coordinator and assignor. --in-state selects by state.")
@click.option(
    "--in-state",
    metavar="STATE,…",
    multiple=True,
    shell_complete=offer("states"),
    help="Only groups in one of these states, such as Empty.",
)
@click.option(
    "--type",
    "types",
    metavar="TYPE,…",
    multiple=True,
    shell_complete=offer("types"),
    help=f"Only groups of one of these types: {' or '.join(group_types(Operation.DESCRIBE))}.",
)
@click.option(
    "--verbose",
    is_flag=True,
    help="Add columns. Offsets: leader epochs, log start offsets, metadata; --members: assigned partitions, epochs; "
    "--state: epochs.",
)
@output_options(formats=(*FORMATS, "kafka"))
@clusters_options
def describe(
    *,
    selectors: Selectors,
    offsets: bool,
    members: bool,
    state: bool,
    topology: bool,
    in_state: tuple[str, ...],
    types: tuple[str, ...],
    verbose: bool,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Describe groups: offsets and lag, members, state or topology.

    LAG is the log end offset minus the committed offset. It is - (null in JSON, empty in CSV) if nothing is
    committed or the log end offset is unknown. It is negative if the committed offset is above the log end offset,
    such as after an unclean leader election.

    A group without members is no error: its committed offsets are printed, and a note on stderr. A group with members
    also shows its commits on partitions that no member owns.

    Each kind of group has its columns: a share group start offsets and the lag that its coordinator computes, a streams
    group tasks, a Connect group its workers with the connectors and tasks that they run. CSV has the columns of one
    kind. --topology shows streams groups only; a group whose topology the brokers do not have is an error. Classic
    groups of other protocols are only listed (kafka-groups list): --match and --all-groups skip them with a note, and
    such a group that is named is an error.

    If a group, a partition or a broker fails, its error is on stderr, and the others are printed. A group whose offsets
    are known and whose description is not is printed without members. Nothing on the cluster is changed, and no group
    is joined.

    Needs Kafka 0.11 or newer; share and streams groups 4.1, their lag 4.2, and --topology 4.4. --in-state needs 2.6,
    and --type 3.8 (Classic: any version): on an older broker only these filters fail. Rights: DESCRIBE on each group,
    and on its topics. Without DESCRIBE on a topic, brokers leave out commits on it without an error; if a member is
    assigned that topic, it is an error, and the members of a KIP-848, share or streams group are not printed. --match
    and --all-groups select from the groups that list shows: all with DESCRIBE on the cluster, else those with DESCRIBE
    on the group.

    \b
    Examples:
      kafka-groups describe billing checkout -b localhost:9092
      kafka-groups describe --all-groups --members --verbose -b localhost:9092
      kafka-groups describe billing -b localhost:9092 --format json | jq '.groups[].offsets[].lag'
    """
    require_selectors(selectors)
    selectors = selectors._replace(
        states=parse_names(in_state, option="--in-state", valid=GROUP_STATES),
        types=parse_names(types, option="--type", valid=group_types()),
    )
    name = _one_view(offsets=offsets, members=members, state=state, topology=topology)
    if topology and output_format == "kafka":
        msg = "--topology contradicts --format kafka: Kafka's tools before 4.4 have no topology; use another format"
        raise click.UsageError(msg)
    view = DescribeView(name=name, verbose=verbose, output_format=output_format)
    body = partial(_describe, selectors=selectors, view=view)
    run_on_cluster(connection, body, colour=colour, output_format=output_format, make_writer=view.make_writer)


def _describe(session: ClusterSession, selectors: Selectors, view: DescribeView) -> None:
    details = view.details()
    plan = TimePlan(session.deadline, (*listing_steps(selectors), *description_steps(details)))
    operation = view.operation()
    selection = select_groups(session.admin, selectors, operation=operation, plan=plan)
    session.failures = selection.failures
    groups = describe_groups(session.admin, selection, details=details, operation=operation, plan=plan)
    if view.output_format == "csv":
        require_one_table([plurals[0] for plurals in view.kinds_by_columns(groups)])
    failures = session.suggest_groups(groups.failures, selectors, operation)
    session.add_notes(groups.notes)
    if several := [group for group in groups.descriptions.values() if len(group.members) > 1]:
        session.add_notes(note_shared(several))
    session.add_notes(view.notes(groups, named=selection.named))
    session.write(
        view.entries(groups),
        total=len(groups.descriptions),
        failures=failures,
        anything_succeeded=bool(groups.descriptions) or (not selection.groups and selection.anything_listed),
        notes_after_rows=lambda: view.notes_after_rows(groups, named=selection.named),
    )


def _one_view(**flags: bool) -> str:
    chosen = [name for name, is_given in flags.items() if is_given]
    if len(chosen) > 1:
        msg = f"--{chosen[0]} contradicts --{chosen[1]}: give one or the other"
        raise click.UsageError(msg)
    return chosen[0] if chosen else "offsets"
