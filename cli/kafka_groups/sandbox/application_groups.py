"""The Kafka Streams application and the Connect workers of a seeded sandbox: their start, topics and connectors."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.files import write_atomically
from kafka_groups.sandbox.applications import (
    CONNECT_WORKER,
    COUNTS_TOPIC,
    WORD_COUNT,
    WORDS_TOPIC,
    application_line,
    connect_properties,
    sink_config,
    source_config,
    streams_properties,
)
from kafka_groups.sandbox.artifacts import Artifacts, connect_artifacts, streams_artifacts
from kafka_groups.sandbox.brokers import last_error
from kafka_groups.sandbox.configuration import as_properties, logging_settings
from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.kafka import Kafka, find_program, jvm_environment
from kafka_groups.sandbox.ports import free_ports
from kafka_groups.sandbox.processes import ProcessId, is_running, start
from kafka_groups.sandbox.state_file import SandboxState
from kafka_groups.sandbox.versions import KafkaVersion

STREAMS_GROUP = "word-counter"
CONNECT_GROUP = "shop-connect"
_STREAMS, _WORKER = "streams-application", "connect-worker"
_FIRST_WORKER = f"{_WORKER}-1"
_SOURCE, _SINK = "price-list", "order-archive"
_TOPICS = (WORDS_TOPIC, COUNTS_TOPIC, "prices")
_PARTITIONS = 2
# Without a second instance the Streams application would have no standbys. A second worker would delay the start.
_INSTANCES = {_STREAMS: (1, 2), _WORKER: (1,)}
_MAINS = {_STREAMS: WORD_COUNT, _WORKER: CONNECT_WORKER}
_LINES = "".join(f"item {number}\n" for number in range(40))
_POLL_S = 0.1
_REST_TIMEOUT_S = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Application:
    """A program whose instances are the members of one group; `role` begins the roles of its processes."""

    role: str
    kafka: Kafka
    groups: tuple[str, ...]

    def roles(self) -> dict[str, int]:
        """Return the numbers of its instances by their roles."""
        return {f"{self.role}-{number}": number for number in _INSTANCES[self.role]}


def find_applications(version: KafkaVersion, *, report: Callable[[str], None]) -> tuple[Application, ...]:
    """Return the applications of a version, and download them if they are missing; none before streams groups.

    An application that cannot be downloaded is reported and skipped.
    """
    if not version.has_streams_groups:
        return ()
    found = [
        _find(_STREAMS, streams_artifacts(version), (STREAMS_GROUP,), report),
        _find(_WORKER, connect_artifacts(version), (CONNECT_GROUP, f"connect-{_SINK}"), report),
    ]
    return tuple(application for application in found if application is not None)


def prepare_applications(directory: SandboxDirectory, state: SandboxState, applications: Sequence[Application]) -> None:
    """Create the topics of applications and write their settings; raise SandboxError if either fails."""
    if not applications:
        return
    _create_topics(state)
    with directory.report_write_errors():
        for application in applications:
            for role, number in application.roles().items():
                _write_files(directory, application, role, _settings(directory, state, role, number))


def launch_application(directory: SandboxDirectory, application: Application, role: str) -> ProcessId:
    """Start one instance on the files that `prepare_applications` wrote."""
    line = application_line(
        application.kafka,
        _MAINS[application.role],
        directory.settings(role),
        logging=_logging_file(directory, application, role),
        log=directory.log(role),
    )
    return start(line, output=directory.output(role), environment=jvm_environment())


def application_programs(directory: SandboxDirectory) -> dict[Path, str]:
    """Return the main classes that instances run, by the last arguments of their command lines."""
    return {
        directory.settings(f"{role}-{number}"): _MAINS[role]
        for role, numbers in _INSTANCES.items()
        for number in numbers
    }


def await_applications(
    directory: SandboxDirectory, state: SandboxState, applications: Sequence[Application], *, timeout_s: float
) -> None:
    """Create the connectors, and wait until the groups of all applications are Stable; raise SandboxError if not."""
    from kafka_groups.admin import GroupAdmin
    from kafka_groups.settings import ConnectionSettings, parse_bootstrap

    deadline = time.monotonic() + timeout_s
    missing = {group for application in applications for group in application.groups}
    connectors = _connectors(directory) if CONNECT_GROUP in missing else {}
    with GroupAdmin(ConnectionSettings(bootstrap=parse_bootstrap(state.bootstrap))) as admin:
        while missing or connectors:
            _require_running(directory, state, applications)
            if time.monotonic() > deadline:
                msg = f"the groups of the sandbox's applications are not ready after {timeout_s:.0f} s: "
                raise SandboxError(msg + ", ".join(sorted([*missing, *connectors])) + "; try --no-seed")
            connectors = {name: config for name, config in connectors.items() if not _create(directory, name, config)}
            missing -= admin.list_groups(states=["Stable"]).succeeded.keys()
            time.sleep(_POLL_S)


def _find(
    role: str, artifacts: Artifacts, groups: tuple[str, ...], report: Callable[[str], None]
) -> Application | None:
    try:
        kafka = find_program(artifacts, report=report)
    except SandboxError as error:
        report(f"the sandbox starts without {artifacts.name}: {error}")
        return None
    return Application(role=role, kafka=kafka, groups=groups)


def _create_topics(state: SandboxState) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    client = AdminClient({"bootstrap.servers": state.bootstrap, "log_level": 0})
    copies = min(len(state.nodes), 3)
    try:
        for created in client.create_topics([NewTopic(name, _PARTITIONS, copies) for name in _TOPICS]).values():
            created.result(timeout=30)
    except KafkaException as error:
        msg = f"the topics of the sandbox's applications cannot be created: {error}; try --no-seed"
        raise SandboxError(msg) from error


def _settings(directory: SandboxDirectory, state: SandboxState, role: str, number: int) -> dict[str, str]:
    if role.startswith(_STREAMS):
        return streams_properties(state.bootstrap, STREAMS_GROUP, number, state=directory.data(role))
    port, copies = free_ports(1)[0], min(len(state.nodes), 3)
    return connect_properties(state.bootstrap, CONNECT_GROUP, number, port=port, copies=copies)


def _write_files(directory: SandboxDirectory, application: Application, role: str, settings: Mapping[str, str]) -> None:
    directory.data(role).mkdir(parents=True, exist_ok=True)
    text = logging_settings(application.kafka.version).server
    write_atomically(_logging_file(directory, application, role), text)
    write_atomically(directory.settings(role), as_properties(settings).encode("latin-1"))


def _logging_file(directory: SandboxDirectory, application: Application, role: str) -> Path:
    return directory.node(role) / f"logging{logging_settings(application.kafka.version).suffix}"


def _connectors(directory: SandboxDirectory) -> dict[str, dict[str, str]]:
    """Write the file that the source reads, and return the configurations of both connectors."""
    files = directory.node(_FIRST_WORKER)
    with directory.report_write_errors():
        write_atomically(files / "prices.txt", _LINES)
    source = source_config(files / "prices.txt", "prices")
    return {_SOURCE: source, _SINK: sink_config(files / "orders.txt", "orders", tasks=2)}


def _create(directory: SandboxDirectory, name: str, config: Mapping[str, str]) -> bool:
    """Create a connector, and return whether the first worker accepted it: it refuses during a rebalance."""
    import javaproperties

    with directory.settings(_FIRST_WORKER).open(encoding="latin-1") as file:
        listener = javaproperties.load(file)["listeners"]
    request = urllib.request.Request(  # noqa: S310 - the scheme is in our settings
        f"{listener.lower()}/connectors/{name}/config",
        data=json.dumps(config).encode(),
        method="PUT",
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_REST_TIMEOUT_S):  # noqa: S310
            return True
    except OSError:  # also those of urllib and timeouts
        return False


def _require_running(directory: SandboxDirectory, state: SandboxState, applications: Sequence[Application]) -> None:
    for role in (role for application in applications for role in application.roles()):
        if not is_running(state.processes[role]):
            msg = f"{role} ended while it started: {last_error(directory, role)}; try --no-seed"
            raise SandboxError(msg)
