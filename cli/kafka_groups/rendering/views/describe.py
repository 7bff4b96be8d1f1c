"""The view of `describe`: offsets, members or state of each group, its JSON, which contains all three, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kafka_groups.groups.descriptions import DescribedGroups, Details
from kafka_groups.groups.lag.rows import has_offset_rows, offset_rows
from kafka_groups.kinds import GROUP_STATES, REBALANCING_STATES
from kafka_groups.model import Failure, GroupDescription, OffsetRow
from kafka_groups.rendering.columns import Column, Entry, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import Document, Schema, array_schema, document_schema, number_schema, text_schema
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.members import CLIENT_ID_TEXT, HOST_TEXT, MEMBERS, member_columns, member_rows
from kafka_groups.rendering.views.offsets import COMMITTED_SCHEMA, LEADER_EPOCH, METADATA, PARTITION, TOPIC
from kafka_groups.rendering.views.state import STATE_COLUMNS, STATES
from kafka_groups.rendering.writers import Writer, open_writer

OFFSETS: Final = View(
    (
        GROUP,
        TOPIC,
        PARTITION,
        LEADER_EPOCH,
        number_column("CURRENT-OFFSET", "committed_offset", kafka_width=15, schema=COMMITTED_SCHEMA),
        number_column(
            "LOG-END-OFFSET",
            "log_end_offset",
            kafka_width=15,
            schema=number_schema("The offset after the partition's last record; null if it is unknown."),
        ),
        number_column(
            "LAG",
            "lag",
            kafka_width=15,
            schema=number_schema(
                "log_end_offset - committed_offset, may be negative; null if either is.", minimum=None
            ),
        ),
        name_column(
            "CONSUMER-ID",
            "member_id",
            kafka_width=15,
            when_narrow="cut",
            schema=text_schema(
                "The member that owns the partition, null if none is known to; several have a row each.", nullable=True
            ),
        ),
        name_column("HOST", "host", kafka_width=15, when_narrow="cut", schema=text_schema(HOST_TEXT, nullable=True)),
        text_column(
            "CLIENT-ID",
            "client_id",
            kafka_width=0,
            when_narrow="cut",
            schema=text_schema(CLIENT_ID_TEXT, nullable=True),
        ),
        number_column(
            "LOG-START-OFFSET",
            "log_start_offset",
            option="--verbose",
            schema=number_schema("The partition's first offset; null without --verbose."),
        ),
        METADATA,
    )
)
# The columns of the table by (verbose, as Kafka's tool).
OFFSET_COLUMNS: Final = {
    (verbose, as_kafka): OFFSETS.table(options={"--verbose"} if verbose else (), as_kafka=as_kafka)
    for verbose in (False, True)
    for as_kafka in (False, True)
}
_encode_state: Final = STATES.encoder(without=("members",))
_encode_offset: Final = OFFSETS.encoder(without=("group",))
_encode_member: Final = MEMBERS.encoder(without=("group",))
_VIEWS: Final = {"offsets": OFFSETS, "members": MEMBERS, "state": STATES}
# Above this number of groups that the user did not name, one note contains their number.
_MAX_NOTES: Final = 20
# A broker that calls a group with commits Dead has no members of it.
_WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})


@dataclass(frozen=True, kw_only=True)
class DescribeView:
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
        view = _VIEWS[self.name]
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
            document = partial(describe_document, group, offsets)
            yield Entry(columns, rows, document, is_header_kept=self.name == "members")

    def _table(self, group: GroupDescription, offsets: Sequence[OffsetRow]) -> tuple[Sequence[Column], Sequence[Any]]:
        if self.name == "members":
            members = member_rows(group)
            return member_columns(members, verbose=self.verbose), members
        if self.name == "state":
            return STATE_COLUMNS[self.verbose], [group]
        return OFFSET_COLUMNS[self.verbose, self.output_format == "kafka"], offsets

    def notes(self, groups: DescribedGroups, *, named: frozenset[str]) -> list[str]:
        """Return notes for before the rows: groups without members, rebalances, and ids that are names of states."""
        states = note_states(groups.descriptions.values(), named=named)
        return [*states, *note_names_of_states(groups.failures)] if self.name == "state" else states

    def notes_after_rows(self, groups: DescribedGroups, *, named: frozenset[str]) -> list[str]:
        """Return notes on the groups that have no row."""
        if self.name != "offsets":
            return []
        return _note_groups(
            [group for group in groups.descriptions if not has_offset_rows(groups, group)],
            named,
            "Consumer group '{}' has no committed offsets and no assigned partitions.",
            "{} consumer groups have no committed offsets and no assigned partitions.",
        )


def note_states(descriptions: Iterable[GroupDescription], *, named: frozenset[str]) -> list[str]:
    """Return which groups have no members or are rebalancing: those that the user named, and others if they are few."""
    empty: list[str] = []
    rebalancing: list[str] = []
    for description in descriptions:
        if description.state in _WITHOUT_MEMBERS:
            empty.append(description.group)
        elif description.state in REBALANCING_STATES:
            rebalancing.append(description.group)
    return [
        *_note_groups(
            empty,
            named,
            "Consumer group '{}' has no active members.",
            "{} consumer groups have no active members.",
        ),
        *_note_groups(
            rebalancing,
            named,
            "Warning: Consumer group '{}' is rebalancing.",
            "Warning: {} consumer groups are rebalancing.",
        ),
    ]


def note_names_of_states(failures: Iterable[Failure]) -> Iterator[str]:
    """Yield a hint for each id that is the name of a state: `list --state Stable` filters, but not this command."""
    spelled = {state.lower(): state for state in GROUP_STATES}
    for failure in failures:
        state = spelled.get((failure.group or "").lower())
        if state is not None and failure.name == "GROUP_ID_NOT_FOUND":
            yield f"'{failure.group}' was read as a group id; for groups in that state, use --in-state {state}"


def _note_groups(groups: Sequence[str], named: frozenset[str], one: str, many: str) -> list[str]:
    unnamed = sum(group not in named for group in groups)
    notes = [one.format(group) for group in groups if group in named or unnamed <= _MAX_NOTES]
    if unnamed > _MAX_NOTES:
        notes.append(many.format(f"{unnamed:,}{' more' if unnamed < len(groups) else ''}"))
    return notes


def describe_document(group: GroupDescription, rows: Iterable[OffsetRow]) -> Document:
    """Return the JSON object of a group. It has the same keys in every view."""
    return {
        **_encode_state(group),
        "offsets": [_encode_offset(row) for row in rows],
        "members": [_encode_member(row) for row in member_rows(group)],
    }


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
