"""Members of streams groups (KIP-1071) with hand-written heartbeats, which run no task."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self
from uuid import uuid4

from kio.schema.streams_group_heartbeat.v0.request import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i16, i32, i32Timedelta

from tests.live.groups.conditions import wait_until
from tests.live.groups.raw_connection import RawConnection, connect_to_coordinator

JOIN, LEAVE = 0, -1
_MINUTE = i32Timedelta.parse(timedelta(minutes=1))


class RawStreamsMember:
    """A member that joins with a topology of one subtopology, and has the tasks that it is assigned.

    `send_heartbeat` must be called more often than once in a session of 45 s.
    """

    def __init__(self, bootstrap: str, group: str, *topics: str, epoch: int = 0, changelog: str = "") -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._topology = topology_of(*topics, epoch=epoch, changelog=changelog)
        self._member = str(uuid4())
        self._epoch = JOIN
        self._tasks: tuple[TaskIds, ...] = ()
        self._connection: RawConnection | None = None

    def __enter__(self) -> Self:
        self._connection = connect_to_coordinator(self._bootstrap, self._group)
        responses: list[Any] = []

        def has_joined() -> bool:
            request = heartbeat_request(self._group, self._member, JOIN, topology=self._topology)
            responses[:] = [self._send(request)]
            return not int(responses[0].error_code)

        wait_until(has_joined, lambda: f"{self._group} did not accept a member: {responses}")
        return self

    def __exit__(self, *_: object) -> None:
        self._send(heartbeat_request(self._group, self._member, LEAVE))
        assert self._connection is not None
        self._connection.close()

    def send_heartbeat(self) -> None:
        """Send a heartbeat with the tasks of the last response."""
        response = self._send(heartbeat_request(self._group, self._member, self._epoch, tasks=self._tasks))
        assert not int(response.error_code), response

    def _send(self, request: StreamsGroupHeartbeatRequest) -> Any:
        assert self._connection is not None
        response = self._connection.send(request)
        if not int(response.error_code):
            self._epoch = int(response.member_epoch)
        if response.active_tasks is not None:
            self._tasks = tuple(
                TaskIds(subtopology_id=tasks.subtopology_id, partitions=tasks.partitions)
                for tasks in response.active_tasks
            )
        return response


def topology_of(*topics: str, epoch: int = 0, changelog: str = "") -> Topology:
    """Return a topology of one subtopology that reads topics, with a store if it has a changelog topic."""
    subtopology = Subtopology(
        subtopology_id="0",
        source_topics=tuple(map(TopicName, topics)),
        state_changelog_topics=(_topic_info(changelog),) if changelog else (),
        repartition_source_topics=(),
        copartition_groups=(),
    )
    return Topology(epoch=i32(epoch), subtopologies=(subtopology,))


def heartbeat_request(
    group: str, member: str, epoch: int, *, topology: Topology | None = None, tasks: tuple[TaskIds, ...] | None = None
) -> StreamsGroupHeartbeatRequest:
    """Return the heartbeat of a member, whose epoch may be `JOIN` or `LEAVE`; `tasks` are those that it runs."""
    nothing: Any = () if epoch == JOIN else None
    return StreamsGroupHeartbeatRequest(
        group_id=GroupId(group),
        member_id=member,
        member_epoch=i32(epoch),
        endpoint_information_epoch=i32(0),
        rebalance_timeout=_MINUTE,
        topology=topology,
        active_tasks=nothing if tasks is None else tasks,
        standby_tasks=nothing if tasks is None else (),
        warmup_tasks=nothing if tasks is None else (),
        process_id=f"process-of-{member}" if epoch == JOIN else None,
        client_tags=nothing,
        task_offsets=None,
        task_end_offsets=None,
    )


def _topic_info(name: str) -> TopicInfo:
    return TopicInfo(name=TopicName(name), partitions=i32(0), replication_factor=i16(1), topic_configs=())
