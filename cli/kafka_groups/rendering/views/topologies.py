"""The topology of a streams group: a table with a row for each node, and a JSON object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_groups.members import Subtopology, TopologyNode
from kafka_groups.rendering.columns import View, text_column
from kafka_groups.rendering.schemas import (
    Document,
    Schema,
    array_schema,
    choice_schema,
    number_schema,
    object_schema,
    text_schema,
    texts_schema,
)
from kafka_groups.rendering.views.group_views import GroupRows, GroupTable, fixed_columns
from kafka_groups.rendering.views.list_groups import GROUP

_DESCRIPTIONS: Final = ("not_requested", "unsupported", "not_stored", "error", "available")


class TopologyRow(NamedTuple):
    """A node of a topology, in a subtopology or (None) of a global store."""

    group: str
    subtopology: str | None
    node: TopologyNode

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics that a source reads, or the topic that a sink writes to."""
        return self.node.source_topics if self.node.sink_topic is None else (self.node.sink_topic,)


def topology_rows(group: GroupRows) -> list[TopologyRow]:
    """Return a row for each node of the topology, by subtopology, then those of global stores; none if unknown."""
    name = group.description.group
    topology = group.description.topology
    if topology is None or topology.nodes is None:
        return []
    rows = [TopologyRow(name, subtopology, node) for subtopology, nodes in topology.nodes for node in nodes]
    return rows + [TopologyRow(name, None, node) for pair in topology.global_nodes or () for node in pair]


def _show_names(names: Sequence[str]) -> str | None:
    return ",".join(names) or None


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


def encode_topology(group: GroupRows) -> Document | None:
    """Return the JSON object of the topology of a group; None if it has none."""
    topology = group.description.topology
    if topology is None:
        return None
    subtopologies = topology.subtopologies
    return {
        "epoch": topology.epoch,
        "subtopologies": None if subtopologies is None else [*map(_encode_subtopology, subtopologies)],
        "description": topology.description,
        "nodes": None if topology.nodes is None else [*map(_encode_node, topology_rows(group))],
    }


def _encode_subtopology(subtopology: Subtopology) -> Document:
    return {name: value if name == "id" else list(value) for name, value in subtopology._asdict().items()}


TOPOLOGY_TABLE: Final = GroupTable(TOPOLOGY, topology_rows, fixed_columns(TOPOLOGY))
