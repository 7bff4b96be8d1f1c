"""`kafka-groups list`: which groups there are, of every kind."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kafka_groups.commands.cluster_session import session
from kafka_groups.commands.options import (
    BARE,
    Connection,
    Selectors,
    parse_names,
    takes_connection,
    takes_output,
    takes_selectors,
)
from kafka_groups.commands.selection import Selection, anything_listed, list_selected
from kafka_groups.commands.survey import not_found
from kafka_groups.errors import MissingFromResponseError
from kafka_groups.model import GROUP_STATES, GROUP_TYPES, Failure, GroupListing
from kafka_groups.rendering.columns import Column, list_columns
from kafka_groups.rendering.documents import listing_document
from kafka_groups.rendering.formats import (
    FORMATS,
    BareWriter,
    CsvWriter,
    Entry,
    JsonWriter,
    KafkaListWriter,
    NdjsonWriter,
    TableWriter,
    Writer,
)
from kafka_groups.rendering.screen import Screen


@click.command("list")
@takes_selectors
@click.option(
    "--state",
    "states",
    metavar="[STATE,…]",
    multiple=True,
    is_flag=False,
    flag_value=BARE,
    help="Show states; with names, only groups in one of them.",
)
@click.option(
    "--type",
    "types",
    metavar="[TYPE,…]",
    multiple=True,
    is_flag=False,
    flag_value=BARE,
    help="Show types; with names, only groups of one of them.",
)
@click.option("--verbose", is_flag=True, help="Show protocols too.")
@click.option("-q", "--quiet", is_flag=True, help="Print ids only.")
@click.option("-0", "nul", is_flag=True, help="With -q: end each id with NUL instead of a newline.")
@takes_output(formats=(*FORMATS, "kafka"))
@takes_connection
def list_groups(
    *,
    selectors: Selectors,
    states: tuple[str, ...],
    types: tuple[str, ...],
    verbose: bool,
    quiet: bool,
    nul: bool,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """List groups: consumer groups of both protocols, Connect, share, streams and all others.

    States and types are filtered by the brokers. Ids given narrow the list to these.

    \b
    kafka-groups list --state Stable,Empty
    kafka-groups list --format json | jq -r '.groups[] | select(.state=="Stable").group'
    """
    if nul and not quiet:
        raise click.UsageError("-0 goes with -q")
    if quiet and output_format != "table":
        msg = f"-q prints bare ids and contradicts --format {output_format}"
        raise click.UsageError(msg)
    wanted_states = parse_names(states, option="--state", valid=GROUP_STATES)
    wanted_types = parse_names(types, option="--type", valid=GROUP_TYPES)
    columns = list_columns(types=bool(types), states=bool(states), protocols=verbose)

    def make_writer(screen: Screen) -> Writer:
        if quiet:
            return BareWriter(screen, columns[0], end_of_value="\0" if nul else "\n")
        return _writer(screen, columns, output_format)

    with session(connection, colour=colour, writer=make_writer) as (asked, writer):
        selection = list_selected(asked.admin, selectors, states=wanted_states, types=wanted_types)
        asked.failures += [*selection.failures, *map(not_found, selection.absent), *map(_not_told, selection.unsure)]
        if not selection.groups and not asked.failures:
            asked.note("No group matches." if _narrows(selectors, wanted_states, wanted_types) else "No groups.")
        entries = (_entry(selection, group, columns) for group in selection.groups)
        asked.show(
            writer,
            entries,
            total=len(selection.groups),
            answered=anything_listed(selection, brokers=len(asked.admin.brokers())),
        )


def _narrows(selectors: Selectors, states: Sequence[str] | None, types: Sequence[str] | None) -> bool:
    """Whether there may be groups although none is listed."""
    return not selectors.is_empty() or bool(selectors.exclude or states or types)


def _not_told(group: str) -> Failure:
    return Failure.of(MissingFromResponseError("no broker lists it, and not every broker answered"), group=group)


def _entry(selection: Selection, group: str, columns: Sequence[Column]) -> Entry:
    listing: GroupListing = selection.listings[group]
    return Entry(
        columns=columns,
        rows=(listing,),
        document=lambda: listing_document(listing),
        records=lambda: (listing_document(listing),),
    )


def _writer(screen: Screen, columns: Sequence[Column], output_format: str) -> Writer:
    if output_format == "json":
        return JsonWriter(screen, "kafka-groups/list/1")
    if output_format == "ndjson":
        return NdjsonWriter(screen)
    if output_format == "csv":
        # What machines read always has all columns, as JSON has all keys.
        return CsvWriter(screen, list_columns(types=True, states=True, protocols=True))
    if len(columns) == 1 and (output_format == "kafka" or not screen.out_is_terminal):
        return BareWriter(screen, columns[0])
    return KafkaListWriter(screen, columns) if output_format == "kafka" else TableWriter(screen, columns)
