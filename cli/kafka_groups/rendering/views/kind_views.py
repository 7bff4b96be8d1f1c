"""The views of a group by its kind: the tables of `describe`, and the JSON object of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.kinds import CLASSIC_CONSUMER, CONSUMER, SIMPLE, Kind
from kafka_groups.model import GroupDescription, OffsetRow
from kafka_groups.rendering.columns import Column, View
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.views.members import MEMBERS, member_columns, member_rows
from kafka_groups.rendering.views.partition_lag import OFFSET_COLUMNS, OFFSETS
from kafka_groups.rendering.views.state import STATE_COLUMNS, STATES


class GroupViews(NamedTuple):
    """The views of one kind of group.

    `views` has them by name: offsets, members and state. The columns of a table of offsets are by (verbose, as Kafka's
    tool), those of a table of the state by verbose; those of members depend on the rows.
    """

    views: Mapping[str, View]
    offset_columns: Mapping[tuple[bool, bool], tuple[Column, ...]]
    state_columns: Mapping[bool, tuple[Column, ...]]
    member_rows: Callable[[GroupDescription], Sequence[Any]]
    member_columns: Callable[..., tuple[Column, ...]]
    document: Callable[[GroupDescription, Iterable[OffsetRow]], Document]


_encode_state: Final = STATES.encoder(without=("members",))
_encode_offset: Final = OFFSETS.encoder(without=("group",))
_encode_member: Final = MEMBERS.encoder(without=("group",))


def describe_document(group: GroupDescription, rows: Iterable[OffsetRow]) -> Document:
    """Return the JSON object of a group. It has the same keys in every view."""
    return {
        **_encode_state(group),
        "offsets": [_encode_offset(row) for row in rows],
        "members": [_encode_member(row) for row in member_rows(group)],
    }


CONSUMER_VIEWS: Final = GroupViews(
    views={"offsets": OFFSETS, "members": MEMBERS, "state": STATES},
    offset_columns=OFFSET_COLUMNS,
    state_columns=STATE_COLUMNS,
    member_rows=member_rows,
    member_columns=member_columns,
    document=describe_document,
)
KIND_VIEWS: Final[dict[Kind, GroupViews]] = {
    CLASSIC_CONSUMER: CONSUMER_VIEWS,
    SIMPLE: CONSUMER_VIEWS,
    CONSUMER: CONSUMER_VIEWS,
}
