"""Members of share, streams and Connect groups, and topologies, as brokers return them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from kafka_groups.protocol import Struct
from tests.protocol.connect_bytes import assigned, state, work

_NO_ID = UUID(int=0)
Tasks = Mapping[str, Sequence[int]]


def share_member(member_id: str, partitions: Mapping[str, Sequence[int]], **values: Any) -> Struct:
    """Return a member of a share group that subscribes to the topics of its assignment."""
    rows = [{"topic_id": _NO_ID, "topic_name": name, "partitions": [*numbers]} for name, numbers in partitions.items()]
    return {
        "member_id": member_id,
        "rack_id": None,
        "member_epoch": 3,
        "client_id": "sampler",
        "client_host": "/10.0.0.1",
        "subscribed_topic_names": sorted(partitions, reverse=True),
        "assignment": {"topic_partitions": rows},
        **values,
    }


def streams_member(
    member_id: str,
    *,
    active: Tasks | None = None,
    standby: Tasks | None = None,
    warmup: Tasks | None = None,
    **values: Any,
) -> Struct:
    """Return a member of a streams group whose target assignment is its assignment."""
    tasks = {"active_tasks": _tasks(active), "standby_tasks": _tasks(standby), "warmup_tasks": _tasks(warmup)}
    return {
        "member_id": member_id,
        "member_epoch": 4,
        "instance_id": None,
        "rack_id": None,
        "client_id": f"app-{member_id}",
        "client_host": "/10.0.0.2",
        "topology_epoch": 1,
        "process_id": f"process-{member_id}",
        "user_endpoint": None,
        "client_tags": [],
        "task_offsets": [],
        "task_end_offsets": [],
        "assignment": tasks,
        "target_assignment": tasks,
        "is_classic": False,
        **values,
    }


def task_offset(subtopology: str, partition: int, offset: int) -> Struct:
    """Return the sum of the offsets of the changelogs of a task."""
    return {"subtopology_id": subtopology, "partition": partition, "offset": offset}


def topology(inputs: Mapping[str, Sequence[str]] | None, *, epoch: int = 1) -> Struct:
    """Return a topology that maps the ids of its subtopologies to their source topics; None if it is not valid."""
    rows = None if inputs is None else [_subtopology(each, topics) for each, topics in inputs.items()]
    return {"epoch": epoch, "subtopologies": rows}


def word_count() -> Struct:
    """Return the topology of an application with a repartition topic and a changelog topic."""
    rows = [
        {**_subtopology("1", ()), "repartition_source_topics": [_topic("app-repartition")]},
        {**_subtopology("0", ("lines",)), "repartition_sink_topics": ["app-repartition"]},
    ]
    rows[0]["state_changelog_topics"] = [_topic("app-changelog")]
    return {"epoch": 1, "subtopologies": rows}


def word_count_nodes() -> Struct:
    """Return the description of that topology, which has a global store, too."""
    return {
        "subtopologies": [
            {
                "subtopology_id": "1",
                "nodes": [_node("count", 2, stores=["counts"]), _node("to-table", 3, sink_topic="counts-by-word")],
            },
            {"subtopology_id": "0", "nodes": [_node("lines", 1, source_topics=["lines"], successors=["split"])]},
        ],
        "global_stores": [
            {"source": _node("rates-in", 1, source_topics=["rates"]), "processor": _node("rates", 2, stores=["rates"])}
        ],
    }


def connect_member(member_id: str, connectors: Iterable[tuple[str, tuple[int, ...]]], **values: Any) -> Struct:
    """Return a worker of a settled group, which runs these connectors and tasks. Worker `w-2` is the leader."""
    return {
        "member_id": member_id,
        "group_instance_id": None,
        "client_id": f"connect-{member_id}",
        "client_host": "/10.0.0.3",
        "member_metadata": state(2, assigned(2, work(*connectors))),
        "member_assignment": assigned(2, work()),
        **values,
    }


def _tasks(tasks: Tasks | None) -> list[Struct]:
    return [{"subtopology_id": each, "partitions": [*numbers]} for each, numbers in (tasks or {}).items()]


def _subtopology(subtopology: str, sources: Sequence[str]) -> Struct:
    lists = ("repartition_sink_topics", "state_changelog_topics", "repartition_source_topics")
    return {"subtopology_id": subtopology, "source_topics": [*sources], **{name: [] for name in lists}}


def _topic(name: str) -> Struct:
    return {"name": name, "partitions": 2, "replication_factor": 1, "topic_configs": []}


def _node(name: str, node_type: int, **values: Any) -> Struct:
    empty: Struct = {"source_topics": [], "sink_topic": None, "stores": [], "successors": []}
    return {"name": name, "node_type": node_type, **empty, **values}
