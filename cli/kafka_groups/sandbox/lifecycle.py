"""The lifecycle of a sandbox: up, down, status, and single brokers; a lock allows one command at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.options.signals import defer_signals
from kafka_groups.sandbox.application_groups import application_programs, find_applications
from kafka_groups.sandbox.brokers import launch_broker, programs_of
from kafka_groups.sandbox.directory import SandboxDirectory, lock_sandbox, sandbox_directory
from kafka_groups.sandbox.jars import require_extra
from kafka_groups.sandbox.kafka import find_kafka
from kafka_groups.sandbox.processes import find_running, is_running, stop, wait_until
from kafka_groups.sandbox.profile import Profile, remove_profiles, require_available_names
from kafka_groups.sandbox.readiness import await_brokers
from kafka_groups.sandbox.security.listeners import PROTOCOLS
from kafka_groups.sandbox.security.secret_files import delete_key_set, renew_token, require_usable_path, token_expiry
from kafka_groups.sandbox.security.ways_in import sandbox_profiles
from kafka_groups.sandbox.startup import DEFAULT_NAME, MEMBERS_PROGRAM, START_TIMEOUT_S, SandboxSpec, start_sandbox
from kafka_groups.sandbox.state_file import MEMBERS, Node, SandboxState, read_state, write_state
from kafka_groups.sandbox.versions import KafkaVersion, parse_version

_MOST_BROKERS = 9
_LEAST_HEAP_MB = 128
_BROKER_GRACE_S = 20
# A JVM with much memory needed more than 3 s on a busy machine.
_RELEASE_TIMEOUT_S = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessStatus:
    """A process of a sandbox; `port` is None unless it is a broker."""

    role: str
    pid: int
    port: int | None
    running: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    """A sandbox and the current status of its processes.

    `runs_elsewhere` is True if another machine or another container runs it, whose processes are not visible here.
    `profiles` are the names in the user's profiles. With `--secure`, `secure_servers` has the bootstrap servers of the
    listeners with users by their protocols, and `token_expires_at` is the time in UTC at which its token expires.
    """

    name: str
    kafka_version: str
    bootstrap: str
    directory: Path
    processes: tuple[ProcessStatus, ...]
    seeded: bool
    complete: bool
    runs_elsewhere: bool
    profiles: tuple[str, ...] = ()
    secure_servers: Mapping[str, str] = field(default_factory=dict)
    token_expires_at: datetime | None = None

    @property
    def is_up(self) -> bool:
        """Whether the start finished and all processes still run."""
        return self.complete and all(process.running for process in self.processes)


def up(spec: SandboxSpec, *, report: Callable[[str], None] = lambda _: None) -> Sandbox:
    """Start a sandbox, wait until it is ready, and return it; a failed start leaves only its logs.

    A sandbox that is up already is returned unchanged, except that its token is renewed; an incomplete one is deleted
    first. Progress goes to `report`. Raises SandboxError if the sandbox cannot be started.
    """
    version = parse_version(spec.kafka_version)
    _require_possible(spec, version)
    directory = sandbox_directory(spec.name, home=spec.home)
    directory.require_usable()
    if spec.secure:
        require_usable_path(directory)
    with lock_sandbox(directory):
        present = read_state(directory)
        if present is not None and (sandbox := _describe(directory, present)).is_up:
            report(f"the sandbox '{spec.name}' is already up: Kafka {sandbox.kafka_version}")
            return _renew(directory, spec, present, report)
        if spec.profile:
            require_available_names(directory, _planned_profiles(directory, spec))
        if present is not None:
            report(f"deleting the sandbox '{spec.name}', which is incomplete")
        _delete(directory, keep_logs=False)
        kafka = find_kafka(version, report=report)
        applications = find_applications(version, report=report) if spec.seed else ()
        try:
            state = start_sandbox(directory, spec, kafka, applications=applications, report=report)
        except BaseException as error:  # an interrupt, too, must leave no process behind
            with defer_signals(is_interruptible=False):  # a second Ctrl-C
                _delete(directory, keep_logs=isinstance(error, Exception))
            raise
        return _describe(directory, state)


def down(name: str = DEFAULT_NAME, *, home: Path | None = None) -> bool:
    """End every process of a sandbox and delete its data; return False if there was no sandbox."""
    directory = sandbox_directory(name, home=home)
    if not directory.path.exists():
        return False
    require_extra()
    with lock_sandbox(directory):
        existed = directory.state_file.exists()
        _delete(directory, keep_logs=False)
    return existed


def status(name: str = DEFAULT_NAME, *, home: Path | None = None) -> Sandbox | None:
    """Return a sandbox with its current status, or None if there is none."""
    directory = sandbox_directory(name, home=home)
    state = read_state(directory)
    if state is None:
        return None
    require_extra()
    return _describe(directory, state)


def stop_broker(number: int, name: str = DEFAULT_NAME, *, home: Path | None = None) -> None:
    """Shut one broker down; its port and data stay for `start_broker`.

    Raises SandboxError if there is no such broker.
    """
    directory = sandbox_directory(name, home=home)
    require_extra()
    with lock_sandbox(directory):
        state, node = _find_broker(directory, number)
        stop([state.processes[node.role]], grace_s=_BROKER_GRACE_S)


def start_broker(number: int, name: str = DEFAULT_NAME, *, home: Path | None = None) -> None:
    """Start a broker that `stop_broker` shut down, and wait until it is in the cluster again.

    Raises SandboxError if there is no such broker, or if it does not start.
    """
    directory = sandbox_directory(name, home=home)
    require_extra()
    with lock_sandbox(directory):
        state, node = _find_broker(directory, number)
        if is_running(state.processes[node.role]):
            return
        kafka = find_kafka(parse_version(state.kafka_version), report=lambda _: None)
        with defer_signals(is_interruptible=False):
            # Incomplete meanwhile, so `down` searches for the broker if this process is killed before the next write.
            write_state(directory, replace(state, complete=False))
            process = launch_broker(directory, kafka, node, jvm=state.jvm)
            state = replace(state, processes={**state.processes, node.role: process}, complete=True)
            write_state(directory, state)
        await_brokers(directory, state, [node], timeout_s=START_TIMEOUT_S)


def _require_possible(spec: SandboxSpec, version: KafkaVersion) -> None:
    if os.name != "posix":
        raise SandboxError("the sandbox runs on Linux and macOS only; on Windows, use it in WSL")
    require_extra()
    if not 1 <= spec.brokers <= _MOST_BROKERS:
        msg = f"a sandbox has 1 to {_MOST_BROKERS} brokers, not {spec.brokers}; give another --brokers"
        raise SandboxError(msg)
    if spec.heap_mb < _LEAST_HEAP_MB:
        msg = f"a broker needs a heap of at least {_LEAST_HEAP_MB} MB, not {spec.heap_mb}; give a larger --heap"
        raise SandboxError(msg)
    if spec.secure and not version.has_jwks:
        msg = f"a sandbox with --secure needs Kafka 4.0.0 or newer, not {version}; give another --kafka-version"
        raise SandboxError(msg)


def _renew(
    directory: SandboxDirectory, spec: SandboxSpec, state: SandboxState, report: Callable[[str], None]
) -> Sandbox:
    """Renew the token of a sandbox that is up; raise SandboxError if it has no users and the spec wants them."""
    if state.is_secure:
        renew_token(directory, now=datetime.now(UTC))
        report("renewed the token of the user admin")
    elif spec.secure:
        msg = f"the sandbox '{directory.name}' is up without --secure; end it first, or give another --name"
        raise SandboxError(msg)
    return _describe(directory, state)


def _planned_profiles(directory: SandboxDirectory, spec: SandboxSpec) -> tuple[Profile, ...]:
    """Return the profiles that a start would write, without the addresses, which are not chosen yet."""
    return sandbox_profiles(directory, "", dict.fromkeys(PROTOCOLS if spec.secure else (), ""))


def _profiles(directory: SandboxDirectory, state: SandboxState) -> tuple[Profile, ...]:
    return sandbox_profiles(directory, state.bootstrap, state.secure_servers()) if state.profile else ()


def _find_broker(directory: SandboxDirectory, number: int) -> tuple[SandboxState, Node]:
    state = read_state(directory)
    for node in () if state is None else state.nodes:
        if state is not None and node.id == number:
            return state, node
    msg = f"the sandbox '{directory.name}' has no broker {number}"
    raise SandboxError(msg)


def _delete(directory: SandboxDirectory, *, keep_logs: bool) -> None:
    state = read_state(directory)
    if state is not None:
        _kill(directory, state)
        _require_unused(directory, state)
    # First, because a `down` that fails here or is killed can be repeated only while the state file exists.
    if state is not None and state.profile:
        remove_profiles(directory, _profiles(directory, state))
    if state is not None and state.is_secure:
        delete_key_set(directory)
    directory.clear(keep_logs=keep_logs)


def _kill(directory: SandboxDirectory, state: SandboxState) -> None:
    # Processes are killed at once: a clean shutdown only protects data, which is deleted afterwards.
    stop(state.processes.values(), grace_s=0)
    if not state.complete:
        # A start that was killed may have started a process that is not in its state. The first that is found may be
        # the shell that is about to start it.
        applications = application_programs(directory)
        programs = {**programs_of(directory, state), **applications, directory.seed_file: MEMBERS_PROGRAM}
        while unrecorded := find_running(programs):
            stop(unrecorded, grace_s=0)


def _require_unused(directory: SandboxDirectory, state: SandboxState) -> None:
    # A directory may be shared by machines or containers, which do not see each other's processes.
    used: list[str] = []

    def is_unused() -> bool:
        used[:] = [node.role for node in state.nodes if directory.is_in_use(node.role)]
        return not used

    # A killed JVM counts as ended before its last thread has released the lock.
    if not wait_until(is_unused, timeout_s=_RELEASE_TIMEOUT_S):
        msg = (
            f"{used[0]} in {directory.path} runs on another machine or in another container; "
            "end the sandbox there, or give another --name or --dir"
        )
        raise SandboxError(msg)


def _describe(directory: SandboxDirectory, state: SandboxState) -> Sandbox:
    ports = {node.role: node.port for node in state.nodes}
    return Sandbox(
        name=directory.name,
        kafka_version=state.kafka_version,
        bootstrap=state.bootstrap,
        directory=directory.path,
        processes=tuple(
            ProcessStatus(role=role, pid=process.pid, port=ports.get(role), running=is_running(process))
            for role, process in state.processes.items()
        ),
        seeded=MEMBERS in state.processes,
        complete=state.complete,
        runs_elsewhere=state.complete and any(_is_elsewhere(directory, state, node) for node in state.nodes),
        profiles=tuple(profile.name for profile in _profiles(directory, state)),
        secure_servers=state.secure_servers(),
        token_expires_at=token_expiry(directory) if state.is_secure else None,
    )


def _is_elsewhere(directory: SandboxDirectory, state: SandboxState, node: Node) -> bool:
    return not (node.role in state.processes and is_running(state.processes[node.role])) and directory.is_in_use(
        node.role
    )
