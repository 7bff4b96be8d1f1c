"""The views of a streams group: offsets, members with their tasks, state, and the topology."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_groups.groups.lag.rows import sort_members
from kafka_groups.members import StreamsMember, SubtopologyTasks, TaskAssignment
from kafka_groups.model import Member
from kafka_groups.rendering.columns import Column, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import (
    Document,
    Schema,
    array_schema,
    boolean_schema,
    number_schema,
    object_schema,
    text_schema,
)
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, GroupViews, fixed_columns
from kafka_groups.rendering.views.kafka_streams_columns import (
    MEMBER_COLUMNS,
    OFFSET_COLUMNS,
    STATE_COLUMNS,
    kafka_offset_rows,
)
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.members import CLIENT_ID_TEXT, HOST_TEXT
from kafka_groups.rendering.views.partition_lag import OFFSETS, partition_rows
from kafka_groups.rendering.views.state import STATE_TABLE, STATES, encode_state
from kafka_groups.rendering.views.topologies import TOPOLOGY_TABLE, encode_topology


class StreamsMemberRow(NamedTuple):
    """A member of a streams group: a thread of a process, with its tasks."""

    group: str
    member: Member
    streams: StreamsMember


def streams_member_rows(group: GroupRows) -> list[StreamsMemberRow]:
    """Return a row for each member, those with the most partitions first."""
    return _member_rows(group.description.group, sort_members(group.description.members))


def _rows_in_order_of_response(group: GroupRows) -> list[StreamsMemberRow]:
    """Return the members in the order of kafka-streams-groups.sh, which does not sort them."""
    return _member_rows(group.description.group, group.description.members)


def _member_rows(group: str, members: Iterable[Member]) -> list[StreamsMemberRow]:
    return [StreamsMemberRow(group, member, member.streams) for member in members if member.streams is not None]


def _show_tasks(tasks: Iterable[SubtopologyTasks]) -> str | None:
    """Return tasks as `subtopology:0,1;other:2`."""
    return ";".join(f"{each.subtopology}:{','.join(map(str, each.partitions))}" for each in tasks) or None


def _encode_tasks(tasks: TaskAssignment) -> Document:
    return {role: [each._asdict() for each in getattr(tasks, role)] for role in tasks._fields}


def _encode_endpoint(endpoint: tuple[str, int] | None) -> Document | None:
    return None if endpoint is None else {"host": endpoint[0], "port": endpoint[1]}


_TASKS: Final = array_schema(
    "The tasks, by subtopology.",
    object_schema(
        {
            "subtopology": text_schema("The id of the subtopology."),
            "partitions": array_schema("The numbers of the tasks, ascending.", {"type": "integer", "minimum": 0}),
        }
    ),
)
_ENDPOINT: Final[Schema] = {
    "description": "Where the member serves interactive queries; null if it serves none.",
    **object_schema({"host": text_schema("Its host."), "port": number_schema("Its port.", nullable=False)}),
    "type": ["object", "null"],
}


def _tasks_schema(description: str) -> Schema:
    roles = {
        "active": "tasks that it runs",
        "standby": "tasks of other members, of whose state it keeps a copy",
        "warmup": "tasks whose state it restores before it runs them",
    }
    properties = {role: {**_TASKS, "description": f"The {text}."} for role, text in roles.items()}
    return {"description": description, **object_schema(properties)}


def _tasks_column(header: str, attribute: str, *, option: str | None = None) -> Column:
    return text_column(header, attribute, when_narrow="fold", option=option, show=_show_tasks)


STREAMS_MEMBERS: Final = View(
    (
        GROUP,
        name_column("MEMBER", "member.member_id", kafka_width=15, schema=text_schema("The member's id.")),
        text_column(
            "GROUP-INSTANCE-ID",
            "member.group_instance_id",
            option="--verbose",
            schema=text_schema("The id of a static member; null for a dynamic one.", nullable=True),
        ),
        name_column(
            "PROCESS",
            "streams.process_id",
            kafka_width=15,
            when_narrow="cut",
            schema=text_schema("The id of the process; its threads are members each."),
        ),
        text_column("HOST", "member.host", when_narrow="cut", option="--verbose", schema=text_schema(HOST_TEXT)),
        name_column(
            "CLIENT-ID", "member.client_id", kafka_width=15, when_narrow="cut", schema=text_schema(CLIENT_ID_TEXT)
        ),
        _tasks_column("ACTIVE", "streams.tasks.active"),
        _tasks_column("STANDBY", "streams.tasks.standby"),
        _tasks_column("WARMUP", "streams.tasks.warmup"),
        number_column(
            "RESTORE-LAG",
            "streams.restoration_lag",
            schema=number_schema(
                "The records of changelogs that the member's standby and warm-up tasks have not read; null if it has "
                "no such task, or if the broker does not know it, as before Kafka 4.4."
            ),
        ),
        number_column(
            "TOPOLOGY-EPOCH",
            "streams.topology_epoch",
            option="--verbose",
            schema=number_schema("The epoch of the topology that the member runs.", nullable=False, minimum=None),
        ),
        number_column(
            "MEMBER-EPOCH",
            "member.epoch",
            option="--verbose",
            schema=number_schema("The member's epoch.", nullable=False, minimum=None),
        ),
        _tasks_column("TARGET-ACTIVE", "streams.target_tasks.active", option="--verbose"),
        _tasks_column("TARGET-STANDBY", "streams.target_tasks.standby", option="--verbose"),
        _tasks_column("TARGET-WARMUP", "streams.target_tasks.warmup", option="--verbose"),
        Column(
            "",
            "streams.tasks",
            encode=_encode_tasks,
            schema=_tasks_schema("The tasks of the member, by what it does with them."),
        ),
        Column(
            "",
            "streams.target_tasks",
            encode=_encode_tasks,
            schema=_tasks_schema("The tasks that the member will have, by what it will do with them."),
        ),
        Column("", "streams.endpoint", encode=_encode_endpoint, schema=_ENDPOINT),
        Column(
            "",
            "streams.is_classic",
            schema=boolean_schema("True for a member that still uses the classic protocol."),
        ),
    )
)

_encode_offset: Final = OFFSETS.encoder(without=("group",))
_encode_member: Final = STREAMS_MEMBERS.encoder(without=("group",))


def streams_document(group: GroupRows) -> Document:
    """Return the JSON object of a streams group. It has the same keys in every view."""
    return {
        **encode_state(group.description),
        "offsets": [_encode_offset(row) for row in group.offsets],
        "members": [_encode_member(row) for row in streams_member_rows(group)],
        "topology": encode_topology(group),
    }


STREAMS_VIEWS: Final = GroupViews(
    tables={
        "offsets": GroupTable(OFFSETS, partition_rows, fixed_columns(OFFSETS, OFFSET_COLUMNS), kafka_offset_rows),
        "members": GroupTable(
            STREAMS_MEMBERS,
            streams_member_rows,
            fixed_columns(STREAMS_MEMBERS, MEMBER_COLUMNS),
            kafka_rows=_rows_in_order_of_response,
        ),
        "state": STATE_TABLE._replace(columns=fixed_columns(STATES, STATE_COLUMNS)),
        "topology": TOPOLOGY_TABLE,
    },
    document=streams_document,
)
