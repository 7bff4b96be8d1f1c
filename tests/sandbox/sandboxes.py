"""Sandboxes of one broker, as specified and as they are on the disk."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.sandbox import SandboxSpec
from kafka_groups.sandbox.directory import SandboxDirectory, sandbox_directory
from kafka_groups.sandbox.processes import ProcessId
from kafka_groups.sandbox.state_file import Node, SandboxState, write_state

_SECURE_PORTS = {"SASL_PLAINTEXT": 20002, "SSL": 20003, "SASL_SSL": 20004}


def specification(
    home: Path, *, port: int = 0, brokers: int = 1, heap_mb: int = 512, profile: bool = False
) -> SandboxSpec:
    return SandboxSpec(
        home=home,
        port=port,
        brokers=brokers,
        heap_mb=heap_mb,
        kafka_version="2.8.2",
        profile=profile,
    )


def present_sandbox(
    home: Path,
    *,
    profile: bool = False,
    complete: bool = False,
    data: bool = True,
    secure: bool = False,
    processes: dict[str, ProcessId] | None = None,
) -> SandboxDirectory:
    """Create a sandbox of one broker, with `processes` in its state."""
    directory = sandbox_directory("sandbox", home=home)
    directory.create()
    if data:
        directory.data("broker-1").mkdir(parents=True)
    state = SandboxState(
        kafka_version="2.8.2",
        cluster_id="c",
        java="java",
        jvm=(),
        nodes=(Node(id=1, port=9092, controller_port=20001, secure_ports=_SECURE_PORTS if secure else {}),),
        zookeeper_port=None,
        processes=processes or {},
        profile=profile,
        complete=complete,
    )
    write_state(directory, state)
    return directory
