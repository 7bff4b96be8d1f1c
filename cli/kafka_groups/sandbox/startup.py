"""The start of a sandbox: its specification, and the steps to a cluster that returns responses."""

from __future__ import annotations

import base64
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kafka_groups.files import write_atomically
from kafka_groups.options.signals import defer_signals
from kafka_groups.sandbox.application_groups import (
    Application,
    await_applications,
    launch_application,
    prepare_applications,
)
from kafka_groups.sandbox.brokers import launch_broker, launch_zookeeper, prepare
from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.kafka import Kafka, jvm_options
from kafka_groups.sandbox.ports import broker_ports, free_ports
from kafka_groups.sandbox.processes import ProcessId, start
from kafka_groups.sandbox.profile import write_profiles
from kafka_groups.sandbox.readiness import await_brokers, await_coordinators, await_seeded
from kafka_groups.sandbox.security.listeners import PROTOCOLS, secure_jvm
from kafka_groups.sandbox.security.rights import create_rights
from kafka_groups.sandbox.security.secret_files import create_secrets, secret_files
from kafka_groups.sandbox.security.ways_in import sandbox_profiles
from kafka_groups.sandbox.state_file import MEMBERS, ZOOKEEPER, Node, SandboxState, write_state
from kafka_groups.sandbox.versions import DEFAULT_VERSION

DEFAULT_NAME = "sandbox"
DEFAULT_PORT = 9092
DEFAULT_HEAP_MB = 1024
START_TIMEOUT_S = 120.0
SEED_TIMEOUT_S = 60.0
MEMBERS_PROGRAM = "kafka_groups.sandbox.members"


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxSpec:
    """A specification of the sandbox to start.

    `port` is the port of the first broker, the others follow; 0 chooses free ports. `home` is the directory that
    holds the directories of sandboxes; None is the user's state directory. With `profile`, the sandbox is written
    to the user's profiles under its name. With `secure`, the brokers have listeners with users, and the profiles one
    entry for each way to authenticate. `optimised` brokers start slower and run faster: for benchmarks.
    `properties` are additional settings of all brokers: they override the sandbox's own, except listeners, which
    are appended.
    """

    name: str = DEFAULT_NAME
    brokers: int = 1
    kafka_version: str = DEFAULT_VERSION
    port: int = DEFAULT_PORT
    heap_mb: int = DEFAULT_HEAP_MB
    optimised: bool = False
    seed: bool = True
    profile: bool = True
    secure: bool = False
    home: Path | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)


def start_sandbox(
    directory: SandboxDirectory,
    spec: SandboxSpec,
    kafka: Kafka,
    *,
    applications: Sequence[Application],
    report: Callable[[str], None],
) -> SandboxState:
    """Start all processes and wait until the cluster returns responses, and is seeded if the spec has `seed`.

    `applications` start while the other groups are created.

    Each process is written to the state file as soon as it runs, so that `down` finds it after any failure.
    Raises SandboxError if a step fails; the processes then still run.
    """
    state = _plan(directory, spec, kafka)
    directory.create()
    if spec.secure:
        create_secrets(directory, now=datetime.now(UTC))
    prepare(directory, state, kafka, spec.properties)
    write_state(directory, state)
    if spec.profile:  # first, because it fails if another sandbox has taken the name meanwhile
        write_profiles(directory, sandbox_profiles(directory, state.bootstrap, state.secure_servers()))
    report(f"starting Kafka {kafka.version} at {state.bootstrap}")
    if state.zookeeper_port is not None:
        state = _launch(directory, state, ZOOKEEPER, partial(launch_zookeeper, directory, kafka))
    for node in state.nodes:
        broker = partial(launch_broker, directory, kafka, node, jvm=state.jvm)
        state = _launch(directory, state, node.role, broker)
    await_brokers(directory, state, state.nodes, timeout_s=START_TIMEOUT_S)
    await_coordinators(directory, state, timeout_s=START_TIMEOUT_S)
    if spec.secure:
        create_rights(state.bootstrap, state.secure_servers())
    if spec.seed:
        report("creating topics and groups")
        state = _seed(directory, state, applications)
    state = replace(state, complete=True)
    write_state(directory, state)
    return state


def _seed(directory: SandboxDirectory, state: SandboxState, applications: Sequence[Application]) -> SandboxState:
    prepare_applications(directory, state, applications)
    for application in applications:
        for role in application.roles():
            state = _launch(directory, state, role, partial(launch_application, directory, application, role))
    state = _launch(directory, state, MEMBERS, partial(_launch_members, directory, state))
    await_seeded(directory, state.processes[MEMBERS], timeout_s=SEED_TIMEOUT_S)
    await_applications(directory, state, applications, timeout_s=SEED_TIMEOUT_S)
    return state


def _plan(directory: SandboxDirectory, spec: SandboxSpec, kafka: Kafka) -> SandboxState:
    nodes, zookeeper_port = _plan_nodes(spec, kafka)
    jvm = jvm_options(heap_mb=spec.heap_mb, optimised=spec.optimised)
    return SandboxState(
        kafka_version=str(kafka.version),
        cluster_id=base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="),
        java=str(kafka.java),
        jvm=(*jvm, *secure_jvm(secret_files(directory))) if spec.secure else jvm,
        nodes=nodes,
        zookeeper_port=zookeeper_port,
        processes={},
        profile=spec.profile,
    )


def _plan_nodes(spec: SandboxSpec, kafka: Kafka) -> tuple[tuple[Node, ...], int | None]:
    """Return the nodes with their ports, and the port of ZooKeeper if the version needs one."""
    ports = broker_ports(spec.port, spec.brokers)
    internal = free_ports(spec.brokers if kafka.version.has_kraft else 1, exclude=ports)
    controllers = internal if kafka.version.has_kraft else [None] * spec.brokers
    secure = free_ports(spec.brokers * len(PROTOCOLS) if spec.secure else 0, exclude=ports)
    nodes = tuple(
        Node(
            id=number,
            port=port,
            controller_port=controller,
            # Every broker has one port for each protocol, or none.
            secure_ports=dict(zip(PROTOCOLS, secure[number - 1 :: spec.brokers], strict=False)),
        )
        for number, (port, controller) in enumerate(zip(ports, controllers, strict=True), start=1)
    )
    return nodes, None if kafka.version.has_kraft else internal[0]


def _launch_members(directory: SandboxDirectory, state: SandboxState) -> ProcessId:
    """Start the process that creates topics and groups and then polls their members."""
    # -P: a file of the working directory with the name of an imported module must not be imported.
    program = [sys.executable, "-P", "-m", MEMBERS_PROGRAM]
    arguments = [state.bootstrap, state.kafka_version, str(directory.seed_file)]
    with directory.report_write_errors():
        write_atomically(directory.seed_file, "{}")
    return start([*program, *arguments], output=directory.output(MEMBERS))


def _launch(
    directory: SandboxDirectory, state: SandboxState, role: str, launch: Callable[[], ProcessId]
) -> SandboxState:
    with defer_signals(is_interruptible=False):
        state = replace(state, processes={**state.processes, role: launch()})
        write_state(directory, state)
    return state
