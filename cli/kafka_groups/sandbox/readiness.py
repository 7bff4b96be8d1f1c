"""Waits until a cluster returns responses and its groups exist, with the reason if they do not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.brokers import last_error
from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.processes import ProcessId, is_running
from kafka_groups.sandbox.state_file import MEMBERS, ZOOKEEPER, Node, SandboxState

_POLL_S = 0.1
_SEED_POLL_S = 0.05
_NO_SUCH_GROUP = "kafka-groups-sandbox"

# librdkafka writes no log lines to the user's terminal, and reconnects soon after a failed attempt.
_CLIENT_SETTINGS: dict[str, str | int | float | bool] = {
    "log_level": 0,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 200,
    "allow.auto.create.topics": False,
}


def await_brokers(directory: SandboxDirectory, state: SandboxState, nodes: Sequence[Node], *, timeout_s: float) -> None:
    """Wait until these brokers are in the cluster; raise SandboxError with the last error of one that is not."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    deadline = time.monotonic() + timeout_s
    expected = {node.id for node in nodes}
    client = AdminClient({"bootstrap.servers": state.bootstrap, **_CLIENT_SETTINGS})
    present: set[int] = set()
    while time.monotonic() < deadline:
        _require_running(directory, state, [ZOOKEEPER, *(node.role for node in nodes)])
        try:
            metadata = client.list_topics(timeout=1)
            # Another sandbox that was started at the same time may have taken the port. ZooKeeper chooses an ID itself.
            is_ours = state.zookeeper_port is not None or metadata.cluster_id == state.cluster_id
            present = set(metadata.brokers) if is_ours else set()
        except KafkaException:  # no broker accepts connections yet
            present = set()
        if expected <= present:
            return
        time.sleep(_POLL_S)
    late = nodes[0] if not present else next(node for node in nodes if node.id not in present)
    msg = f"{late.role} is not up after {timeout_s:.0f} s: {last_error(directory, late.role)}"
    raise SandboxError(msg)


def await_coordinators(directory: SandboxDirectory, state: SandboxState, *, timeout_s: float) -> None:
    """Wait until group coordinators return responses; raise SandboxError if they do not.

    The first request makes Kafka create the topic `__consumer_offsets`.
    """
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    deadline = time.monotonic() + timeout_s
    settings = {"bootstrap.servers": state.bootstrap, "group.id": _NO_SUCH_GROUP, **_CLIENT_SETTINGS}
    consumer = Consumer(settings)
    try:
        while time.monotonic() < deadline:
            try:
                consumer.committed([TopicPartition("none", 0)], timeout=2)
            except KafkaException:
                _require_running(directory, state, state.processes)
            else:
                return
    finally:
        consumer.close()
    msg = f"no group coordinator is available after {timeout_s:.0f} s; the logs are in {directory.logs}"
    raise SandboxError(msg)


def await_seeded(directory: SandboxDirectory, members: ProcessId, *, timeout_s: float) -> None:
    """Wait until every group was seen in its state; raise SandboxError with the group that was not."""
    deadline = time.monotonic() + timeout_s
    missing = "nothing was created"
    while time.monotonic() < deadline:
        progress: dict[str, str] = json.loads(directory.seed_file.read_text(encoding="utf-8"))
        if progress.get("seeded"):
            return
        missing = progress.get("missing", missing)
        if not is_running(members):
            msg = f"seeding the sandbox failed: {last_error(directory, MEMBERS)}; try --no-seed"
            raise SandboxError(msg)
        time.sleep(_SEED_POLL_S)
    msg = f"the sandbox is not seeded after {timeout_s:.0f} s: {missing}; try --no-seed"
    raise SandboxError(msg)


def _require_running(directory: SandboxDirectory, state: SandboxState, roles: Iterable[str]) -> None:
    for role in roles:
        process = state.processes.get(role)
        if process is not None and not is_running(process):
            msg = f"{role} ended while it started: {last_error(directory, role)}"
            raise SandboxError(msg)
