"""The nodes of a sandbox: their files, their processes, and the last error in their logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_groups.files import write_atomically
from kafka_groups.sandbox.configuration import (
    as_properties,
    broker_properties,
    logging_settings,
    merge_properties,
    zookeeper_properties,
)
from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.kafka import BROKER, ZOOKEEPER, Kafka, bootstrap_checkpoint, jvm_environment, jvm_options
from kafka_groups.sandbox.processes import ProcessId, start
from kafka_groups.sandbox.security.listeners import secure_properties
from kafka_groups.sandbox.security.secret_files import secret_files
from kafka_groups.sandbox.state_file import ZOOKEEPER as ZOOKEEPER_ROLE
from kafka_groups.sandbox.state_file import Node, SandboxState

_ZOOKEEPER_JVM = jvm_options(heap_mb=256, optimised=False)

_ROOT_CAUSE = "Caused by: "
# Marks of the line that explains why a process ended, best first: the root of a stack trace, an error, any line.
_ERROR_MARKS = (_ROOT_CAUSE, " FATAL ", " ERROR ", "Invalid maximum heap size", "Error", "")
_REASON_FOLLOWS = "Error occurred during initialization of VM"


def prepare(directory: SandboxDirectory, state: SandboxState, kafka: Kafka, properties: Mapping[str, str]) -> None:
    """Write the settings of all nodes, add `properties` to those of the brokers, and format the storage.

    Raises SandboxError if a file cannot be written.
    """
    checkpoint = bootstrap_checkpoint(kafka) if state.zookeeper_port is None else None
    with directory.report_write_errors():
        _write_files(directory, state, kafka, properties, checkpoint)


def launch_zookeeper(directory: SandboxDirectory, kafka: Kafka) -> ProcessId:
    """Start the ZooKeeper that old brokers need; the brokers wait for it themselves."""
    return _launch(directory, kafka, ZOOKEEPER_ROLE, main=ZOOKEEPER, jvm=_ZOOKEEPER_JVM)


def launch_broker(directory: SandboxDirectory, kafka: Kafka, node: Node, *, jvm: Sequence[str]) -> ProcessId:
    """Start one broker on the files that `prepare` wrote, or on its data from before it was stopped."""
    return _launch(directory, kafka, node.role, main=BROKER, jvm=jvm)


def programs_of(directory: SandboxDirectory, state: SandboxState) -> dict[Path, str]:
    """Return the main classes that ZooKeeper and the brokers run, by the last arguments of their command lines."""
    brokers = {directory.settings(node.role): BROKER for node in state.nodes}
    return {directory.settings(ZOOKEEPER_ROLE): ZOOKEEPER, **brokers}


def last_error(directory: SandboxDirectory, role: str) -> str:
    """Return the line of a process's log or output that best explains why it ended, and the path of that file."""
    lines_of = {path: _lines(path) for path in (directory.log(role), directory.output(role))}
    for mark in _ERROR_MARKS:
        for path, lines in lines_of.items():
            if marked := [number for number, line in enumerate(lines) if mark in line]:
                return f"{_sentence_at(lines, marked[-1])} (more in {path})"
    return f"it wrote no log and no output (logs are in {directory.logs})"


def _sentence_at(lines: Sequence[str], number: int) -> str:
    line = lines[number].strip().removeprefix(_ROOT_CAUSE)
    if line == _REASON_FOLLOWS and number + 1 < len(lines):
        return f"{line}: {lines[number + 1].strip()}"
    return line


def _write_files(
    directory: SandboxDirectory,
    state: SandboxState,
    kafka: Kafka,
    properties: Mapping[str, str],
    checkpoint: Path | None,
) -> None:
    write_atomically(_logging_file(directory, kafka), logging_settings(kafka.version).server)
    if state.zookeeper_port is not None:
        data = directory.data(ZOOKEEPER_ROLE)
        settings = zookeeper_properties(state.zookeeper_port, data=data)
        _write_settings(directory, ZOOKEEPER_ROLE, settings)
    for node in state.nodes:
        data = directory.data(node.role)
        settings = broker_properties(state, node, kafka=kafka.version, data=data)
        if node.secure_ports:
            settings = merge_properties(settings, secure_properties(node, secret_files(directory)))
        _write_settings(directory, node.role, merge_properties(settings, properties))
        if state.zookeeper_port is None:
            identity = {"version": "1", "cluster.id": state.cluster_id, "node.id": str(node.id)}
            write_atomically(data / "meta.properties", as_properties(identity).encode("latin-1"))
        if checkpoint is not None:
            target = data / kafka.version.bootstrap_checkpoint
            target.parent.mkdir(exist_ok=True)
            write_atomically(target, checkpoint.read_bytes())


def _launch(directory: SandboxDirectory, kafka: Kafka, role: str, *, main: str, jvm: Sequence[str]) -> ProcessId:
    command = kafka.command(
        main,
        directory.settings(role),
        jvm=jvm,
        properties={
            logging_settings(kafka.version).option: _logging_file(directory, kafka).as_uri(),
            "sandbox.log": directory.log(role),
            "zookeeper.forceSync": "no",  # a sandbox need not survive a power cut
        },
    )
    return start(command, output=directory.output(role), environment=jvm_environment())


def _write_settings(directory: SandboxDirectory, role: str, settings: dict[str, str]) -> None:
    directory.data(role).mkdir(parents=True, exist_ok=True)
    write_atomically(directory.settings(role), as_properties(settings).encode("latin-1"))


def _logging_file(directory: SandboxDirectory, kafka: Kafka) -> Path:
    return directory.path / f"logging{logging_settings(kafka.version).suffix}"


def _lines(path: Path) -> Sequence[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]
