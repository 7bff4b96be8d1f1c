"""Commands of `kafka-groups sandbox`, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

KAFKA_GROUPS = [sys.executable, "-m", "kafka_groups"]


class Shell:
    """A runner of `kafka-groups sandbox` with a directory and a profiles file of its own."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "sandboxes"
        self.config = directory / "config"
        self.profiles = self.config / "kafka-groups" / "profiles.toml"
        self.environment = {**os.environ, "XDG_CONFIG_HOME": str(self.config)}

    def command(self, action: str, *options: str) -> list[str]:
        return [*KAFKA_GROUPS, "sandbox", action, "--dir", str(self.home), *options]

    def run(self, action: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(action, *options),
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
            env=self.environment,
        )

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", "--format", "json").stdout)
        return found

    def run_with_profile(self, profile: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the cluster of a profile."""
        return subprocess.run(
            [*KAFKA_GROUPS, *arguments, "--profile", profile],
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
            env=self.environment,
        )
