"""Describe streams groups: StreamsGroupDescribe (KIP-1071), with the description of the topology since 4.4 (KIP-1331).

The assignment of a member has the partitions that its active tasks read: task N reads partition N of each input topic
of its subtopology. A topic may have fewer partitions than its subtopology has tasks. The assignment then has partitions
that do not exist; a caller that knows the partitions of topics removes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kafka_groups.acl_operations import operations_of
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.features import STREAMS_GROUPS_OFF
from kafka_groups.admin.handlers.group_batches import split_groups
from kafka_groups.admin.handlers.member_assignment import sort_assignments
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError
from kafka_groups.kinds import STREAMS, canonical_name
from kafka_groups.members import (
    StreamsMember,
    Subtopology,
    SubtopologyTasks,
    TaskAssignment,
    Topology,
    TopologyNode,
)
from kafka_groups.model import Assignment, Failure, GroupDescription, Member
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import STREAMS_GROUP_DESCRIBE
from kafka_groups.protocol.messages.streams_group_describe import TOPOLOGY_DESCRIPTION_SINCE

# TopologyDescriptionStatus and NodeType of StreamsGroupDescribeResponse.json, by number.
_STATUSES: Final = {0: "not_requested", 1: "not_stored", 2: "error", 3: "available"}
_NODE_TYPES: Final = {1: "source", 2: "processor", 3: "sink"}
_UNKNOWN_OFFSET: Final = 2**63 - 1


class DescribeStreamsGroupsHandler:
    """Group ids to descriptions of streams groups, without the coordinator, which the response lacks.

    With `topology` the nodes of each topology are requested, too, which needs version 1 of the API.
    """

    api = STREAMS_GROUP_DESCRIBE
    idempotent = True

    def __init__(self, *, topology: bool = False, authorized_operations: bool = False) -> None:
        self._topology = topology
        self._authorized_operations = authorized_operations

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the limit allows."""
        options = {
            "include_topology_description": self._topology,
            "include_authorized_operations": self._authorized_operations,
        }
        return [(part, {"group_ids": list(part), **options}) for part in split_groups(keys)]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupDescription]:
        """Return each group's description; error 69 for a group that is absent or of another type."""
        result: ApiResult[str, GroupDescription] = ApiResult()
        is_unsupported = self._topology and version < TOPOLOGY_DESCRIPTION_SINCE
        for group in STREAMS_GROUP_DESCRIBE.read_response(version, payload)["groups"]:
            if group["error_code"]:
                message = group["error_message"] or STREAMS_GROUPS_OFF.get(group["error_code"])
                add_group_error(result, group["group_id"], group["error_code"], message)
            else:
                result.completed[group["group_id"]] = _description(group, is_unsupported=is_unsupported)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return Failure.of(error, group=key, broker=broker)


def _description(group: Struct, *, is_unsupported: bool) -> GroupDescription:
    topology = _topology(group)
    if topology is not None and is_unsupported:
        topology = topology._replace(description="unsupported")
    assignment_epoch = group["assignment_epoch"]
    return GroupDescription(
        group=group["group_id"],
        type=STREAMS.group_type,
        state=canonical_name(group["group_state"]),
        protocol_type="streams",
        coordinator=None,
        assignor=group["assignor_name"] or None,
        group_epoch=group["group_epoch"],
        target_assignment_epoch=assignment_epoch,
        members=tuple(_member(member, topology, assignment_epoch) for member in group["members"]),
        topology=topology,
        authorized_operations=operations_of(group["authorized_operations"]),
    )


def _member(member: Struct, topology: Topology | None, assignment_epoch: int) -> Member:
    endpoint = member["user_endpoint"]
    tasks = _tasks(member["assignment"])
    target_tasks = _tasks(member["target_assignment"])
    return Member(
        member_id=member["member_id"],
        group_instance_id=member["instance_id"],
        client_id=member["client_id"],
        host=member["client_host"],
        assignment=_input_partitions(tasks.active, topology),
        epoch=member["member_epoch"],
        target_epoch=assignment_epoch,
        target_assignment=_input_partitions(target_tasks.active, topology),
        rack=member["rack_id"],
        streams=StreamsMember(
            process_id=member["process_id"],
            topology_epoch=member["topology_epoch"],
            tasks=tasks,
            target_tasks=target_tasks,
            endpoint=None if endpoint is None else (endpoint["host"], endpoint["port"]),
            restoration_lag=_restoration_lag(tasks, member["task_offsets"], member["task_end_offsets"]),
            is_classic=member["is_classic"],
        ),
    )


def _tasks(assignment: Struct) -> TaskAssignment:
    return TaskAssignment(
        active=_sort_tasks(assignment["active_tasks"]),
        standby=_sort_tasks(assignment["standby_tasks"]),
        warmup=_sort_tasks(assignment["warmup_tasks"]),
    )


def _sort_tasks(rows: Iterable[Struct]) -> tuple[SubtopologyTasks, ...]:
    tasks = (SubtopologyTasks(row["subtopology_id"], tuple(sorted(row["partitions"]))) for row in rows)
    return tuple(sorted(tasks))


def _input_partitions(active: Iterable[SubtopologyTasks], topology: Topology | None) -> tuple[Assignment, ...]:
    """Return the partitions that active tasks read; none without a valid topology."""
    if topology is None or topology.subtopologies is None:
        return ()
    topics_of = {subtopology.id: subtopology.input_topics for subtopology in topology.subtopologies}
    return sort_assignments(
        (topic, tasks.partitions) for tasks in active for topic in topics_of.get(tasks.subtopology, ())
    )


def _restoration_lag(tasks: TaskAssignment, offsets: Iterable[Struct], end_offsets: Iterable[Struct]) -> int | None:
    """Return the number of changelog records that the standby and warm-up tasks have not read.

    None without such tasks, or if the offset of one is unknown. The offsets of a task are sums over its changelogs. A
    task that has read everything may be beyond its end offset, which was read before.
    """
    restored = {(each.subtopology, number) for each in (*tasks.standby, *tasks.warmup) for number in each.partitions}
    read = _offsets_by_task(offsets)
    ends = _offsets_by_task(end_offsets)
    if not restored or not restored <= read.keys() & ends.keys():
        return None
    return sum(max(ends[task] - read[task], 0) for task in restored)


def _offsets_by_task(rows: Iterable[Struct]) -> dict[tuple[str, int], int]:
    """Return the known offsets. A client reports one that it does not know as the largest number, or as a negative one.

    A task that has just begun to restore has the largest number as its end offset (tried on 4.4.0).
    """
    return {
        (row["subtopology_id"], row["partition"]): row["offset"] for row in rows if 0 <= row["offset"] < _UNKNOWN_OFFSET
    }


def _topology(group: Struct) -> Topology | None:
    topology = group["topology"]
    if topology is None:
        return None
    subtopologies = topology["subtopologies"]
    description = group["topology_description"]
    return Topology(
        epoch=topology["epoch"],
        subtopologies=None if subtopologies is None else tuple(sorted(map(_subtopology, subtopologies))),
        description=_STATUSES.get(group["topology_description_status"], "error"),
        nodes=None if description is None else tuple(_nodes_by_subtopology(description)),
        global_nodes=None if description is None else tuple(_global_nodes(description)),
    )


def _subtopology(row: Struct) -> Subtopology:
    return Subtopology(
        id=row["subtopology_id"],
        source_topics=tuple(sorted(row["source_topics"])),
        repartition_source_topics=tuple(sorted(topic["name"] for topic in row["repartition_source_topics"])),
        repartition_sink_topics=tuple(sorted(row["repartition_sink_topics"])),
        changelog_topics=tuple(sorted(topic["name"] for topic in row["state_changelog_topics"])),
    )


def _nodes_by_subtopology(description: Struct) -> Iterator[tuple[str, tuple[TopologyNode, ...]]]:
    for row in sorted(description["subtopologies"], key=lambda row: str(row["subtopology_id"])):
        yield row["subtopology_id"], tuple(map(_node, row["nodes"]))


def _global_nodes(description: Struct) -> Iterator[tuple[TopologyNode, TopologyNode]]:
    for row in description["global_stores"]:
        yield _node(row["source"]), _node(row["processor"])


def _node(row: Struct) -> TopologyNode:
    return TopologyNode(
        name=row["name"],
        type=_NODE_TYPES.get(row["node_type"], f"unknown ({row['node_type']})"),
        source_topics=tuple(row["source_topics"]),
        sink_topic=row["sink_topic"],
        stores=tuple(row["stores"]),
        successors=tuple(row["successors"]),
    )
