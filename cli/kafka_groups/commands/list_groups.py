"""`kafka-groups list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import click

from kafka_groups.admin.api import TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import NO_MATCH, Selectors, list_selected, listing_steps, not_listed
from kafka_groups.kinds import GROUP_STATES, group_types
from kafka_groups.options import offer
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.connection import Connection, clusters_options
from kafka_groups.options.output import output_options, run_on_cluster
from kafka_groups.options.selectors import BARE, parse_names, selector_options
from kafka_groups.options.topics import parse_topics, topic_option
from kafka_groups.rendering.views.list_groups import LISTING, TOPIC_GROUPS, ListView
from kafka_groups.rendering.writers import FORMATS


@click.command("list")
@selector_options
@click.option(
    "--state",
    "states",
    metavar="[STATE,…]",
    multiple=True,
    shell_complete=offer("states"),
    is_flag=False,
    flag_value=BARE,
    help="Add the column STATE; with names, list only groups in one of these states.",
)
@click.option(
    "--type",
    "types",
    metavar="[TYPE,…]",
    multiple=True,
    shell_complete=offer("types"),
    is_flag=False,
    flag_value=BARE,
    help="Add the column TYPE; with names, list only groups of one of these types.",
)
@topic_option("Only groups that have commits on this topic, or members that read it. Repeatable.")
@click.option("--verbose", is_flag=True, help="Add the column PROTOCOL.")
@click.option("-q", "--quiet", is_flag=True, help="Print ids only.")
@click.option("-0", "nul", is_flag=True, help="With -q: end each id with NUL instead of a newline.")
@output_options(formats=(*FORMATS, "kafka"))
@clusters_options
def list_groups(
    *,
    selectors: Selectors,
    states: tuple[str, ...],
    types: tuple[str, ...],
    topics: tuple[str, ...],
    verbose: bool,
    quiet: bool,
    nul: bool,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """List groups of every kind.

    These are consumer groups (classic and KIP-848), share groups, streams groups, and groups of other protocols, such
    as those of Connect workers. Without ids, --match or --all-groups, all groups are listed. The brokers filter by
    state and type. In a pipe the output is one id a line, unless options add columns. With --topic, only consumer
    groups are listed, with the number of members that read the topics, and of partitions with a commit.

    If a broker fails, its error is on stderr, and the groups of the other brokers are listed. Nothing on the cluster
    is changed.

    Needs Kafka 0.11 or newer. To filter by state needs 2.6, and by type 3.8 (Classic: any version): on an older broker
    only these filters fail. Without names, --state and --type work on all versions, and show - for what the broker does
    not return. Rights: DESCRIBE on each group, or on the cluster for all
    groups. A group that this user may not describe is not in the list, and brokers report no error for it.

    \b
    Examples:
      kafka-groups list --state Stable,Empty -b localhost:9092
      kafka-groups list -b localhost:9092 --format json | jq '.groups[] | select(.state == "Empty")'
    """
    end_of_id = _read_end_of_id(quiet=quiet, nul=nul)
    if quiet:
        _require_bare(output_format, verbose=verbose, colour=colour, several=bool(connection.profiles))
    selectors = _add_filters(selectors, states, types)
    if topics and output_format == "kafka":
        raise click.UsageError("--topic contradicts --format kafka: Kafka's tool lists no groups of a topic")
    partitions = parse_topics(topics)
    given = {"--type": types, "--state": states, "--verbose": verbose}
    columns = (TOPIC_GROUPS if topics else LISTING).table(options=[option for option, value in given.items() if value])
    view = ListView(columns=columns, output_format=output_format, end_of_id=end_of_id, of_topics=bool(topics))
    body = (
        partial(_list_of_topics, selectors=selectors, topics=partitions, view=view)
        if topics
        else partial(_list, selectors=selectors, view=view)
    )
    run_on_cluster(connection, body, colour=colour, output_format=output_format, make_writer=view.make_writer)


def _read_end_of_id(*, quiet: bool, nul: bool) -> str | None:
    """Return the character behind each id of -q; None without -q. Raises UsageError for -0 without -q."""
    if nul and not quiet:
        raise click.UsageError("-0 needs -q: give both or none")
    if not quiet:
        return None
    return "\0" if nul else "\n"


def _add_filters(selectors: Selectors, states: Sequence[str], types: Sequence[str]) -> Selectors:
    """Return the selectors with the names in --state and --type. Raises UsageError for an unknown name."""
    return selectors._replace(
        states=parse_names(states, option="--state", valid=GROUP_STATES, may_be_bare=True),
        types=parse_names(types, option="--type", valid=group_types(), may_be_bare=True),
    )


def _list(session: ClusterSession, selectors: Selectors, view: ListView) -> None:
    # Without selectors every group is listed.
    plan = TimePlan(session.deadline, listing_steps(selectors) or (steps.LISTING,))
    selection = list_selected(session.admin, selectors, plan=plan)
    failures = [*selection.failures, *map(not_listed, selection.unlisted)]
    if not selection.groups and not failures:
        is_narrowed = not selectors.is_empty() or selectors.exclude or selectors.states or selectors.types
        session.add_notes([NO_MATCH if is_narrowed else Note(NoteKind.NO_GROUPS, None, "No groups.")])
    listings = list(map(selection.listings.__getitem__, selection.groups))
    session.write(
        view.entries(listings), total=len(listings), failures=failures, anything_succeeded=selection.anything_listed
    )


def _list_of_topics(
    session: ClusterSession, selectors: Selectors, topics: Mapping[str, Sequence[int]], view: ListView
) -> None:
    from kafka_groups.groups.topic_groups import list_topic_groups
    from kafka_groups.groups.topic_scope import NO_GROUP_OF_TOPIC

    found = list_topic_groups(session.admin, selectors, topics, deadline=session.deadline)
    is_noted = found.groups or found.failures or NO_MATCH in found.notes
    session.add_notes([*found.notes, *([] if is_noted else [NO_GROUP_OF_TOPIC])])
    session.write(
        view.entries(found.groups),
        total=len(found.groups),
        failures=found.failures,
        anything_succeeded=found.anything_read,
    )


def _require_bare(output_format: str, *, verbose: bool, colour: str, several: bool) -> None:
    """Raise UsageError if an option asks for more than ids."""
    contradicting = {
        f"--format {output_format}": output_format != "table",
        "--verbose": verbose,
        "--color always": colour == "always",
        "several profiles": several,
    }
    for option in (option for option, is_given in contradicting.items() if is_given):
        msg = f"-q prints bare ids and contradicts {option}; remove one of them"
        raise click.UsageError(msg)
