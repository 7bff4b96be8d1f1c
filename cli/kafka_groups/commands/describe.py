"""`kafka-groups describe`: offsets and lag, members, or state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from kafka_groups.groups.assignments import note_shared
from kafka_groups.groups.descriptions import DescribedGroups, Details, describe_groups
from kafka_groups.groups.lag.rows import offset_rows
from kafka_groups.groups.selection import Selectors, select_groups
from kafka_groups.kinds import GROUP_STATES, Operation, group_types
from kafka_groups.model import Failure, GroupDescription, OffsetRow
from kafka_groups.options.cluster_session import open_session
from kafka_groups.options.connection import Connection, connection_options
from kafka_groups.options.output import output_options
from kafka_groups.options.parameters import offer
from kafka_groups.options.selectors import parse_names, require_selectors, selector_options
from kafka_groups.rendering.columns import Column, View
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.stderr import print_empty_groups, print_group_states
from kafka_groups.rendering.views.describe import OFFSET_COLUMNS, OFFSETS, describe_document
from kafka_groups.rendering.writers import FORMATS, Entry, Writer, open_data_writer


@click.command()
@selector_options
@click.option("--offsets", is_flag=True, help="Show offsets and lag by partition. [default]")
@click.option(
    "--members", is_flag=True, help="Show members, and how many partitions each one has; with --verbose, which ones."
)
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
    help="Only groups of one of these types: Classic or Consumer.",
)
@click.option(
    "--verbose",
    is_flag=True,
    help="Add columns. Offsets: leader epochs, log start offsets, metadata; --members: assigned partitions, epochs; "
    "--state: epochs.",
)
@output_options(formats=(*FORMATS, "kafka"))
@connection_options
def describe(
    *,
    selectors: Selectors,
    offsets: bool,
    members: bool,
    state: bool,
    in_state: tuple[str, ...],
    types: tuple[str, ...],
    verbose: bool,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Describe groups: offsets and lag, or members, or state.

    LAG is the log end offset minus the committed offset. It is - (null in JSON, empty in CSV) if nothing is
    committed or the log end offset is unknown. It is negative if the committed offset is above the log end offset,
    such as after an unclean leader election.

    A group without members is no error: its committed offsets are printed, and a note on stderr. A group with members
    also shows its commits on partitions that no member owns.

    Share groups, streams groups, and classic groups of other protocols, such as those of Connect workers, cannot be
    described, only listed (kafka-groups list). --match and --all-groups skip them with a note; such a group that is
    named is an error.

    If a group, a partition or a broker fails, its error is on stderr, and the others are printed. A group whose offsets
    are known and whose description is not is printed without members. Nothing on the cluster is changed, and no group
    is joined.

    Needs Kafka 0.11 or newer. --in-state needs 2.6, and --type 3.8 (Classic: any version): on an older broker only
    these filters fail. Rights: DESCRIBE on each group, and on its topics. Without DESCRIBE on a topic, brokers leave
    out commits on it without an error; if a member is assigned that topic, it is an error, and the members of a KIP-848
    group are not printed. --match and --all-groups select from the groups that list shows: all with DESCRIBE on the
    cluster, else those with DESCRIBE on the group.

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
    name = _one_view(offsets=offsets, members=members, state=state)
    output = DescribeOutput(name=name, verbose=verbose, output_format=output_format)
    with open_session(connection, colour=colour, make_writer=output.make_writer) as session:
        selection = select_groups(session.admin, selectors, operation=Operation.DESCRIBE, deadline=session.deadline)
        session.failures = selection.failures
        groups = describe_groups(session.admin, selection, details=output.details(), deadline=session.deadline)
        failures = session.suggest_groups(groups.failures, selectors, Operation.DESCRIBE)
        session.print_notes(groups.notes)
        if several := [group for group in groups.descriptions.values() if len(group.members) > 1]:
            session.print_notes(note_shared(several))
        print_group_states(session.screen, groups.descriptions.values(), named=selection.named)
        if name == "state":
            session.print_notes(_hints(groups.failures))
        without_rows: list[str] = []
        session.write(
            output.entries(groups, without_rows),
            total=len(groups.descriptions),
            failures=failures,
            anything_succeeded=bool(groups.descriptions) or (not selection.groups and selection.anything_listed),
            after_rows=lambda: print_empty_groups(session.screen, without_rows, named=selection.named),
        )


def _hints(failures: Sequence[Failure]) -> Iterator[str]:
    """Yield a hint for each id that is the name of a state: `list --state Stable` filters, but not this command."""
    spelled = {state.lower(): state for state in GROUP_STATES}
    for failure in failures:
        state = spelled.get((failure.group or "").lower())
        if state is not None and failure.name == "GROUP_ID_NOT_FOUND":
            yield f"'{failure.group}' was read as a group id; for groups in that state, use --in-state {state}"


def _one_view(**flags: bool) -> str:
    chosen = [name for name, is_given in flags.items() if is_given]
    if len(chosen) > 1:
        msg = f"--{chosen[0]} contradicts --{chosen[1]}: give one or the other"
        raise click.UsageError(msg)
    return chosen[0] if chosen else "offsets"


@dataclass(frozen=True, kw_only=True)
class DescribeOutput:
    """The view of a group, its columns, and the output format."""

    name: str
    verbose: bool
    output_format: str

    def details(self) -> Details:
        """Return what this view needs of the groups. JSON contains the same keys in every view."""
        is_json = self.output_format == "json"
        offsets = self.name == "offsets" or is_json
        return Details(
            offsets=offsets,
            # One more request for each leader; Kafka's own tool has no such column.
            log_start_offsets=self.verbose and offsets and self.output_format != "kafka",
            members=self.name != "offsets" or is_json,
            offsets_only=self.name == "offsets",
        )

    def make_writer(self, screen: Screen) -> Writer:
        """Return the writer of the format."""
        if self.output_format == "table":
            from kafka_groups.rendering.writers.table import BlockWriter

            return BlockWriter(screen)
        view = self._view()
        if self.output_format == "csv":
            from kafka_groups.rendering.writers.csv import CsvWriter

            return CsvWriter(screen, view.table(options=self._options()))
        if writer := open_data_writer(screen, self.output_format, command="describe", view=view):
            return writer
        from kafka_groups.rendering.writers.kafka import KafkaWriter

        return KafkaWriter(screen)

    def entries(self, groups: DescribedGroups, without_rows: list[str]) -> Iterator[Entry]:
        """Yield an entry for each group, so that a large cluster's rows are never in memory at once.

        Ids of groups that have no rows in the offsets view are appended to `without_rows`.
        """
        needs_offsets = self.details().offsets
        for name, group in groups.descriptions.items():
            rows = offset_rows(groups, name) if needs_offsets else []
            if self.name == "offsets" and not rows:
                without_rows.append(name)
            yield self._entry(group, rows)

    def _entry(self, group: GroupDescription, offsets: Sequence[OffsetRow]) -> Entry:
        columns, rows = self._table(group, offsets)
        document = partial(describe_document, group, offsets)
        return Entry(columns, rows, document, is_header_kept=self.name == "members")

    def _table(self, group: GroupDescription, offsets: Sequence[OffsetRow]) -> tuple[Sequence[Column], Sequence[Any]]:
        if self.name == "members":
            from kafka_groups.rendering.views.members import member_columns, member_rows

            members = member_rows(group)
            return member_columns(members, verbose=self.verbose), members
        if self.name == "state":
            from kafka_groups.rendering.views.state import STATES

            return STATES.table(options=self._options()), [group]
        return OFFSET_COLUMNS[self.verbose, self.output_format == "kafka"], offsets

    def _options(self) -> tuple[str, ...]:
        return ("--verbose",) if self.verbose else ()

    def _view(self) -> View:
        from kafka_groups.rendering.views.members import MEMBERS
        from kafka_groups.rendering.views.state import STATES

        return {"offsets": OFFSETS, "members": MEMBERS, "state": STATES}[self.name]
