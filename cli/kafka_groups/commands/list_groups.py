"""`kafka-groups list`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import click

from kafka_groups.groups.selection import Selectors, list_selected, not_listed
from kafka_groups.kinds import GROUP_STATES, group_types
from kafka_groups.model import GroupListing
from kafka_groups.options.cluster_session import ClusterSession, open_session
from kafka_groups.options.connection import Connection, connection_options
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import offer
from kafka_groups.options.selectors import BARE, parse_names, selector_options
from kafka_groups.options.topics import parse_topics, topic_option
from kafka_groups.rendering.columns import Column, View
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.list_groups import (
    GROUP,
    LISTING,
    TOPIC_GROUPS,
    encode_listing,
    encode_topic_group,
)
from kafka_groups.rendering.writers import FORMATS, Entry, Writer, open_data_writer


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
@topic_option("Only groups that have commits on this topic, or members that own partitions of it. Repeatable.")
@click.option("--verbose", is_flag=True, help="Add the column PROTOCOL.")
@click.option("-q", "--quiet", is_flag=True, help="Print ids only.")
@click.option("-0", "nul", is_flag=True, help="With -q: end each id with NUL instead of a newline.")
@output_options(formats=(*FORMATS, "kafka"))
@connection_options
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
    groups are listed, with the number of members that own partitions of the topics, and of partitions with a commit.

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
    if nul and not quiet:
        raise click.UsageError("-0 needs -q: give both or none")
    if quiet:
        _require_bare(output_format, verbose=verbose, colour=colour)
    selectors = selectors._replace(
        states=parse_names(states, option="--state", valid=GROUP_STATES, may_be_bare=True),
        types=parse_names(types, option="--type", valid=group_types(), may_be_bare=True),
    )
    view = TOPIC_GROUPS if topics else LISTING
    given = {"--type": types, "--state": states, "--verbose": verbose}
    columns = view.table(options=[option for option, value in given.items() if value])
    end_of_id = "" if not quiet else "\0" if nul else "\n"
    make_writer = partial(_make_writer, view=view, columns=columns, output_format=output_format, end_of_id=end_of_id)
    if topics:
        if output_format == "kafka":
            raise click.UsageError("--topic contradicts --format kafka: Kafka's tool lists no groups of a topic")
        named = parse_topics(topics)
        with open_session(connection, colour=colour, make_writer=make_writer) as session:
            _list_of_topics(session, selectors, named, columns)
        return
    with open_session(connection, colour=colour, make_writer=make_writer) as session:
        selection = list_selected(session.admin, selectors, deadline=session.deadline)
        failures = [*selection.failures, *map(not_listed, selection.unlisted)]
        if not selection.groups and not failures:
            is_narrowed = not selectors.is_empty() or selectors.exclude or selectors.states or selectors.types
            session.print_notes(["No group matches." if is_narrowed else "No groups."])
        listings = list(map(selection.listings.__getitem__, selection.groups))
        session.write(
            _entries(columns, listings, output_format),
            total=len(listings),
            failures=failures,
            anything_succeeded=selection.anything_listed,
        )


def _list_of_topics(
    session: ClusterSession, selectors: Selectors, topics: Mapping[str, Sequence[int]], columns: Sequence[Column]
) -> None:
    from kafka_groups.groups.topic_groups import list_topic_groups

    found = list_topic_groups(session.admin, selectors, topics, deadline=session.deadline)
    nothing = "No group has commits on the topic, or members that own partitions of it."
    is_noted = found.groups or found.failures or "No group matches." in found.notes
    session.print_notes([*found.notes, *([] if is_noted else [nothing])])
    entries = [Entry(columns, (group,), partial(encode_topic_group, group)) for group in found.groups]
    session.write(entries, total=len(entries), failures=found.failures, anything_succeeded=found.anything_read)


def _require_bare(output_format: str, *, verbose: bool, colour: str) -> None:
    """Raise UsageError if an option asks for more than ids."""
    contradicting = {
        f"--format {output_format}": output_format != "table",
        "--verbose": verbose,
        "--color always": colour == "always",
    }
    for option in (option for option, is_given in contradicting.items() if is_given):
        msg = f"-q prints bare ids and contradicts {option}; remove one of them"
        raise click.UsageError(msg)


def _entries(columns: Sequence[Column], listings: Sequence[GroupListing], output_format: str) -> Iterator[Entry]:
    """Yield an entry for each group in JSON, else one for all of them, because their rows are of one kind."""
    if output_format == "json":
        yield from (Entry(columns, (listing,), partial(encode_listing, listing)) for listing in listings)
    elif listings:
        yield Entry(columns, listings, dict)


def _make_writer(
    screen: Screen, *, view: View, columns: Sequence[Column], output_format: str, end_of_id: str
) -> Writer:
    is_bare = len(columns) == 1 and output_format in {"table", "kafka"}
    if end_of_id or (is_bare and (output_format == "kafka" or not screen.out_is_terminal)):
        from kafka_groups.rendering.writers.ids import IdWriter

        return IdWriter(screen, GROUP, end_of_value=end_of_id or "\n")
    if writer := open_data_writer(screen, output_format, command="list", view=view):
        return writer
    if output_format == "kafka":
        from kafka_groups.rendering.writers.kafka import KafkaListWriter

        return KafkaListWriter(screen, columns)
    from kafka_groups.rendering.writers.table import TableWriter

    return TableWriter(screen, columns)
