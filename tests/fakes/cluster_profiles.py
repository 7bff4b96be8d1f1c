"""Profiles of scripted clusters, and runs of commands on them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.command_line import Outcome, run
from tests.fakes.scripted_cluster import ScriptedCluster


class ClusterProfiles:
    """A profiles file in a directory of its own; `add` names a cluster or an address in it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "kafka-groups" / "profiles.toml"
        self._path.parent.mkdir()
        self._path.touch(mode=0o600)

    def add(self, name: str, cluster: ScriptedCluster | str, more: Mapping[str, str] | None = None) -> None:
        """Add a profile, with more properties."""
        address = cluster if isinstance(cluster, str) else str(cluster.addresses[1])
        properties = {"bootstrap.servers": address, **(more or {})}
        table = "".join(f'"{key}" = "{value}"\n' for key, value in properties.items())
        with self._path.open("a") as file:
            file.write(f"[{name}]\n{table}")

    def run(self, *arguments: str, **environment: str) -> Outcome:
        """Run `kafka-groups` with these profiles, and without a bootstrap server.

        A refused connection is repeated for a tenth of the timeout: half a second instead of three.
        """
        variables = {"KAFKA_GROUPS_TIMEOUT": "5s", "XDG_CONFIG_HOME": str(self._directory), **environment}
        return run(*arguments, bootstrap=None, **variables)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `kafka-groups` with these profiles in a process of its own; its output is piped."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
        return subprocess.Popen(
            [sys.executable, "-m", "kafka_groups", *arguments],
            env={**inherited, "XDG_CONFIG_HOME": str(self._directory)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
