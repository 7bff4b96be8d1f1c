"""The state of a sandbox, kept between two commands in one JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.files import read_regular, write_atomically
from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.ports import HOST
from kafka_groups.sandbox.processes import ProcessId

ZOOKEEPER = "zookeeper"
MEMBERS = "members"


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A broker's ID and ports; `controller_port` is None if the cluster uses ZooKeeper.

    `secure_ports` are those of the listeners with users, by their protocols.
    """

    id: int
    port: int
    controller_port: int | None
    secure_ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def role(self) -> str:
        """The name of the broker among the processes of the sandbox."""
        return f"broker-{self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxState:
    """A sandbox as it was started.

    `processes` maps roles to processes. `profile` is True if the sandbox was written to the user's profiles;
    `complete` is True once `up` has finished.
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

    @property
    def is_secure(self) -> bool:
        """Whether the brokers have listeners with users."""
        return any(node.secure_ports for node in self.nodes)

    def secure_servers(self) -> dict[str, str]:
        """Return the bootstrap server lists of the listeners with users, by their protocols."""
        protocols = self.nodes[0].secure_ports
        return {
            protocol: ",".join(f"{HOST}:{node.secure_ports[protocol]}" for node in self.nodes) for protocol in protocols
        }


def read_state(directory: SandboxDirectory) -> SandboxState | None:
    """Return the state of a sandbox, or None if there is no sandbox; raise SandboxError if it cannot be read."""
    try:
        text = read_regular(directory.state_file).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(directory.state_file, error) from error
    try:
        fields = json.loads(text)
        fields["nodes"] = tuple(Node(**node) for node in fields["nodes"])
        fields["jvm"] = tuple(fields["jvm"])
        fields["processes"] = {role: ProcessId(**process) for role, process in fields["processes"].items()}
        return SandboxState(**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(directory.state_file, error) from error


def write_state(directory: SandboxDirectory, state: SandboxState) -> None:
    """Replace the state of a sandbox in one step; raise SandboxError if it cannot be written."""
    try:
        write_atomically(directory.state_file, json.dumps(asdict(state), indent=1), is_read_back=True)
    except OSError as error:
        msg = (
            f"the sandbox's state {directory.state_file} cannot be written: {error.strerror}; "
            "check the permissions and the free space"
        )
        raise SandboxError(msg) from error


def _unreadable(path: Path, error: Exception) -> SandboxError:
    return SandboxError(
        f"the sandbox's state {path} cannot be read ({error}); end its Java processes by hand, "
        f"then delete {path.parent}"
    )
