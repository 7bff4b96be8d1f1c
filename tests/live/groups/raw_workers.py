"""Groups like that of Kafka Connect, whose two workers are hand-written requests and assign what a test wants.

Real workers balance their work and read their configurations within seconds. The bytes are those of version 1 of
IncrementalCooperativeConnectProtocol.java. No worker sends heartbeats, and sessions last ten minutes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from kio.schema.join_group.v6.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.sync_group.v5.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.types import GroupId
from kio.static.primitive import i32Timedelta

from tests.live.groups.conditions import await_state
from tests.live.groups.raw_connection import RawConnection, connect_to_coordinator

CONFIG_MISMATCH = 1
_VERSION = 1
_TYPE, _PROTOCOL = "connect", "compatible"
_LONG = i32Timedelta.parse(timedelta(minutes=10))
_CONNECTOR = -1


@dataclass(frozen=True, kw_only=True)
class RawWorker:
    """A worker as it joins, and its work: the numbers of the tasks of each connector; `connectors` run themselves."""

    url: str
    config_offset: int
    tasks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    connectors: Sequence[str] = ()


@contextmanager
def raw_workers(bootstrap: str, group: str, leader: RawWorker, other: RawWorker, *, error: int = 0) -> Iterator[None]:
    """Keep two workers in a Stable group; the first one leads it. `error` is that of the assignments."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(connect_to_coordinator(bootstrap, group)) for _ in range(2))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        member = _member_id(first, group, leader)
        _join(first, group, leader, member)
        # The response to the second worker waits until the first one has joined again.
        waiting = pool.submit(lambda: _join(second, group, other, _member_id(second, group, other)))
        await_state(bootstrap, group, "PreparingRebalance", members=2)
        joined = _join(first, group, leader, member)
        assert joined.leader == member, joined
        members = {member: leader, waiting.result().member_id: other}
        assignments = tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=_assignment(member, leader, worker, error))
            for each, worker in members.items()
        )
        for connection, each in zip((first, second), members, strict=True):
            _sync(connection, group, joined.generation_id, each, assignments if each == member else ())
        await_state(bootstrap, group, "Stable", members=2)
        yield


def _member_id(connection: RawConnection, group: str, worker: RawWorker) -> str:
    # A first request without a member id is refused, and its response has the id (KIP-394).
    return str(_join(connection, group, worker, "").member_id)


def _join(connection: RawConnection, group: str, worker: RawWorker, member: str) -> Any:
    return connection.send(
        JoinGroupRequest(
            group_id=GroupId(group),
            session_timeout=_LONG,
            rebalance_timeout=_LONG,
            member_id=member,
            protocol_type=_TYPE,
            protocols=(JoinGroupRequestProtocol(name=_PROTOCOL, metadata=_state(worker)),),
        )
    )


def _sync(connection: RawConnection, group: str, generation: Any, member: str, assignments: tuple[Any, ...]) -> None:
    response = connection.send(
        SyncGroupRequest(
            group_id=GroupId(group),
            generation_id=generation,
            member_id=member,
            protocol_type=_TYPE,
            protocol_name=_PROTOCOL,
            assignments=assignments,
        )
    )
    assert not int(response.error_code), response


def _state(worker: RawWorker) -> bytes:
    return struct.pack(">h", _VERSION) + _string(worker.url) + struct.pack(">qi", worker.config_offset, -1)


def _assignment(leader_id: str, leader: RawWorker, worker: RawWorker, error: int) -> bytes:
    numbers = {name: [_CONNECTOR] for name in worker.connectors}
    for name, tasks in worker.tasks.items():
        numbers[name] = [*numbers.get(name, []), *tasks]
    rows = [
        _string(name) + struct.pack(f">i{len(tasks)}i", len(tasks), *tasks) for name, tasks in sorted(numbers.items())
    ]
    head = struct.pack(">hh", _VERSION, error) + _string(leader_id) + _string(leader.url)
    work = struct.pack(">qi", leader.config_offset, len(rows)) + b"".join(rows)
    # No work is revoked, and there is no delay.
    return head + work + struct.pack(">ii", -1, 0)


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
