"""`kafka-groups describe`: what groups have committed, how far behind they are, who is in them, how they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from kafka_groups.commands.options import (
    Connection,
    Selectors,
    parse_names,
    takes_connection,
    takes_output,
    takes_selectors,
)
from kafka_groups.commands.selection import select_groups
from kafka_groups.commands.session import Session, session
from kafka_groups.commands.survey import Survey, survey_groups
from kafka_groups.model import GROUP_STATES, GROUP_TYPES, GroupDescription, OffsetRow
from kafka_groups.rendering.columns import Column, member_columns, member_columns_of, offsets_columns, state_columns
from kafka_groups.rendering.documents import Document, description_document, member_document
from kafka_groups.rendering.formats import (
    FORMATS,
    BlockWriter,
    CsvWriter,
    Entry,
    JsonWriter,
    KafkaWriter,
    NdjsonWriter,
    Writer,
)
from kafka_groups.rendering.notices import tell_states
from kafka_groups.rendering.rows import MemberRow, StateRow, member_rows, state_row
from kafka_groups.rendering.screen import Screen


@click.command()
@takes_selectors
@click.option(
    "--offsets", "view", flag_value="offsets", default="offsets", help="Offsets and lag by partition (the default)."
)
@click.option("--members", "view", flag_value="members", help="Members and what they are assigned.")
@click.option("--state", "view", flag_value="state", help="State, coordinator and assignor.")
@click.option("--in-state", metavar="STATE,…", help="Only groups in one of these states.")
@click.option("--type", "types", metavar="TYPE,…", help="Only groups of one of these types.")
@click.option("--verbose", is_flag=True, help="More columns: epochs, log start offsets, metadata, assignments.")
@takes_output(formats=(*FORMATS, "kafka"))
@takes_connection
def describe(
    *,
    selectors: Selectors,
    view: str,
    in_state: str | None,
    types: str | None,
    verbose: bool,
    output_format: str,
    colour: str,
    connection: Connection,
) -> None:
    """Describe groups: offsets and lag, or members, or state.

    A group without members shows what it has committed; one with members also shows its commits on
    partitions that no member owns.

    \b
    kafka-groups describe billing
    kafka-groups describe --all-groups --members --verbose
    """
    if selectors.is_empty():
        raise click.UsageError("which groups? Name them, or give --match REGEX or --all-groups")
    states = parse_names(in_state, option="--in-state", valid=GROUP_STATES)
    wanted_types = parse_names(types, option="--type", valid=GROUP_TYPES)
    shape = View(name=view, verbose=verbose, output_format=output_format)
    with session(connection, colour=colour, writer=shape.writer) as (asked, writer):
        selection = select_groups(asked.admin, selectors, states=states, types=wanted_types)
        survey = survey_groups(
            asked,
            selection,
            with_offsets=shape.needs_offsets(),
            with_starts=verbose and shape.needs_offsets(),
            with_epochs=shape.needs_epochs(),
        )
        tell_states(asked.screen, survey.descriptions.values(), named=selection.named)
        asked.show(writer, shape.entries(asked, survey))


@dataclass(frozen=True, kw_only=True)
class View:
    """Which view of a group, how much of it, in which format."""

    name: str
    verbose: bool
    output_format: str

    def needs_offsets(self) -> bool:
        """JSON carries the same keys in every view, offsets among them."""
        return self.name == "offsets" or self.output_format == "json"

    def needs_epochs(self) -> bool:
        """Whether an Empty KIP-848 group has something to show that its listing does not tell."""
        return self.name != "offsets" or self.output_format == "json"

    def writer(self, screen: Screen) -> Writer:
        """The writer for the format."""
        if self.output_format == "json":
            return JsonWriter(screen, "kafka-groups/describe/1")
        if self.output_format == "ndjson":
            return NdjsonWriter(screen)
        if self.output_format == "csv":
            return CsvWriter(screen, self._widest_columns())
        return KafkaWriter(screen) if self.output_format == "kafka" else BlockWriter(screen)

    def entries(self, asked: Session, survey: Survey) -> Iterator[Entry]:
        """An entry a group, made when it is written: a large cluster's rows never stand in memory at once."""
        for group, description in survey.descriptions.items():
            rows = survey.rows_of(group) if self.needs_offsets() else []
            if self.name == "offsets" and not rows:
                asked.note(f"Consumer group '{group}' has no committed offsets and no assigned partitions.")
            yield self._entry(description, rows)

    def _entry(self, description: GroupDescription, rows: Sequence[OffsetRow]) -> Entry:
        shown = self._rows(description, rows)
        return Entry(
            columns=self._columns(shown),
            rows=shown,
            document=lambda: description_document(description, rows),
            records=lambda: self._records(description, rows),
        )

    def _rows(
        self, description: GroupDescription, rows: Sequence[OffsetRow]
    ) -> Sequence[OffsetRow] | Sequence[MemberRow] | Sequence[StateRow]:
        if self.name == "members":
            return list(member_rows(description))
        return [state_row(description)] if self.name == "state" else rows

    def _columns(self, rows: Sequence[object]) -> tuple[Column, ...]:
        if self.name == "members":
            return member_columns_of([row for row in rows if isinstance(row, MemberRow)], verbose=self.verbose)
        return state_columns(verbose=self.verbose) if self.name == "state" else offsets_columns(verbose=self.verbose)

    def _widest_columns(self) -> tuple[Column, ...]:
        if self.name == "members":
            return member_columns(instances=True, verbose=self.verbose, upgrades=self.verbose)
        return self._columns(())

    def _records(self, description: GroupDescription, rows: Sequence[OffsetRow]) -> Iterator[Mapping[str, object]]:
        if self.name == "members":
            for member in description.members:
                yield {"group": description.group, **member_document(member)}
        elif self.name == "state":
            whole: Document = description_document(description, ())
            members = len(whole.pop("members"))
            whole.pop("offsets")
            yield {**whole, "members": members}
        else:
            for row in rows:
                yield row._asdict()
