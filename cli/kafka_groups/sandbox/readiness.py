"""Knowing when a cluster answers, or why it does not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.brokers import last_words
from kafka_groups.sandbox.directory import Place
from kafka_groups.sandbox.processes import is_running
from kafka_groups.sandbox.state_file import ZOOKEEPER, Node, Record

_POLL_S = 0.1
_NO_SUCH_GROUP = "kafka-groups-sandbox"


def await_brokers(place: Place, record: Record, nodes: Sequence[Node], *, timeout_s: float) -> None:
    """Return when these brokers are in the cluster; SandboxError tells what one that died said last."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    deadline = time.monotonic() + timeout_s
    wanted = {node.id for node in nodes}
    client = AdminClient({"bootstrap.servers": record.bootstrap, **_IMPATIENT})
    present: set[int] = set()
    while time.monotonic() < deadline:
        _require_running(place, record, [ZOOKEEPER, *(node.role for node in nodes)])
        try:
            present = set(client.list_topics(timeout=1).brokers)
        except KafkaException:  # nobody listens yet
            present = set()
        if wanted <= present:
            return
        time.sleep(_POLL_S)
    late = nodes[0] if not present else next(node for node in nodes if node.id not in present)
    msg = f"{late.role} is not up after {timeout_s:.0f} s: {last_words(place, late.role)}"
    raise SandboxError(msg)


def await_coordinators(place: Place, record: Record, *, timeout_s: float) -> None:
    """Return when groups can be asked about: the first question makes Kafka create the topic they live in."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    deadline = time.monotonic() + timeout_s
    settings = {"bootstrap.servers": record.bootstrap, "group.id": _NO_SUCH_GROUP, **_IMPATIENT}
    consumer = Consumer(settings)
    try:
        while time.monotonic() < deadline:
            try:
                consumer.committed([TopicPartition("none", 0)], timeout=2)
            except KafkaException:
                _require_running(place, record, record.processes)
            else:
                return
    finally:
        consumer.close()
    msg = f"no group coordinator answers after {timeout_s:.0f} s; the logs are in {place.logs}"
    raise SandboxError(msg)


# No log lines of librdkafka's on the user's terminal, and a second look soon after the first.
_IMPATIENT: dict[str, str | int | float | bool] = {
    "log_level": 0,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 200,
    "allow.auto.create.topics": False,
}


def _require_running(place: Place, record: Record, roles: Iterable[str]) -> None:
    for role in roles:
        process = record.processes.get(role)
        if process is not None and not is_running(process):
            msg = f"{role} ended while it started: {last_words(place, role)}"
            raise SandboxError(msg)
