"""Up, down and status: what may be done to a sandbox, one command at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.brokers import launch_broker
from kafka_groups.sandbox.directory import Place, at_work, place_of
from kafka_groups.sandbox.jars import require_extra
from kafka_groups.sandbox.kafka import find_kafka
from kafka_groups.sandbox.processes import is_running, stop, uninterrupted
from kafka_groups.sandbox.profile import remove_profile
from kafka_groups.sandbox.readiness import await_brokers
from kafka_groups.sandbox.startup import DEFAULT_NAME, START_TIMEOUT_S, Wanted, start_sandbox
from kafka_groups.sandbox.state_file import MEMBERS, Node, Record, read_record, write_record
from kafka_groups.sandbox.versions import parse_version

_MOST_BROKERS = 9
_LEAST_HEAP_MB = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One process of a sandbox; `port` is a broker's."""

    role: str
    pid: int
    port: int | None
    running: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    """A sandbox as it is now."""

    name: str
    kafka_version: str
    bootstrap: str
    directory: Path
    parts: tuple[Part, ...]
    seeded: bool
    complete: bool

    @property
    def is_up(self) -> bool:
        """Whether it was started to the end and all of it still runs."""
        return self.complete and all(part.running for part in self.parts)


def up(wanted: Wanted, *, tell: Callable[[str], None] = lambda _: None) -> Sandbox:
    """Start a sandbox and return when it answers, seeded if wanted; a failed start leaves only its logs.

    One that is up already is returned as it is; what is left of one that died is cleared first.
    """
    _require_possible(wanted)
    version = parse_version(wanted.kafka_version)
    place = place_of(wanted.name, home=wanted.home)
    with at_work(place):
        present = read_record(place)
        if present is not None and (now := _describe(place, present)).is_up:
            tell(f"the sandbox '{wanted.name}' is already up: Kafka {now.kafka_version}")
            return now
        if present is not None:
            tell(f"clearing what is left of the sandbox '{wanted.name}', which was not whole")
        _end(place, keep_logs=False)
        kafka = find_kafka(version, tell=tell)
        try:
            record = start_sandbox(place, wanted, kafka, tell=tell)
        except BaseException as error:  # an interrupt, too, must leave no process behind
            _end(place, keep_logs=isinstance(error, Exception))
            raise
        return _describe(place, record)


def down(name: str = DEFAULT_NAME, *, home: Path | None = None) -> bool:
    """End every process of a sandbox and delete its data; False if there was none."""
    place = place_of(name, home=home)
    if not place.directory.exists():
        return False
    with at_work(place):
        was_there = place.record_file.exists()
        _end(place, keep_logs=False)
    return was_there


def status(name: str = DEFAULT_NAME, *, home: Path | None = None) -> Sandbox | None:
    """Return a sandbox as it is now, or None if there is none."""
    place = place_of(name, home=home)
    record = read_record(place)
    return None if record is None else _describe(place, record)


def stop_broker(number: int, name: str = DEFAULT_NAME, *, home: Path | None = None) -> None:
    """End one broker as an operator would; its port and data stay for `start_broker`."""
    place = place_of(name, home=home)
    with at_work(place):
        record, node = _broker(place, number)
        stop([record.processes[node.role]], grace_s=20)


def start_broker(number: int, name: str = DEFAULT_NAME, *, home: Path | None = None) -> None:
    """Start a broker that `stop_broker` ended, and return when it is in the cluster again."""
    place = place_of(name, home=home)
    with at_work(place):
        record, node = _broker(place, number)
        if is_running(record.processes[node.role]):
            return
        kafka = find_kafka(parse_version(record.kafka_version), tell=lambda _: None)
        with uninterrupted():
            process = launch_broker(place, kafka, node, jvm=record.jvm)
            record = replace(record, processes={**record.processes, node.role: process})
            write_record(place, record)
        await_brokers(place, record, [node], timeout_s=START_TIMEOUT_S)


def _require_possible(wanted: Wanted) -> None:
    if os.name != "posix":
        raise SandboxError("the sandbox runs on Linux and macOS only; on Windows, use it in WSL")
    require_extra()
    if not 1 <= wanted.brokers <= _MOST_BROKERS:
        msg = f"a sandbox has 1 to {_MOST_BROKERS} brokers, not {wanted.brokers}"
        raise SandboxError(msg)
    if wanted.heap_mb < _LEAST_HEAP_MB:
        msg = f"a broker needs a heap of {_LEAST_HEAP_MB} MB at least, not {wanted.heap_mb}"
        raise SandboxError(msg)


def _broker(place: Place, number: int) -> tuple[Record, Node]:
    record = read_record(place)
    for node in () if record is None else record.nodes:
        if record is not None and node.id == number:
            return record, node
    msg = f"the sandbox '{place.name}' has no broker {number}"
    raise SandboxError(msg)


def _end(place: Place, *, keep_logs: bool) -> None:
    record = read_record(place)
    if record is not None:
        # Nothing of a sandbox is worth waiting for: its data goes with it.
        stop(record.processes.values(), grace_s=0)
    place.clear(keep_logs=keep_logs)
    if record is not None and record.profile:
        remove_profile(place.name, record.bootstrap)


def _describe(place: Place, record: Record) -> Sandbox:
    ports = {node.role: node.port for node in record.nodes}
    return Sandbox(
        name=place.name,
        kafka_version=record.kafka_version,
        bootstrap=record.bootstrap,
        directory=place.directory,
        parts=tuple(
            Part(role=role, pid=process.pid, port=ports.get(role), running=is_running(process))
            for role, process in record.processes.items()
        ),
        seeded=MEMBERS in record.processes,
        complete=record.complete,
    )
