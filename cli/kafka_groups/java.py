"""Javas on this machine: where they may be, and which ones they are."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROBE_TIMEOUT_S = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A Java that may be there, and the words for where it was looked for."""

    path: Path
    source: str


def installed_javas(environment: Mapping[str, str]) -> Iterator[Candidate]:
    """What JAVA_HOME names, then what PATH finds; whether they start is another question."""
    if home := environment.get("JAVA_HOME"):
        yield Candidate(path=Path(home, "bin", "java"), source=f"JAVA_HOME ({home})")
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Candidate(path=Path(on_path), source=f"PATH ({on_path})")


def java_version(java: Path) -> int | None:
    """Return the feature release of a Java (8 for 1.8), or None if it does not start."""
    done = _run(java, "-version")
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr.decode(errors="replace")) if done else None
    return int(match[1]) if match else None


def java_modules(java: Path) -> frozenset[str]:
    """Return the names of a Java's modules; none if it does not start or is from before there were modules."""
    done = _run(java, "--list-modules")
    lines = done.stdout.decode(errors="replace").splitlines() if done else []
    return frozenset(line.partition("@")[0].strip() for line in lines)


def _run(java: Path, argument: str) -> subprocess.CompletedProcess[bytes] | None:
    try:
        done = subprocess.run([java, argument], capture_output=True, check=False, timeout=_PROBE_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done if done.returncode == 0 else None
