"""The bytes of a worker of Kafka Connect in its group: its own state, and the assignment by the leader.

The formats are those of ConnectProtocol.java (version 0, protocol `default`) and of
IncrementalCooperativeConnectProtocol.java (versions 1 and 2, `compatible` and `sessioned`). Since version 1 an
assignment is a difference: the worker runs the work that it had, minus the revoked, plus the assigned work.

>>> worker = decode_worker(b"\\x00\\x00\\x00\\x05http:\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x07", b"")
>>> worker.url, worker.config_offset, worker.connectors
('http:', 7, None)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_groups.members import ConnectorTasks, ConnectWorker
from kafka_groups.protocol.primitives import BYTES, INT16, INT32, INT64, STRING, Cursor, SchemaError
from kafka_groups.protocol.schema import Array, Field, Struct, compile_reader

_COOPERATIVE_SINCE: Final = 1
# ConnectProtocol.CONNECTOR_TASK: the number that stands for the connector itself among the numbers of its tasks.
_CONNECTOR: Final = -1
_CONFIG_MISMATCH: Final = 1

_CONNECTORS: Final = Array((Field("connector", STRING), Field("tasks", Array(INT32))))
_WORKER_STATE: Final = (
    Field("version", INT16),
    Field("url", STRING),
    Field("config_offset", INT64),
    Field("allocation", BYTES, since=_COOPERATIVE_SINCE, nullable_since=_COOPERATIVE_SINCE, default=None),
)
_ASSIGNMENT: Final = (
    Field("version", INT16),
    Field("error", INT16),
    Field("leader", STRING),
    Field("leader_url", STRING),
    Field("config_offset", INT64),
    Field("assigned", _CONNECTORS, nullable_since=_COOPERATIVE_SINCE),
)
# The fields after these. Kafka's schema tolerates it if both are missing, or the second one.
_REVOKED: Final = (Field("revoked", _CONNECTORS, nullable_since=0),)
_DELAY: Final = (Field("scheduled_delay_ms", INT32),)

_read_version = INT16.read(False, False)
_read_revoked = compile_reader(_REVOKED, version=0, flexible=False)
_read_delay = compile_reader(_DELAY, version=0, flexible=False)


class _WorkerAssignment(NamedTuple):
    """The assignment of a worker. Work is pairs of a connector and the number of a task, `_CONNECTOR` for itself."""

    error: int
    leader: str
    leader_url: str
    assigned: set[tuple[str, int]]
    revoked: set[tuple[str, int]]
    scheduled_delay_ms: int


def decode_worker(metadata: bytes, assignment: bytes) -> ConnectWorker | None:
    """Return the worker that a member of a Connect group is; None if its bytes are unreadable or absent.

    `metadata` and `assignment` are those of DescribeGroups, or of the group's record, where `subscription` is the
    metadata. Brokers return both only while the group is stable.
    """
    if not metadata:
        return None
    try:
        return _worker(metadata, assignment)
    except SchemaError:
        return None


def _worker(metadata: bytes, assignment: bytes) -> ConnectWorker:
    state = compile_reader(_WORKER_STATE, version=_peek_version(metadata), flexible=False)(Cursor(metadata))
    if not assignment:
        return ConnectWorker(state["url"], state["config_offset"], None)
    allocation = state["allocation"]
    held = _decode_assignment(allocation).assigned if allocation else set()
    given = _decode_assignment(assignment)
    return ConnectWorker(
        url=state["url"],
        config_offset=state["config_offset"],
        connectors=_by_connector((held - given.revoked) | given.assigned),
        leader=given.leader,
        leader_url=given.leader_url,
        scheduled_delay_ms=given.scheduled_delay_ms,
        has_config_mismatch=given.error == _CONFIG_MISMATCH,
    )


def _decode_assignment(packed: bytes) -> _WorkerAssignment:
    cursor = Cursor(packed)
    version = _peek_version(packed)
    row = compile_reader(_ASSIGNMENT, version=version, flexible=False)(cursor)
    revoked = None
    delay_ms = 0
    if version >= _COOPERATIVE_SINCE and cursor.remaining():
        revoked = _read_revoked(cursor)["revoked"]
    if version >= _COOPERATIVE_SINCE and cursor.remaining():
        delay_ms = _read_delay(cursor)["scheduled_delay_ms"]
    return _WorkerAssignment(
        error=row["error"],
        leader=row["leader"],
        leader_url=row["leader_url"],
        assigned=_to_pairs(row["assigned"]),
        revoked=_to_pairs(revoked),
        scheduled_delay_ms=delay_ms,
    )


def _peek_version(packed: bytes) -> int:
    """Return the version, which is the first field. Raises SchemaError for a version that no worker writes."""
    version = int(_read_version(Cursor(packed)))
    if version < 0:
        msg = f"a version cannot be {version}"
        raise SchemaError(msg)
    return version


def _to_pairs(rows: Iterable[Struct] | None) -> set[tuple[str, int]]:
    """Return the work in rows of an assignment. Raises SchemaError for a number that no task can have."""
    pairs: set[tuple[str, int]] = set()
    for row in rows or ():
        tasks: list[int] = row["tasks"]
        if min(tasks, default=0) < _CONNECTOR:
            msg = f"a task cannot have the number {min(tasks)}"
            raise SchemaError(msg)
        pairs.update((row["connector"], task) for task in tasks)
    return pairs


def _by_connector(pairs: set[tuple[str, int]]) -> tuple[ConnectorTasks, ...]:
    """Return what a worker runs of each connector, by name."""
    numbers: dict[str, list[int]] = {}
    for connector, number in sorted(pairs):
        numbers.setdefault(connector, []).append(number)
    return tuple(
        ConnectorTasks(name, _CONNECTOR in found, tuple(number for number in found if number != _CONNECTOR))
        for name, found in numbers.items()
    )
