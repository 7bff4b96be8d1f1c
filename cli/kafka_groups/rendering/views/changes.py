"""The views of commands that change groups: a row is a planned change, or its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.changes.change import Change, Outcome, PlannedChange, Status
from kafka_groups.rendering.columns import Column, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import (
    Document,
    Schema,
    array_schema,
    choice_schema,
    document_schema,
    number_schema,
    text_schema,
)
from kafka_groups.rendering.views.change_summary import (
    summarize_commits,
    summarize_groups,
    summarize_members,
    summarize_offsets,
)
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.offsets import PARTITION, TOPIC

STATUSES: Final = tuple(status.value for status in Status)
# From the best to the worst.
_SEVERITIES: Final = ("done", "planned", "refused", "failed", "unknown")
_STATUS: Final = text_column(
    "STATUS",
    "status",
    option="--execute",
    schema=choice_schema(
        "planned: --execute makes the change. done: it was made. refused: it was not tried. failed: it "
        "was not made. unknown: it may have been made, and its response was lost.",
        STATUSES,
    ),
)
_NOTE: Final = text_column(
    "NOTE",
    "note",
    when_narrow="fold",
    schema=text_schema("What is special about the change; null if nothing is.", nullable=True),
)
_DELTA: Final = number_column(
    "DELTA",
    "delta",
    schema=number_schema("The new offset minus the one before; null if one of them is missing.", minimum=None),
)
_BEFORE_SCHEMA: Final = number_schema("The committed offset, or the start offset of a share group; null without one.")
RESETS: Final = View(
    (
        GROUP,
        TOPIC,
        PARTITION,
        number_column("CURRENT-OFFSET", "committed_offset", schema=_BEFORE_SCHEMA),
        number_column(
            "NEW-OFFSET",
            "new_offset",
            kafka_width=0,
            schema=number_schema("The new committed offset, or start offset; null if it is deleted, or refused."),
        ),
        _DELTA,
        _NOTE,
        _STATUS,
    )
)
OFFSET_DELETIONS: Final = View(
    (
        GROUP,
        TOPIC,
        PARTITION,
        Column("", "committed_offset", schema=_BEFORE_SCHEMA),
        Column("", "note", schema=_NOTE.schema),
        _STATUS._replace(option=None),
    )
)
GROUP_DELETIONS: Final = View((GROUP, Column("", "note", schema=_NOTE.schema), _STATUS._replace(option=None)))
MEMBER_REMOVALS: Final = View(
    (
        GROUP,
        name_column("CONSUMER-ID", "member_id", kafka_width=15, schema=text_schema("The member's id.")),
        text_column(
            "GROUP-INSTANCE-ID",
            "group_instance_id",
            schema=text_schema("The id of a static member; null for others.", nullable=True),
        ),
        Column("", "note", schema=_NOTE.schema),
        _STATUS._replace(option=None),
    )
)
_RESTORABLE: Final = View(
    (TOPIC, PARTITION, Column("", "committed_offset", schema=_BEFORE_SCHEMA)),
)


class ChangeRow(NamedTuple):
    """A change with its status; values that the kind of change lacks are None."""

    group: str
    topic: str | None
    partition: int | None
    committed_offset: int | None
    new_offset: int | None
    delta: int | None
    member_id: str | None
    group_instance_id: str | None
    note: str | None
    status: str


def change_rows(changes: Sequence[PlannedChange | Outcome]) -> list[ChangeRow]:
    """Return a row for each planned change, or for its outcome."""
    return [_row(change) for change in changes]


def group_rows(changes: Sequence[PlannedChange | Outcome]) -> list[ChangeRow]:
    """Return the one row of a group that is deleted.

    All its changes have one status, unless some of its commits were deleted and the group was not.
    """
    if not changes:
        return []
    rows = [_row(change) for change in changes]
    worst = max(rows, key=lambda row: _SEVERITIES.index(row.status))
    done = sum(row.status == Status.DONE for row in rows)
    note = worst.note if done in {0, len(rows)} else f"{done:,} of its {len(rows):,} commits were deleted"
    return [worst._replace(topic=None, partition=None, committed_offset=None, note=note)]


def _row(planned: PlannedChange | Outcome) -> ChangeRow:
    change = planned.change
    is_complete = change.new_offset is not None and change.committed_offset is not None
    if isinstance(planned, Outcome):
        status = planned.status
    else:
        status = Status.PLANNED if planned.refusal is None else Status.REFUSED
    return ChangeRow(
        group=change.group,
        topic=change.topic,
        partition=change.partition,
        committed_offset=change.committed_offset,
        new_offset=change.new_offset,
        delta=(change.new_offset or 0) - (change.committed_offset or 0) if is_complete else None,
        member_id=change.member_id,
        group_instance_id=change.group_instance_id,
        note=planned.note or None,
        status=status.value,
    )


class ChangeView(NamedTuple):
    """How one command shows its changes: the columns, the key of its rows in a group's JSON object, and its rows.

    `summarize` returns a sentence on what changes do, such as how many records are read again.
    """

    view: View
    key: str
    rows_description: str
    summarize: Callable[[Sequence[Change]], str]
    is_per_group: bool = False

    def rows(self, changes: Sequence[PlannedChange | Outcome]) -> list[ChangeRow]:
        """Return the rows of a group."""
        return group_rows(changes) if self.is_per_group else change_rows(changes)

    def document(self, group: str, changes: Sequence[PlannedChange | Outcome]) -> Document:
        """Return the JSON object of a group."""
        if self.is_per_group:
            commits = [change for change in change_rows(changes) if change.topic is not None]
            encode_commit = _RESTORABLE.encoder()
            restorable: list[Any] = [encode_commit(commit) for commit in commits]
            return {**self.view.encoder()(group_rows(changes)[0]), self.key: restorable}
        encode = self.view.encoder(without=("group",))
        return {"group": group, self.key: [encode(row) for row in change_rows(changes)]}

    def schema(self, command: str) -> Schema:
        """Return the JSON Schema of the command's document."""
        rows = (_RESTORABLE if self.is_per_group else self.view).schema(without=("group",))
        properties = self.view.properties() if self.is_per_group else {"group": self.view.properties()["group"]}
        group = {**properties, self.key: array_schema(self.rows_description, rows)}
        return document_schema(command, group, {"row": self.view.properties()})


CHANGE_VIEWS: Final[Mapping[str, ChangeView]] = {
    "reset": ChangeView(RESETS, "offsets", "The partitions to reset, and the outcomes.", summarize_offsets),
    "undo": ChangeView(RESETS, "offsets", "The partitions to restore, and the outcomes.", summarize_offsets),
    "delete": ChangeView(
        GROUP_DELETIONS,
        "offsets",
        "The commits that are deleted with the group.",
        summarize_groups,
        is_per_group=True,
    ),
    "delete-offsets": ChangeView(
        OFFSET_DELETIONS, "offsets", "The commits to delete, and the outcomes.", summarize_commits
    ),
    "remove-members": ChangeView(
        MEMBER_REMOVALS, "members", "The members to remove, and the outcomes.", summarize_members
    ),
}
