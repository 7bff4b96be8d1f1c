"""The views of a group by its kind: the tables of `describe`, and the JSON object of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafka_groups.kinds import CLASSIC_CONSUMER, CONNECT, CONSUMER, SHARE, SIMPLE, STREAMS, Kind
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.views.group_views import GroupRows, GroupViews
from kafka_groups.rendering.views.members import MEMBER_TABLE, MEMBERS, member_rows
from kafka_groups.rendering.views.partition_lag import OFFSET_TABLE, OFFSETS
from kafka_groups.rendering.views.state import STATE_TABLE, encode_state

_encode_offset: Final = OFFSETS.encoder(without=("group",))
_encode_member: Final = MEMBERS.encoder(without=("group",))


def describe_document(group: GroupRows) -> Document:
    """Return the JSON object of a consumer group. It has the same keys in every view."""
    return {
        **encode_state(group.description),
        "offsets": [_encode_offset(row) for row in group.offsets],
        "members": [_encode_member(row) for row in member_rows(group)],
        "topology": None,
    }


CONSUMER_VIEWS: Final = GroupViews(
    tables={"offsets": OFFSET_TABLE, "members": MEMBER_TABLE, "state": STATE_TABLE},
    document=describe_document,
)


def consumer_views() -> GroupViews:
    """Return the views of a consumer group."""
    return CONSUMER_VIEWS


def share_views() -> GroupViews:
    """Return the views of a share group."""
    from kafka_groups.rendering.views.share_groups import SHARE_VIEWS

    return SHARE_VIEWS


def streams_views() -> GroupViews:
    """Return the views of a streams group."""
    from kafka_groups.rendering.views.streams_groups import STREAMS_VIEWS

    return STREAMS_VIEWS


def connect_views() -> GroupViews:
    """Return the views of a Connect group."""
    from kafka_groups.rendering.views.connect_groups import CONNECT_VIEWS

    return CONNECT_VIEWS


# The views of kinds that most commands do not show are imported when they are needed.
KIND_VIEWS: Final[dict[Kind, Callable[[], GroupViews]]] = {
    CLASSIC_CONSUMER: consumer_views,
    SIMPLE: consumer_views,
    CONNECT: connect_views,
    CONSUMER: consumer_views,
    SHARE: share_views,
    STREAMS: streams_views,
}


def views_of(kind: Kind) -> GroupViews:
    """Return the views of a kind. One that cannot be described has commits, as a consumer group has."""
    return KIND_VIEWS.get(kind, consumer_views)()
