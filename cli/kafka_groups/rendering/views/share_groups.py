"""The views of a share group: start offsets and lags, members, and state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_groups.model import OffsetRow
from kafka_groups.rendering.columns import View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import Document, number_schema, text_schema, texts_schema
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, GroupViews, fixed_columns
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.members import (
    CLIENT_ID_TEXT,
    HOST_TEXT,
    MemberRow,
    assignment_column,
    member_rows,
)
from kafka_groups.rendering.views.offsets import PARTITION, TOPIC
from kafka_groups.rendering.views.state import STATE_TABLE, STATES, encode_state


class ShareOffsetRow(NamedTuple):
    """A partition of a share group. Offsets, epoch and numbers are None if they are unknown.

    `delivered` is the number of records beyond the start offset whose delivery is final: the log end offset minus the
    start offset minus the lag. A negative difference is None, too: the coordinator computed the lag with another log
    end offset.
    """

    group: str
    topic: str
    partition: int
    leader_epoch: int | None
    start_offset: int | None
    log_end_offset: int | None
    lag: int | None
    delivered: int | None
    log_start_offset: int | None


def share_offset_rows(group: GroupRows) -> list[ShareOffsetRow]:
    """Return a row for each partition with a start offset, by topic and partition."""
    return [
        ShareOffsetRow(
            group=row.group,
            topic=row.topic,
            partition=row.partition,
            leader_epoch=row.leader_epoch,
            start_offset=row.committed_offset,
            log_end_offset=row.log_end_offset,
            lag=row.lag,
            delivered=_delivered(row),
            log_start_offset=row.log_start_offset,
        )
        for row in group.offsets
    ]


def _delivered(row: OffsetRow) -> int | None:
    if row.committed_offset is None or row.log_end_offset is None or row.lag is None:
        return None
    delivered = row.log_end_offset - row.committed_offset - row.lag
    return None if delivered < 0 else delivered


# The widths of the columns of kafka-share-groups.sh --describe --state, by the header of this tool's column, and the
# headers that differ there.
_WIDTHS: Final = {
    "GROUP": 15,
    "COORDINATOR (ID)": 25,
    "STATE": 15,
    "GROUP-EPOCH": 12,
    "TARGET-ASSIGNMENT-EPOCH": 17,
    "#MEMBERS": 0,
}
_HEADERS: Final = {"TARGET-ASSIGNMENT-EPOCH": "ASSIGNMENT-EPOCH"}


def _show_topics(topics: Sequence[str] | None) -> str | None:
    return ",".join(topics or ()) or None


SHARE_OFFSETS: Final = View(
    (
        GROUP,
        TOPIC,
        PARTITION,
        number_column(
            "LEADER-EPOCH",
            "leader_epoch",
            kafka_width=13,
            option="--verbose",
            schema=number_schema("The leader epoch of the start offset; null if it is unknown."),
        ),
        number_column(
            "START-OFFSET",
            "start_offset",
            kafka_width=13,
            schema=number_schema(
                "The share group's start offset: the delivery of all records below it is final. Null if the broker "
                "does not know it."
            ),
        ),
        number_column(
            "LOG-END-OFFSET",
            "log_end_offset",
            option="--verbose",
            schema=number_schema(
                "The offset after the partition's last record; null if it is unknown, and in NDJSON without --verbose."
            ),
        ),
        number_column(
            "LAG",
            "lag",
            kafka_width=0,
            schema=number_schema(
                "The records whose delivery is not final, as the coordinator computes them; null if it does not know "
                "them, as before Kafka 4.2."
            ),
        ),
        number_column(
            "DELIVERED",
            "delivered",
            option="--verbose",
            schema=number_schema(
                "The records beyond the start offset whose delivery is final: log_end_offset - start_offset - lag. "
                "Null if one of these is unknown, or if they were read at different times and the result is negative."
            ),
        ),
        number_column(
            "LOG-START-OFFSET",
            "log_start_offset",
            option="--verbose",
            schema=number_schema("The partition's first offset; null without --verbose."),
        ),
    )
)
SHARE_MEMBERS: Final = View(
    (
        GROUP,
        name_column("CONSUMER-ID", "member.member_id", kafka_width=15, schema=text_schema("The member's id.")),
        name_column("HOST", "member.host", kafka_width=15, when_narrow="cut", schema=text_schema(HOST_TEXT)),
        name_column(
            "CLIENT-ID", "member.client_id", kafka_width=15, when_narrow="cut", schema=text_schema(CLIENT_ID_TEXT)
        ),
        number_column("#PARTITIONS", "member.partition_count", kafka_width=12),
        number_column(
            "MEMBER-EPOCH",
            "member.epoch",
            kafka_width=13,
            option="--verbose",
            schema=number_schema("The member's epoch.", minimum=None),
        ),
        text_column(
            "SUBSCRIPTION",
            "member.subscription",
            when_narrow="fold",
            option="--verbose",
            show=_show_topics,
            encode=list,
            schema=texts_schema("The topics that the member subscribes to."),
        ),
        assignment_column(
            "ASSIGNMENT",
            "member.assignment",
            "The partitions that are assigned to the member; others may have them, too.",
            option=None,
        )._replace(kafka_width=0, fits_longest=False),
    )
)
# The columns of kafka-share-groups.sh, by verbosity.
_KAFKA_STATE: Final = {
    verbose: tuple(
        column._replace(kafka_width=width, header=_HEADERS.get(column.header, column.header))
        for column in STATES.table(options={"--verbose"} if verbose else (), as_kafka=True)
        if (width := _WIDTHS.get(column.header)) is not None
    )
    for verbose in (False, True)
}
_encode_offset: Final = SHARE_OFFSETS.encoder(without=("group",))
_encode_member: Final = SHARE_MEMBERS.encoder(without=("group",))


def share_document(group: GroupRows) -> Document:
    """Return the JSON object of a share group. It has the same keys in every view."""
    return {
        **encode_state(group.description),
        "offsets": [_encode_offset(row) for row in share_offset_rows(group)],
        "members": [_encode_member(row) for row in member_rows(group)],
        "topology": None,
    }


def _rows_by_member_id(group: GroupRows) -> list[MemberRow]:
    """Return the members in the order of kafka-share-groups.sh."""
    return sorted(member_rows(group), key=lambda row: row.member.member_id)


SHARE_VIEWS: Final = GroupViews(
    tables={
        "offsets": GroupTable(SHARE_OFFSETS, share_offset_rows, fixed_columns(SHARE_OFFSETS)),
        "members": GroupTable(SHARE_MEMBERS, member_rows, fixed_columns(SHARE_MEMBERS), _rows_by_member_id),
        "state": STATE_TABLE._replace(columns=fixed_columns(STATES, _KAFKA_STATE)),
    },
    document=share_document,
)
