"""The view of `describe --state`: a row is a group."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from kafka_groups.model import Broker, GroupDescription
from kafka_groups.rendering.columns import Document, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import number_schema, object_schema, text_schema
from kafka_groups.rendering.views.list_groups import GROUP, PROTOCOL, STATE, TYPE


class StateRow(NamedTuple):
    """A group with its state."""

    group: str
    type: str | None
    state: str | None
    protocol_type: str | None
    coordinator: Broker | None
    assignor: str | None
    group_epoch: int | None
    target_assignment_epoch: int | None
    member_count: int


def state_row(group: GroupDescription) -> StateRow:
    """Return the group's row of the state view."""
    return StateRow(
        group.group,
        group.type,
        group.state,
        group.protocol_type,
        group.coordinator,
        group.assignor,
        group.group_epoch,
        group.target_assignment_epoch,
        len(group.members),
    )


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
        replace(TYPE, header=""),
        name_column(
            "COORDINATOR (ID)",
            "coordinator",
            least=25,
            show=_show_coordinator,
            encode=_encode_coordinator,
            schema=_COORDINATOR,
        ),
        text_column(
            "ASSIGNMENT-STRATEGY",
            "assignor",
            least=20,
            schema=text_schema("The assignment strategy; null if the group has none.", nullable=True),
        ),
        STATE,
        replace(PROTOCOL, header=""),
        number_column(
            "GROUP-EPOCH",
            "group_epoch",
            least=15,
            is_verbose=True,
            schema=number_schema("The group's epoch; null for a classic group."),
        ),
        number_column(
            "TARGET-ASSIGNMENT-EPOCH",
            "target_assignment_epoch",
            least=25,
            is_verbose=True,
            schema=number_schema("The epoch of the target assignment; null for a classic group."),
        ),
        number_column(
            "#MEMBERS",
            "member_count",
            key="members",
            schema=number_schema("The number of the group's members.", nullable=False),
        ),
    )
)
