"""The view of a group's partitions: commit, log offsets, lag and owner of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_groups.model import OffsetRow
from kafka_groups.rendering.columns import View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import number_schema, text_schema
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, fixed_columns
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.members import CLIENT_ID_TEXT, HOST_TEXT
from kafka_groups.rendering.views.offsets import COMMITTED_SCHEMA, LEADER_EPOCH, METADATA, PARTITION, TOPIC

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


def partition_rows(group: GroupRows) -> Sequence[OffsetRow]:
    """Return the rows of the group's partitions."""
    return group.offsets


OFFSET_TABLE: Final = GroupTable(OFFSETS, partition_rows, fixed_columns(OFFSETS))
