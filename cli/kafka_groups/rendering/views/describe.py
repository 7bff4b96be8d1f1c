"""The view of `describe`: offsets, members or state of each group, its JSON, which contains all three, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from kafka_groups.groups.descriptions import DescribedGroups
from kafka_groups.groups.lag.rows import has_offset_rows, offset_rows
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.kinds import (
    GROUP_STATES,
    REBALANCING_STATES,
    STATES_WITHOUT_MEMBERS,
    Kind,
    Offsets,
    Operation,
    kind_of,
)
from kafka_groups.model import Failure, GroupDescription
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.schemas import Schema, array_schema, document_schema
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.group_views import GroupRows, GroupViews, TableStyle
from kafka_groups.rendering.views.kind_views import (
    CONSUMER_VIEWS,
    connect_views,
    share_views,
    streams_views,
    views_of,
)
from kafka_groups.rendering.views.state import STATES
from kafka_groups.rendering.writers import Writer, open_writer

# Above this number of groups that the user did not name, one note contains their number.
_MAX_NOTES: Final = 20
# What a group without rows of offsets lacks.
_MISSING_OFFSETS: Final = {
    Offsets.COMMITTED: "no committed offsets and no assigned partitions",
    Offsets.START: "no start offsets",
}


class DescribeView(NamedTuple):
    """One view of described groups: `name` is offsets, members, state or topology."""

    name: str
    verbose: bool
    output_format: str

    def details(self) -> Details:
        """Return what this view needs of the groups. JSON contains the same keys in every view."""
        is_json = self.output_format == "json"
        is_kafka = self.output_format == "kafka"
        offsets = self.name == "offsets" or is_json
        return Details(
            offsets=offsets,
            # One more request for each leader; Kafka's own tool has no such column.
            log_start_offsets=self.verbose and offsets and not is_kafka,
            share_log_ends=is_json or (self.verbose and not is_kafka),
            # Kafka's tool counts the lag of a partition without a commit from the log start offset.
            streams_log_starts=is_kafka and offsets,
            topology=self.name == "topology",
            members=self.name != "offsets" or is_json,
            offsets_only=self.name == "offsets",
        )

    def operation(self) -> Operation:
        """Return what a kind of group must support for this view."""
        return Operation.DESCRIBE_TOPOLOGY if self.name == "topology" else Operation.DESCRIBE

    def make_writer(self, screen: Screen) -> Writer:
        """Return the writer of the format."""
        if self.output_format == "table":
            from kafka_groups.rendering.writers.table import BlockWriter

            if not screen.names_clusters:
                return BlockWriter(screen)
            from kafka_groups.rendering.writers.clusters import ClusterColumns, ClusterWriter

            return ClusterWriter(BlockWriter(screen), ClusterColumns())
        if self.output_format == "kafka":
            from kafka_groups.rendering.writers.kafka import KafkaWriter

            return KafkaWriter(screen)
        # A CSV without groups has the columns of consumer groups.
        views = streams_views() if self.name == "topology" else CONSUMER_VIEWS
        view = views.tables[self.name].view
        columns = self._csv_columns(views)
        return open_writer(
            screen, self.output_format, command="describe", view=view, columns=columns, csv_columns=columns
        )

    def kinds_by_columns(self, groups: DescribedGroups) -> list[list[str]]:
        """Return what texts call these groups, in a list for each set of columns that a CSV of them has."""
        kinds = dict.fromkeys(kind_of(group) for group in groups.descriptions.values())
        plurals: dict[tuple[str, ...], list[str]] = {}
        for kind in kinds:
            headers = tuple(column.header for column in self._csv_columns(views_of(kind)))
            plurals.setdefault(headers, []).append(kind.plural)
        return [[*dict.fromkeys(each)] for each in plurals.values()]

    def entries(self, groups: DescribedGroups) -> Iterator[Entry]:
        """Yield an entry for each group, so that a large cluster's rows are never in memory at once."""
        has_offsets = self.details().offsets
        style = TableStyle(self.verbose, as_kafka=self.output_format == "kafka")
        csv_columns: dict[Kind, tuple[Column, ...]] = {}
        for name, group in groups.descriptions.items():
            rows = GroupRows(group, offset_rows(groups, name) if has_offsets else ())
            kind = kind_of(group)
            views = views_of(kind)
            if kind not in csv_columns:
                csv_columns[kind] = self._csv_columns(views)
            table = views.tables[self.name]
            table_rows = table.rows_in(style, rows)
            yield Entry(
                columns=table.columns(table_rows, style),
                rows=table_rows,
                document=partial(views.document, rows),
                is_header_kept=self.name == "members",
                view=table.view,
                csv_columns=csv_columns[kind],
            )

    def _csv_columns(self, views: GroupViews) -> tuple[Column, ...]:
        return views.tables[self.name].view.table(options={"--verbose"} if self.verbose else ())

    def notes(self, groups: DescribedGroups, *, named: frozenset[str]) -> list[Note]:
        """Return notes for before the rows: groups without members, rebalances, and ids that are names of states."""
        states = note_states(groups.descriptions.values(), named=named)
        return [*states, *note_names_of_states(groups.failures)] if self.name == "state" else states

    def notes_after_rows(self, groups: DescribedGroups, *, named: frozenset[str]) -> list[Note]:
        """Return notes on the groups that have no row."""
        if self.name != "offsets":
            return []
        without_rows = [
            group
            for name, group in groups.descriptions.items()
            if kind_of(group).offsets in _MISSING_OFFSETS and not has_offset_rows(groups, name)
        ]
        return [
            note
            for offsets, missing in _MISSING_OFFSETS.items()
            for note in _note_groups(
                [group for group in without_rows if kind_of(group).offsets is offsets],
                named,
                NoteKind.NO_OFFSETS,
                f"{{}} has {missing}.",
                f"{{}} have {missing}.",
            )
        ]


def note_states(descriptions: Iterable[GroupDescription], *, named: frozenset[str]) -> list[Note]:
    """Return which groups have no members or are rebalancing: those that the user named, and others if they are few."""
    groups = list(descriptions)
    return [
        *_note_groups(
            [group for group in groups if group.state in STATES_WITHOUT_MEMBERS],
            named,
            NoteKind.NO_ACTIVE_MEMBERS,
            "{} has no active members.",
            "{} have no active members.",
        ),
        *_note_groups(
            [group for group in groups if group.state in REBALANCING_STATES],
            named,
            NoteKind.REBALANCING,
            "Warning: {} is rebalancing.",
            "Warning: {} are rebalancing.",
        ),
    ]


def note_names_of_states(failures: Iterable[Failure]) -> Iterator[Note]:
    """Yield a hint for each id that is the name of a state: `list --state Stable` filters, but not this command."""
    spelled = {state.lower(): state for state in GROUP_STATES}
    for failure in failures:
        state = spelled.get((failure.group or "").lower())
        if state is not None and failure.name == "GROUP_ID_NOT_FOUND":
            text = f"'{failure.group}' was read as a group id; for groups in that state, use --in-state {state}"
            yield Note(NoteKind.NAME_OF_STATE, failure.group, text)


def _note_groups(
    groups: Sequence[GroupDescription], named: frozenset[str], kind: NoteKind, one: str, many: str
) -> list[Note]:
    unnamed = [group for group in groups if group.group not in named]
    shown = [group for group in groups if group.group in named or len(unnamed) <= _MAX_NOTES]
    notes = [Note(kind, group.group, one.format(f"{kind_of(group).noun} '{group.group}'")) for group in shown]
    if len(unnamed) > _MAX_NOTES:
        plurals = {kind_of(group).plural for group in unnamed}
        noun = plurals.pop() if len(plurals) == 1 else "groups"
        notes.append(Note(kind, None, many.format(f"{len(unnamed):,} {'more ' if shown else ''}{noun}")))
    return notes


def describe_schema() -> Schema:
    """Return the JSON Schema of `describe`. The offsets and members of a group are those of its kind."""
    from kafka_groups.rendering.views.topologies import TOPOLOGY_SCHEMA

    kinds = {
        "": CONSUMER_VIEWS,
        "share_": share_views(),
        "streams_": streams_views(),
        "connect_": connect_views(),
    }
    members = array_schema(
        "The members; those with the most partitions first. None if the description failed: the state is null then.",
        {"anyOf": [_row_schema(views, "members") for views in kinds.values()]},
    )
    offsets = array_schema(
        "The partitions that a member owns, and those with an offset; empty for a Connect group.",
        {"anyOf": [_row_schema(kinds[kind], "offsets") for kind in ("", "share_")]},
    )
    rows = {
        f"{prefix}{name}_row": views.tables[name].view.properties()
        for prefix, views in kinds.items()
        for name in ("offsets", "members")
    }
    topology = kinds["streams_"].tables["topology"].view
    return document_schema(
        "describe",
        {
            **STATES.properties(without=("members",)),
            "offsets": offsets,
            "members": members,
            "topology": TOPOLOGY_SCHEMA,
        },
        {**rows, "state_row": STATES.properties(), "topology_row": topology.properties()},
    )


def _row_schema(views: GroupViews, name: str) -> Schema:
    return views.tables[name].view.schema(without=("group",))
