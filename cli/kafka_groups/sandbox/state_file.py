"""What a sandbox remembers about itself between two commands, as one JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.directory import Place
from kafka_groups.sandbox.ports import HOST
from kafka_groups.sandbox.processes import ProcessId

ZOOKEEPER = "zookeeper"
MEMBERS = "members"


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A broker's number and ports; `controller_port` is None where ZooKeeper is the controller's store."""

    id: int
    port: int
    controller_port: int | None

    @property
    def role(self) -> str:
        """Its name among the processes of the sandbox."""
        return f"broker-{self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A sandbox as it was started.

    `profile` says whether it was written to the user's profiles; `complete` turns true when `up` has done
    all that it does.
    """

    kafka_version: str
    cluster_id: str
    java: str
    jvm: tuple[str, ...]
    nodes: tuple[Node, ...]
    zookeeper_port: int | None
    processes: dict[str, ProcessId]
    profile: bool
    complete: bool = False

    @property
    def bootstrap(self) -> str:
        """The bootstrap server list of the cluster."""
        return ",".join(f"{HOST}:{node.port}" for node in self.nodes)


def read_record(place: Place) -> Record | None:
    """Return what is remembered, or None if there is no sandbox; SandboxError if it cannot be read."""
    try:
        text = place.record_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(place.record_file, error) from error
    try:
        fields = json.loads(text)
        fields["nodes"] = tuple(Node(**node) for node in fields["nodes"])
        fields["jvm"] = tuple(fields["jvm"])
        fields["processes"] = {role: ProcessId(**process) for role, process in fields["processes"].items()}
        return Record(**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(place.record_file, error) from error


def write_record(place: Place, record: Record) -> None:
    """Replace what is remembered, at once or not at all."""
    draft = place.record_file.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
        draft.replace(place.record_file)
    except OSError as error:
        msg = f"the sandbox's state {place.record_file} cannot be written: {error.strerror}"
        raise SandboxError(msg) from error


def _unreadable(path: Path, error: Exception) -> SandboxError:
    return SandboxError(
        f"the sandbox's state {path} cannot be read ({error}); end its Java processes by hand, "
        f"then delete {path.parent}"
    )
