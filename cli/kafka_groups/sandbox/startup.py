"""Starting a sandbox: what is wanted, and the steps from nothing to a cluster that answers."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kafka_groups.sandbox.brokers import launch_broker, launch_zookeeper, prepare
from kafka_groups.sandbox.directory import Place
from kafka_groups.sandbox.kafka import Kafka, jvm_options
from kafka_groups.sandbox.ports import broker_ports, free_ports
from kafka_groups.sandbox.processes import ProcessId, uninterrupted
from kafka_groups.sandbox.profile import write_profile
from kafka_groups.sandbox.readiness import await_brokers, await_coordinators
from kafka_groups.sandbox.seeding import await_seeded, launch_members
from kafka_groups.sandbox.state_file import MEMBERS, ZOOKEEPER, Node, Record, write_record
from kafka_groups.sandbox.versions import DEFAULT_VERSION

DEFAULT_NAME = "sandbox"
DEFAULT_PORT = 9092
DEFAULT_HEAP_MB = 1024
START_TIMEOUT_S = 120.0
SEED_TIMEOUT_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What shall be started.

    `port` is the first broker's, the others follow; 0 takes free ports. `home` holds the directories
    of sandboxes and is in the user's state directory unless told. `profile` says whether the
    sandbox is written to the user's profiles, under its name. `optimised` brokers start slower and
    run faster: for benchmarks. `properties` are settings of all brokers besides the sandbox's own:
    they win, but for listeners, which are added.
    """

    name: str = DEFAULT_NAME
    brokers: int = 1
    kafka_version: str = DEFAULT_VERSION
    port: int = DEFAULT_PORT
    heap_mb: int = DEFAULT_HEAP_MB
    optimised: bool = False
    seed: bool = True
    profile: bool = True
    home: Path | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)


def start_sandbox(place: Place, wanted: Wanted, kafka: Kafka, *, tell: Callable[[str], None]) -> Record:
    """Start all processes and return when the cluster answers, seeded if wanted.

    Each process is recorded as soon as it is there: whatever happens next, `down` finds it.
    """
    record = _plan(wanted, kafka)
    place.claim()
    prepare(place, record, kafka, wanted.properties)
    write_record(place, record)
    tell(f"starting Kafka {kafka.version} at {record.bootstrap}")
    if record.zookeeper_port is not None:
        record = _launch(place, record, ZOOKEEPER, partial(launch_zookeeper, place, kafka))
    for node in record.nodes:
        broker = partial(launch_broker, place, kafka, node, jvm=record.jvm)
        record = _launch(place, record, node.role, broker)
    await_brokers(place, record, record.nodes, timeout_s=START_TIMEOUT_S)
    await_coordinators(place, record, timeout_s=START_TIMEOUT_S)
    if wanted.seed:
        tell("creating topics and groups")
        record = _launch(place, record, MEMBERS, partial(launch_members, place, record))
        await_seeded(place, record.processes[MEMBERS], timeout_s=SEED_TIMEOUT_S)
    if wanted.profile:
        write_profile(place.name, record.bootstrap)
    record = replace(record, complete=True, profile=wanted.profile)
    write_record(place, record)
    return record


def _plan(wanted: Wanted, kafka: Kafka) -> Record:
    ports = broker_ports(wanted.port, wanted.brokers)
    hidden = free_ports(wanted.brokers if kafka.version.has_kraft else 1, besides=ports)
    controllers = hidden if kafka.version.has_kraft else [None] * wanted.brokers
    return Record(
        kafka_version=str(kafka.version),
        cluster_id=base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="),
        java=str(kafka.java),
        jvm=jvm_options(heap_mb=wanted.heap_mb, optimised=wanted.optimised),
        nodes=tuple(
            Node(id=number, port=port, controller_port=controller)
            for number, (port, controller) in enumerate(zip(ports, controllers, strict=True), start=1)
        ),
        zookeeper_port=None if kafka.version.has_kraft else hidden[0],
        processes={},
        profile=False,
    )


def _launch(place: Place, record: Record, role: str, launch: Callable[[], ProcessId]) -> Record:
    with uninterrupted():
        record = replace(record, processes={**record.processes, role: launch()})
        write_record(place, record)
    return record
