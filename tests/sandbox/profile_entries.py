"""A sandbox's entry in a profiles file, and a file that has an entry of the user."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.profile import plain_profile, remove_profiles, require_available_names, write_profiles

USERS = """\
# my clusters
[prod]  # careful
"bootstrap.servers" = "kafka.example.com:9092"
"""


def write_profile(directory: SandboxDirectory, bootstrap: str, *, path: Path) -> None:
    write_profiles(directory, [plain_profile(directory, bootstrap)], path=path)


def remove_profile(directory: SandboxDirectory, bootstrap: str, *, path: Path) -> None:
    remove_profiles(directory, [plain_profile(directory, bootstrap)], path=path)


def require_available_name(directory: SandboxDirectory, *, path: Path) -> None:
    require_available_names(directory, [plain_profile(directory, "")], path=path)
