"""The view of `describe --members`: a row is a member of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_groups.groups.lag.rows import sort_members
from kafka_groups.model import Assignment, Member
from kafka_groups.rendering.columns import Column, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import (
    Document,
    array_schema,
    boolean_schema,
    number_schema,
    object_schema,
    text_schema,
)
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, TableStyle
from kafka_groups.rendering.views.list_groups import GROUP

HOST_TEXT: Final = "The member's host, as the broker sees it."
CLIENT_ID_TEXT: Final = "The member's client id."


class MemberRow(NamedTuple):
    """A member of a group."""

    group: str
    member: Member


def member_rows(group: GroupRows) -> list[MemberRow]:
    """Return a row for each member, those with the most partitions first."""
    description = group.description
    return [MemberRow(description.group, member) for member in sort_members(description.members)]


def member_columns(rows: Sequence[MemberRow], style: TableStyle) -> tuple[Column, ...]:
    """Return the columns of these members: instance ids if one has one, UPGRADED if both kinds are present.

    Those of Kafka's tool are the same.
    """
    upgraded = {row.member.upgraded for row in rows}
    hidden = {
        _INSTANCE.header: all(row.member.group_instance_id is None for row in rows),
        _UPGRADED.header: not {True, False} <= upgraded,
    }
    columns = [
        column
        for column in MEMBERS.table(options={"--verbose"} if style.verbose else ())
        if not hidden.get(column.header)
    ]
    if not style.verbose:
        columns[columns.index(_PARTITION_COUNT)] = _LAST_PARTITION_COUNT
    return tuple(columns)


def _show_assignment(assignment: Iterable[Assignment] | None) -> str | None:
    """Return an assignment in the text form of Kafka's tool."""
    # A member without partitions has the cell of a missing value, too, as in Kafka's tool.
    topics = [f"{topic.topic}:{','.join(map(str, topic.partitions))}" for topic in assignment or ()]
    return ";".join(topics) or None


def _show_upgraded(upgraded: bool | None) -> str | None:  # noqa: FBT001 - it is the value of a cell
    """Return a boolean in the text form of Kafka's tool."""
    return None if upgraded is None else str(upgraded).lower()


def _encode_assignment(assignment: Sequence[Assignment] | None) -> list[Document] | None:
    if assignment is None:
        return None
    return [{"topic": topic.topic, "partitions": list(topic.partitions)} for topic in assignment]


_ASSIGNED: Final = object_schema(
    {
        "topic": text_schema("The topic's name."),
        "partitions": array_schema("The numbers of the partitions, ascending.", {"type": "integer", "minimum": 0}),
    }
)


def assignment_column(header: str, attribute: str, description: str, *, option: str | None = "--verbose") -> Column:
    """Return a column of assigned partitions, as `topic:0,1;other:2`; null if the assignment cannot be read."""
    return name_column(
        header,
        attribute,
        kafka_width=20,
        when_narrow="fold",
        option=option,
        show=_show_assignment,
        encode=_encode_assignment,
        schema=array_schema(description, _ASSIGNED, nullable=True),
    )


_INSTANCE: Final = name_column(
    "GROUP-INSTANCE-ID",
    "member.group_instance_id",
    kafka_width=17,
    kafka_missing="",
    schema=text_schema("The id of a static member; null for a dynamic one.", nullable=True),
)
_PARTITION_COUNT: Final = number_column("#PARTITIONS", "member.partition_count", kafka_width=15)
# As the last column it still ends with a blank in Kafka's format.
_LAST_PARTITION_COUNT: Final = _PARTITION_COUNT._replace(kafka_width=16)
_UPGRADED: Final = text_column(
    "UPGRADED",
    "member.upgraded",
    option="--verbose",
    show=_show_upgraded,
    schema=boolean_schema(
        "Whether a member of a KIP-848 group uses KIP-848; null if the broker does not return it.", nullable=True
    ),
)
MEMBERS: Final = View(
    (
        GROUP,
        name_column("CONSUMER-ID", "member.member_id", kafka_width=15, schema=text_schema("The member's id.")),
        _INSTANCE,
        name_column("HOST", "member.host", kafka_width=15, when_narrow="cut", schema=text_schema(HOST_TEXT)),
        name_column(
            "CLIENT-ID", "member.client_id", kafka_width=15, when_narrow="cut", schema=text_schema(CLIENT_ID_TEXT)
        ),
        _PARTITION_COUNT,
        number_column(
            "CURRENT-EPOCH",
            "member.epoch",
            kafka_width=15,
            option="--verbose",
            schema=number_schema("The member's epoch; null in a classic group.", minimum=None),
        ),
        assignment_column(
            "CURRENT-ASSIGNMENT",
            "member.assignment",
            "The partitions that the member owns, by topic; null if its assignment cannot be read.",
        ),
        number_column(
            "TARGET-EPOCH",
            "member.target_epoch",
            kafka_width=15,
            option="--verbose",
            schema=number_schema("The epoch of the target assignment; null in a classic group."),
        ),
        assignment_column(
            "TARGET-ASSIGNMENT",
            "member.target_assignment",
            "The partitions that the member will own; null in a classic group.",
        ),
        _UPGRADED,
    )
)
MEMBER_TABLE: Final = GroupTable(MEMBERS, member_rows, member_columns)
