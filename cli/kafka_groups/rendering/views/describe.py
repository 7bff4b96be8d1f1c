"""The view of `describe`: offsets, members or state of each group, its JSON, which contains all three, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from kafka_groups.groups.descriptions import DescribedGroups, Details
from kafka_groups.groups.lag.rows import has_offset_rows, offset_rows
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.kinds import GROUP_STATES, REBALANCING_STATES, STATES_WITHOUT_MEMBERS, kind_of
from kafka_groups.model import Failure, GroupDescription, OffsetRow
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.schemas import Schema, array_schema, document_schema
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.kind_views import CONSUMER_VIEWS, KIND_VIEWS, GroupViews
from kafka_groups.rendering.views.members import MEMBERS
from kafka_groups.rendering.views.partition_lag import OFFSETS
from kafka_groups.rendering.views.state import STATES
from kafka_groups.rendering.writers import Writer, open_writer

# Above this number of groups that the user did not name, one note contains their number.
_MAX_NOTES: Final = 20
# A broker that calls a group with commits Dead has no members of it.


class DescribeView(NamedTuple):
    """One view of described groups: `name` is offsets, members or state."""

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
        if self.output_format == "kafka":
            from kafka_groups.rendering.writers.kafka import KafkaWriter

            return KafkaWriter(screen)
        # JSON and CSV of several kinds have the columns of consumer groups.
        view = CONSUMER_VIEWS.views[self.name]
        columns = view.table(options={"--verbose"} if self.verbose else ())
        return open_writer(
            screen, self.output_format, command="describe", view=view, columns=columns, csv_columns=columns
        )

    def entries(self, groups: DescribedGroups) -> Iterator[Entry]:
        """Yield an entry for each group, so that a large cluster's rows are never in memory at once."""
        has_offsets = self.details().offsets
        for name, group in groups.descriptions.items():
            offsets = offset_rows(groups, name) if has_offsets else []
            columns, rows = self._table(group, offsets)
            document = partial(_views_of(group).document, group, offsets)
            yield Entry(columns, rows, document, is_header_kept=self.name == "members")

    def _table(self, group: GroupDescription, offsets: Sequence[OffsetRow]) -> tuple[Sequence[Column], Sequence[Any]]:
        views = _views_of(group)
        if self.name == "members":
            members = views.member_rows(group)
            return views.member_columns(members, verbose=self.verbose), members
        if self.name == "state":
            return views.state_columns[self.verbose], [group]
        return views.offset_columns[self.verbose, self.output_format == "kafka"], offsets

    def notes(self, groups: DescribedGroups, *, named: frozenset[str]) -> list[Note]:
        """Return notes for before the rows: groups without members, rebalances, and ids that are names of states."""
        states = note_states(groups.descriptions.values(), named=named)
        return [*states, *note_names_of_states(groups.failures)] if self.name == "state" else states

    def notes_after_rows(self, groups: DescribedGroups, *, named: frozenset[str]) -> list[Note]:
        """Return notes on the groups that have no row."""
        if self.name != "offsets":
            return []
        return _note_groups(
            [group for group in groups.descriptions if not has_offset_rows(groups, group)],
            named,
            NoteKind.NO_OFFSETS,
            "Consumer group '{}' has no committed offsets and no assigned partitions.",
            "{} consumer groups have no committed offsets and no assigned partitions.",
        )


def _views_of(group: GroupDescription) -> GroupViews:
    """Return the views of a group. One of a kind that cannot be described has commits, as a consumer group has."""
    return KIND_VIEWS.get(kind_of(group), CONSUMER_VIEWS)


def note_states(descriptions: Iterable[GroupDescription], *, named: frozenset[str]) -> list[Note]:
    """Return which groups have no members or are rebalancing: those that the user named, and others if they are few."""
    empty: list[str] = []
    rebalancing: list[str] = []
    for description in descriptions:
        if description.state in STATES_WITHOUT_MEMBERS:
            empty.append(description.group)
        elif description.state in REBALANCING_STATES:
            rebalancing.append(description.group)
    return [
        *_note_groups(
            empty,
            named,
            NoteKind.NO_ACTIVE_MEMBERS,
            "Consumer group '{}' has no active members.",
            "{} consumer groups have no active members.",
        ),
        *_note_groups(
            rebalancing,
            named,
            NoteKind.REBALANCING,
            "Warning: Consumer group '{}' is rebalancing.",
            "Warning: {} consumer groups are rebalancing.",
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


def _note_groups(groups: Sequence[str], named: frozenset[str], kind: NoteKind, one: str, many: str) -> list[Note]:
    unnamed = sum(group not in named for group in groups)
    notes = [Note(kind, group, one.format(group)) for group in groups if group in named or unnamed <= _MAX_NOTES]
    if unnamed > _MAX_NOTES:
        notes.append(Note(kind, None, many.format(f"{unnamed:,}{' more' if unnamed < len(groups) else ''}")))
    return notes


def describe_schema() -> Schema:
    """Return the JSON Schema of `describe`."""
    offsets = array_schema(
        "The partitions that a member owns, and those with a commit.", OFFSETS.schema(without=("group",))
    )
    members = array_schema(
        "The members; those with the most partitions first. None if the description failed: the state is null then.",
        MEMBERS.schema(without=("group",)),
    )
    return document_schema(
        "describe",
        {**STATES.properties(without=("members",)), "offsets": offsets, "members": members},
        {
            "offsets_row": OFFSETS.properties(),
            "members_row": MEMBERS.properties(),
            "state_row": STATES.properties(),
        },
    )
