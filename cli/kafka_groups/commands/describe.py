"""`kafka-groups describe`: what groups have committed, how far behind they are, who is in them, how they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from kafka_groups.commands.cluster_session import Session, session
from kafka_groups.commands.options import (
    Connection,
    Selectors,
    parse_names,
    takes_connection,
    takes_output,
    takes_selectors,
)
from kafka_groups.commands.selection import anything_listed, select_groups
from kafka_groups.commands.survey import Survey, survey_groups
from kafka_groups.lag import in_order_of_work
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
from kafka_groups.rendering.rows import MemberRow, StateRow, member_rows, state_row
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.stderr import tell_states, tell_without_rows


@click.command()
@takes_selectors
@click.option("--offsets", is_flag=True, help="Offsets and lag by partition (the default).")
@click.option("--members", is_flag=True, help="Members and what they are assigned.")
@click.option("--state", is_flag=True, help="State, coordinator and assignor.")
@click.option("--in-state", metavar="STATE,…", multiple=True, help="Only groups in one of these states.")
@click.option("--type", "types", metavar="TYPE,…", multiple=True, help="Only groups of one of these types.")
@click.option("--verbose", is_flag=True, help="More columns: epochs, log start offsets, metadata, assignments.")
@takes_output(formats=(*FORMATS, "kafka"))
@takes_connection
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
    view = _one_view(offsets=offsets, members=members, state=state)
    shape = View(name=view, verbose=verbose, output_format=output_format)
    with session(connection, colour=colour, writer=shape.writer) as (asked, writer):
        selection = select_groups(asked.admin, selectors, states=states, types=wanted_types)
        survey = survey_groups(
            asked,
            selection,
            with_offsets=shape.needs_offsets(),
            with_starts=shape.needs_starts(),
            with_epochs=shape.needs_epochs(),
            only_offsets=shape.name == "offsets",
        )
        asked.bar.stop()
        tell_states(asked.screen, survey.descriptions.values(), named=selection.named)
        if view == "state":
            _tell_groups_like_states(asked)
        asked.show(
            writer,
            shape.entries(asked, survey, named=selection.named),
            total=len(survey.descriptions),
            answered=bool(survey.descriptions)
            or (not selection.groups and anything_listed(selection, brokers=len(asked.admin.brokers()))),
        )


def _tell_groups_like_states(asked: Session) -> None:
    """`--state Stable` filters in `list`, but names a group here: a hint, where there is no such group."""
    spelled = {state.lower(): state for state in GROUP_STATES}
    for failure in asked.failures:
        state = spelled.get((failure.group or "").lower())
        if state is not None and failure.name == "GROUP_ID_NOT_FOUND":
            asked.note(
                f"'{failure.group}' was taken for a group's id; for groups in that state, give --in-state {state}"
            )


def _one_view(**flags: bool) -> str:
    chosen = [name for name, is_given in flags.items() if is_given]
    if len(chosen) > 1:
        msg = f"--{chosen[0]} contradicts --{chosen[1]}: give one or the other"
        raise click.UsageError(msg)
    return chosen[0] if chosen else "offsets"


@dataclass(frozen=True, kw_only=True)
class View:
    """Which view of a group, how much of it, in which format."""

    name: str
    verbose: bool
    output_format: str

    def needs_offsets(self) -> bool:
        """JSON carries the same keys in every view, offsets among them."""
        return self.name == "offsets" or self.output_format == "json"

    def needs_starts(self) -> bool:
        """One more request a leader; Kafka's own tool has no such column."""
        return self.verbose and self.needs_offsets() and self.output_format != "kafka"

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

    def entries(self, asked: Session, survey: Survey, *, named: frozenset[str]) -> Iterator[Entry]:
        """An entry a group, made when it is written: a large cluster's rows never stand in memory at once."""
        without_rows: list[str] = []
        for group, description in survey.descriptions.items():
            rows = survey.rows_of(group) if self.needs_offsets() else []
            if self.name == "offsets" and not rows:
                without_rows.append(group)
            yield self._entry(description, rows)
        tell_without_rows(asked.screen, without_rows, named=named)

    def _entry(self, description: GroupDescription, rows: Sequence[OffsetRow]) -> Entry:
        shown = self._rows(description, rows)
        return Entry(
            columns=self._columns(shown),
            rows=shown,
            document=lambda: description_document(description, rows),
            records=lambda: self._records(description, rows),
            is_header_kept=self.name == "members",
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
        if self.name == "state":
            return state_columns(verbose=self.verbose)
        return offsets_columns(verbose=self.verbose, as_kafka=self.output_format == "kafka")

    def _widest_columns(self) -> tuple[Column, ...]:
        if self.name == "members":
            return member_columns(instances=True, verbose=self.verbose, upgrades=self.verbose)
        return self._columns(())

    def _records(self, description: GroupDescription, rows: Sequence[OffsetRow]) -> Iterator[Mapping[str, object]]:
        if self.name == "members":
            for member in in_order_of_work(description.members):
                yield {"group": description.group, **member_document(member)}
        elif self.name == "state":
            whole: Document = description_document(description, ())
            members = len(whole.pop("members"))
            whole.pop("offsets")
            yield {**whole, "members": members}
        else:
            for row in rows:
                yield row._asdict()
