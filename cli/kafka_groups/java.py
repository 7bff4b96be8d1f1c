"""Java installations on this machine: their paths, versions and modules."""

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
    """A path where a Java may be, and the source of that path as a text for errors."""

    path: Path
    source: str


def installed_javas(environment: Mapping[str, str]) -> Iterator[Candidate]:
    """Return the Java of JAVA_HOME, then the one of PATH; neither is known to start."""
    if home := environment.get("JAVA_HOME"):
        yield Candidate(path=Path(home, "bin", "java"), source=f"JAVA_HOME ({home})")
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Candidate(path=Path(on_path), source=f"PATH ({on_path})")


def java_version(java: Path) -> int | None:
    """Return the feature release of a Java (8 for 1.8), or None if it does not start."""
    finished = _run(java, "-version")
    match = re.search(r'version "(?:1\.)?(\d+)', finished.stderr.decode(errors="replace")) if finished else None
    return int(match[1]) if match else None


def java_modules(java: Path) -> frozenset[str]:
    """Return the names of a Java's modules; empty if it does not start or is older than Java 9."""
    finished = _run(java, "--list-modules")
    lines = finished.stdout.decode(errors="replace").splitlines() if finished else []
    return frozenset(line.partition("@")[0].strip() for line in lines)


def _run(java: Path, argument: str) -> subprocess.CompletedProcess[bytes] | None:
    try:
        finished = subprocess.run([java, argument], capture_output=True, check=False, timeout=_PROBE_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished if finished.returncode == 0 else None
