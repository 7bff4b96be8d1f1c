"""The view of `describe --state`: a row is a GroupDescription."""

from __future__ import annotations

from typing import Final

from kafka_groups.model import Broker, GroupDescription
from kafka_groups.rendering.columns import View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import Document, number_schema, object_schema, text_schema
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, fixed_columns
from kafka_groups.rendering.views.list_groups import GROUP, PROTOCOL, STATE, TYPE


def _show_coordinator(broker: Broker | None) -> str | None:
    """Return a coordinator in the text form of Kafka's tool, which has two blanks."""
    return f"{broker.host}:{broker.port}  ({broker.id})" if broker else None


def _encode_coordinator(broker: Broker | None) -> Document | None:
    return {"id": broker.id, "host": broker.host, "port": broker.port} if broker else None


_COORDINATOR: Final = {
    "description": "The broker that coordinates the group; null if it is unknown.",
    **object_schema(
        {
            "id": number_schema("The broker's id.", nullable=False),
            "host": text_schema("The host that it advertises."),
            "port": number_schema("The port that it advertises.", nullable=False),
        }
    ),
    "type": ["object", "null"],
}
STATES: Final = View(
    (
        GROUP,
        TYPE._replace(header=""),
        name_column(
            "COORDINATOR (ID)",
            "coordinator",
            kafka_width=25,
            show=_show_coordinator,
            encode=_encode_coordinator,
            schema=_COORDINATOR,
        ),
        text_column(
            "ASSIGNMENT-STRATEGY",
            "assignor",
            kafka_width=20,
            schema=text_schema("The assignment strategy; null if the group has none.", nullable=True),
        ),
        STATE._replace(option=None),
        PROTOCOL._replace(header=""),
        number_column(
            "GROUP-EPOCH",
            "group_epoch",
            kafka_width=15,
            option="--verbose",
            schema=number_schema("The group's epoch; null for a classic group."),
        ),
        number_column(
            "TARGET-ASSIGNMENT-EPOCH",
            "target_assignment_epoch",
            kafka_width=25,
            option="--verbose",
            schema=number_schema("The epoch of the target assignment; null for a classic group."),
        ),
        number_column(
            "#MEMBERS",
            "member_count",
            kafka_width=0,
            key="members",
            schema=number_schema("The number of the group's members.", nullable=False),
        ),
    )
)
encode_state: Final = STATES.encoder(without=("members",))


def state_rows(group: GroupRows) -> list[GroupDescription]:
    """Return the row of the group."""
    return [group.description]


STATE_TABLE: Final = GroupTable(STATES, state_rows, fixed_columns(STATES))
