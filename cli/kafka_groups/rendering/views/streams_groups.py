"""The views of a streams group: offsets, members with their tasks, state, and the topology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_groups.groups.lag.rows import sort_members
from kafka_groups.members import StreamsMember, Subtopology, SubtopologyTasks, TaskAssignment, Topology, TopologyNode
from kafka_groups.model import Member
from kafka_groups.rendering.columns import Column, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import (
    Document,
    Schema,
    array_schema,
    boolean_schema,
    choice_schema,
    number_schema,
    object_schema,
    text_schema,
    texts_schema,
)
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, GroupViews, fixed_columns
from kafka_groups.rendering.views.kafka_streams_columns import MEMBER_COLUMNS, OFFSET_COLUMNS, STATE_COLUMNS
from kafka_groups.rendering.views.list_groups import GROUP
from kafka_groups.rendering.views.members import CLIENT_ID_TEXT, HOST_TEXT
from kafka_groups.rendering.views.partition_lag import OFFSETS, partition_rows
from kafka_groups.rendering.views.state import STATE_TABLE, STATES, encode_state

_DESCRIPTIONS: Final = ("not_requested", "not_stored", "error", "available")


class StreamsMemberRow(NamedTuple):
    """A member of a streams group: a thread of a process, with its tasks."""

    group: str
    member: Member
    streams: StreamsMember


class TopologyRow(NamedTuple):
    """A node of a topology, in a subtopology or (None) of a global store."""

    group: str
    subtopology: str | None
    node: TopologyNode

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics that a source reads, or the topic that a sink writes to."""
        return self.node.source_topics if self.node.sink_topic is None else (self.node.sink_topic,)


def streams_member_rows(group: GroupRows) -> list[StreamsMemberRow]:
    """Return a row for each member, those with the most partitions first."""
    description = group.description
    return [
        StreamsMemberRow(description.group, member, member.streams)
        for member in sort_members(description.members)
        if member.streams is not None
    ]


def topology_rows(group: GroupRows) -> list[TopologyRow]:
    """Return a row for each node of the topology, by subtopology, then those of global stores; none if unknown."""
    name = group.description.group
    topology = group.description.topology
    if topology is None or topology.nodes is None:
        return []
    rows = [TopologyRow(name, subtopology, node) for subtopology, nodes in topology.nodes for node in nodes]
    return rows + [TopologyRow(name, None, node) for pair in topology.global_nodes or () for node in pair]


def _show_tasks(tasks: Iterable[SubtopologyTasks]) -> str | None:
    """Return tasks as `subtopology:0,1;other:2`."""
    return ";".join(f"{each.subtopology}:{','.join(map(str, each.partitions))}" for each in tasks) or None


def _encode_tasks(tasks: TaskAssignment) -> Document:
    return {role: [each._asdict() for each in getattr(tasks, role)] for role in tasks._fields}


def _show_names(names: Sequence[str]) -> str | None:
    return ",".join(names) or None


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
    roles = {"active": "tasks that it runs", "standby": "copies of the state of others", "warmup": "future copies"}
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
        text_column("HOST", "member.host", when_narrow="cut", schema=text_schema(HOST_TEXT)),
        name_column(
            "CLIENT-ID", "member.client_id", kafka_width=15, when_narrow="cut", schema=text_schema(CLIENT_ID_TEXT)
        ),
        _tasks_column("ACTIVE", "streams.tasks.active"),
        _tasks_column("STANDBY", "streams.tasks.standby"),
        _tasks_column("WARMUP", "streams.tasks.warmup"),
        number_column(
            "RESTORATION-LAG",
            "streams.restoration_lag",
            schema=number_schema(
                "The records of changelogs that the member's standby and warm-up tasks have not read; null if the "
                "broker does not know it, as before Kafka 4.4."
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
TOPOLOGY: Final = View(
    (
        GROUP,
        text_column(
            "SUBTOPOLOGY",
            "subtopology",
            schema=text_schema("The id of the subtopology; null for a global store.", nullable=True),
        ),
        text_column("NODE", "node.name", schema=text_schema("The node's name.")),
        text_column("TYPE", "node.type", schema=text_schema("source, processor or sink.")),
        text_column(
            "TOPICS",
            "topics",
            when_narrow="fold",
            show=_show_names,
            encode=list,
            schema=texts_schema("The topics that a source reads, or the topic that a sink writes to."),
        ),
        text_column(
            "STORES",
            "node.stores",
            when_narrow="fold",
            show=_show_names,
            encode=list,
            schema=texts_schema("The state stores of a processor."),
        ),
        text_column(
            "SUCCESSORS",
            "node.successors",
            when_narrow="fold",
            show=_show_names,
            encode=list,
            schema=texts_schema("The nodes that receive its records."),
        ),
    )
)
_encode_offset: Final = OFFSETS.encoder(without=("group",))
_encode_member: Final = STREAMS_MEMBERS.encoder(without=("group",))
_encode_node: Final = TOPOLOGY.encoder(without=("group",))
TOPOLOGY_SCHEMA: Final[Schema] = {
    "description": "The topology of a streams group; null if it has none.",
    **object_schema(
        {
            "epoch": number_schema("The epoch of the topology.", nullable=False, minimum=None),
            "subtopologies": array_schema(
                "The subtopologies; null while the group has no valid topology.",
                object_schema(
                    {
                        "id": text_schema("The id of the subtopology."),
                        "source_topics": texts_schema("The topics that it reads."),
                        "repartition_source_topics": texts_schema("The repartition topics that it reads."),
                        "repartition_sink_topics": texts_schema("The repartition topics that it writes to."),
                        "changelog_topics": texts_schema("The changelog topics of its state stores."),
                    }
                ),
                nullable=True,
            ),
            "description": choice_schema(
                "Whether the broker has the nodes, if --topology requests them.", _DESCRIPTIONS
            ),
            "nodes": array_schema(
                "The nodes; null if the broker does not have them.", TOPOLOGY.schema(without=("group",)), nullable=True
            ),
        }
    ),
    "type": ["object", "null"],
}


def streams_document(group: GroupRows) -> Document:
    """Return the JSON object of a streams group. It has the same keys in every view."""
    topology = group.description.topology
    return {
        **encode_state(group.description),
        "offsets": [_encode_offset(row) for row in group.offsets],
        "members": [_encode_member(row) for row in streams_member_rows(group)],
        "topology": None if topology is None else _encode_topology(topology, topology_rows(group)),
    }


def _encode_topology(topology: Topology, nodes: Iterable[TopologyRow]) -> Document:
    subtopologies = topology.subtopologies
    return {
        "epoch": topology.epoch,
        "subtopologies": None if subtopologies is None else [*map(_encode_subtopology, subtopologies)],
        "description": topology.description,
        "nodes": None if topology.nodes is None else [*map(_encode_node, nodes)],
    }


def _encode_subtopology(subtopology: Subtopology) -> Document:
    return {name: value if name == "id" else list(value) for name, value in subtopology._asdict().items()}


STREAMS_VIEWS: Final = GroupViews(
    tables={
        "offsets": GroupTable(OFFSETS, partition_rows, fixed_columns(OFFSETS, OFFSET_COLUMNS)),
        "members": GroupTable(STREAMS_MEMBERS, streams_member_rows, fixed_columns(STREAMS_MEMBERS, MEMBER_COLUMNS)),
        "state": STATE_TABLE._replace(columns=fixed_columns(STATES, STATE_COLUMNS)),
        "topology": GroupTable(TOPOLOGY, topology_rows, fixed_columns(TOPOLOGY)),
    },
    document=streams_document,
)
