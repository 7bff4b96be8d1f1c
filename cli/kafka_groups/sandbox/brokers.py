"""The nodes of a sandbox: their files, their processes, and their last words."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_groups.sandbox.configuration import (
    as_properties,
    broker_properties,
    joined,
    logging_settings,
    zookeeper_properties,
)
from kafka_groups.sandbox.directory import Place
from kafka_groups.sandbox.kafka import BROKER, ZOOKEEPER, Kafka, bootstrap_checkpoint, jvm_options
from kafka_groups.sandbox.processes import ProcessId, start
from kafka_groups.sandbox.state_file import ZOOKEEPER as ZOOKEEPER_ROLE
from kafka_groups.sandbox.state_file import Node, Record

_ZOOKEEPER_JVM = jvm_options(heap_mb=256, optimised=False)

_ROOT = "Caused by: "
# What says why a process ended, best first: a stack trace's root, an error in the log, anything.
_TELLING = (_ROOT, " FATAL ", " ERROR ", "Error", "")


def prepare(place: Place, record: Record, kafka: Kafka, more: Mapping[str, str]) -> None:
    """Write the settings of all nodes, the brokers' with `more` of them, and format their storage."""
    _logging_file(place, kafka).write_text(logging_settings(kafka.version).server, encoding="utf-8")
    if record.zookeeper_port is not None:
        data = place.node(ZOOKEEPER_ROLE) / "data"
        settings = zookeeper_properties(record.zookeeper_port, data=data)
        _write_settings(place, ZOOKEEPER_ROLE, settings)
    checkpoint = bootstrap_checkpoint(kafka) if record.zookeeper_port is None else None
    for node in record.nodes:
        data = place.node(node.role) / "data"
        settings = broker_properties(record, node, kafka=kafka.version, data=data)
        _write_settings(place, node.role, joined(settings, more))
        if record.zookeeper_port is None:
            identity = {"version": "1", "cluster.id": record.cluster_id, "node.id": str(node.id)}
            (data / "meta.properties").write_text(as_properties(identity), encoding="utf-8")
        if checkpoint is not None:
            shutil.copy(checkpoint, data / "bootstrap.checkpoint")


def launch_zookeeper(place: Place, kafka: Kafka) -> ProcessId:
    """Start the ZooKeeper that old brokers need; they wait for it by themselves."""
    return _launch(place, kafka, ZOOKEEPER_ROLE, main=ZOOKEEPER, jvm=_ZOOKEEPER_JVM)


def launch_broker(place: Place, kafka: Kafka, node: Node, *, jvm: Sequence[str]) -> ProcessId:
    """Start one broker on what `prepare` wrote, or on what it left when it was stopped."""
    return _launch(place, kafka, node.role, main=BROKER, jvm=jvm)


def last_words(place: Place, role: str) -> str:
    """Return the most telling line that a process left, and where there is more."""
    left = {path: _lines(path) for path in (place.log(role), place.output(role))}
    for mark in _TELLING:
        for path, lines in left.items():
            if telling := [line for line in lines if mark in line]:
                return f"{telling[-1].strip().removeprefix(_ROOT)} (more in {path})"
    return f"it left no word (in {place.logs})"


def _launch(place: Place, kafka: Kafka, role: str, *, main: str, jvm: Sequence[str]) -> ProcessId:
    command = kafka.command(
        main,
        _settings_file(place, role),
        jvm=jvm,
        properties={
            logging_settings(kafka.version).option: _logging_file(place, kafka).as_uri(),
            "sandbox.log": place.log(role),
            "zookeeper.forceSync": "no",  # a sandbox need not survive a power cut
        },
    )
    return start(command, output=place.output(role))


def _write_settings(place: Place, role: str, settings: dict[str, str]) -> None:
    (place.node(role) / "data").mkdir(parents=True, exist_ok=True)
    _settings_file(place, role).write_text(as_properties(settings), encoding="utf-8")


def _logging_file(place: Place, kafka: Kafka) -> Path:
    return place.directory / f"logging{logging_settings(kafka.version).suffix}"


def _settings_file(place: Place, role: str) -> Path:
    return place.node(role) / "settings.properties"


def _lines(path: Path) -> Sequence[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]
