"""Workers of Kafka Connect: the bytes that Kafka's own classes wrote, and bytes that nobody should write."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.members import ConnectorTasks, ConnectWorker
from kafka_groups.protocol.connect_protocol import decode_worker
from tests.protocol.connect_bytes import assigned, state, work

_FILE = Path(__file__).with_name("golden") / "connect.jsonl"
URL = "http://worker-1:8083/"
LEADER_URL = "http://worker-ü:8083/"


class GoldenWorker(NamedTuple):
    """A worker by GoldenConnect.java: its bytes, and the work in them as pairs of connector and task."""

    name: str
    error: int
    delay: int
    allocation: frozenset[tuple[str, int]]
    assigned: frozenset[tuple[str, int]]
    revoked: frozenset[tuple[str, int]]
    metadata: bytes
    assignment: bytes


def read_golden(line: str) -> GoldenWorker:
    values: dict[str, Any] = json.loads(line)
    work = {key: frozenset(map(tuple, values[key])) for key in ("allocation", "assigned", "revoked")}
    packed = {key: bytes.fromhex(values[key]) for key in ("metadata", "assignment")}
    return GoldenWorker(**{**values, **work, **packed})


WORKERS = {worker.name: worker for worker in map(read_golden, _FILE.read_text(encoding="utf-8").splitlines())}
SESSIONED = WORKERS["sessioned, moved"]


def pairs_of(worker: ConnectWorker) -> set[tuple[str, int]]:
    """Return the work as pairs of connector and task, -1 for the connector itself."""
    connectors = worker.connectors or ()
    own = {(each.connector, -1) for each in connectors if each.has_connector}
    return own | {(each.connector, task) for each in connectors for task in each.tasks}


def decoded(metadata: bytes, assignment: bytes) -> ConnectWorker:
    worker = decode_worker(metadata, assignment)
    assert worker is not None
    return worker


@pytest.mark.parametrize("golden", WORKERS.values(), ids=WORKERS)
def test_bytes_that_kafka_wrote_have_the_work_that_kafka_wrote(golden: GoldenWorker) -> None:
    worker = decoded(golden.metadata, golden.assignment)
    assert pairs_of(worker) == (golden.allocation - golden.revoked) | golden.assigned
    assert (worker.url, worker.config_offset, worker.leader, worker.leader_url) == (URL, 41, "worker-2", LEADER_URL)
    assert (worker.scheduled_delay_ms, worker.has_config_mismatch) == (golden.delay, golden.error == 1)


def test_the_golden_bytes_have_each_version_and_each_case() -> None:
    assert {worker.metadata[:2] for worker in WORKERS.values()} == {b"\0\0", b"\0\1", b"\0\2"}
    assert max(worker.delay for worker in WORKERS.values()) == 299_999
    assert {worker.error for worker in WORKERS.values()} == {0, 1}
    assert any(worker.allocation & worker.revoked for worker in WORKERS.values())


def test_a_settled_worker_runs_what_it_had_although_it_is_assigned_nothing() -> None:
    golden = WORKERS["sessioned, no change"]
    assert decoded(golden.metadata, golden.assignment).connectors == (ConnectorTasks("files", True, (0, 2)),)


def test_connectors_are_sorted_by_name_and_tasks_by_number() -> None:
    assignment = assigned(0, work(("b", (2, 0, -1)), ("a", (1,))))
    assert decoded(state(0), assignment).connectors == (
        ConnectorTasks("a", False, (1,)),
        ConnectorTasks("b", True, (0, 2)),
    )


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("rest", [b"", work(("a", (0,)))], ids=["without revoked and delay", "without delay"])
def test_fields_at_the_end_may_be_missing(version: int, rest: bytes) -> None:
    allocation = assigned(version, work(("a", (0, 1))))
    worker = decoded(state(version, allocation), assigned(version, work()) + rest)
    assert worker.connectors == (ConnectorTasks("a", False, (1,) if rest else (0, 1)),)
    assert worker.scheduled_delay_ms == 0


def test_an_array_may_be_null_since_version_1() -> None:
    null = struct.pack(">i", -1)
    assignment = assigned(1, null) + null + struct.pack(">i", 7)
    worker = decoded(state(1, assigned(1, null)), assignment)
    assert (worker.connectors, worker.scheduled_delay_ms) == ((), 7)


def test_a_worker_without_an_assignment_has_unknown_work_not_none() -> None:
    worker = decoded(SESSIONED.metadata, b"")
    assert worker == ConnectWorker(url=URL, config_offset=41, connectors=None)
    assert (worker.leader, worker.scheduled_delay_ms, worker.has_config_mismatch) == (None, None, None)


@pytest.mark.parametrize(
    ("metadata", "assignment"),
    [
        (b"", b""),
        (b"", SESSIONED.assignment),
        (b"\0", SESSIONED.assignment),
        (SESSIONED.metadata[:-1], SESSIONED.assignment),
        (SESSIONED.metadata, SESSIONED.assignment[:12]),
        (b"\xff\xff" + SESSIONED.metadata[2:], SESSIONED.assignment),
        (SESSIONED.metadata, b"\xff\xff" + SESSIONED.assignment[2:]),
        (state(1, b"\0"), SESSIONED.assignment),
        (state(0), assigned(0, work(("a", (-2,))))),
        (state(0), assigned(0, struct.pack(">i", 2**31 - 1))),
        (b"not the state of a worker", b"{}"),
    ],
)
def test_bytes_that_are_no_worker_are_unreadable(metadata: bytes, assignment: bytes) -> None:
    assert decode_worker(metadata, assignment) is None


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_raise_an_error(metadata: bytes, assignment: bytes) -> None:
    decode_worker(metadata, assignment)


@given(st.sampled_from(sorted(WORKERS)), st.data())
def test_no_damage_to_real_bytes_raises_an_error(name: str, data: st.DataObject) -> None:
    golden = WORKERS[name]
    packed = [bytearray(golden.metadata), bytearray(golden.assignment)]
    damaged = packed[data.draw(st.integers(0, 1))]
    at = data.draw(st.integers(0, len(damaged) - 1))
    damaged[at] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(at, len(damaged))) :]
    decode_worker(*map(bytes, packed))
