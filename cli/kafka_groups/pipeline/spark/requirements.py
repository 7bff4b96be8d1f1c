"""What has to be there before Spark can start: pyspark, what Spark Connect needs besides, a server that responds."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from kafka_groups.errors import PipelineError, SparkMissingError

_LEAST: Final = (4, 2)
_CONNECT: Final = ("grpc", "grpc_status", "google.rpc", "pandas", "pyarrow")
_CONNECT_PORT: Final = 15_002
_STANDALONE: Final = "spark://"
_PATIENCE_S: Final = 10.0


def check_pyspark() -> str:
    """Return pyspark's version; SparkMissingError if it is not installed or too old."""
    try:
        version = str(import_module("pyspark.version").__version__)
    except ImportError as error:
        raise SparkMissingError("pyspark is not installed; run pip install 'kafka-groups[spark]'") from error
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < _LEAST:
        msg = f"pyspark {version} is too old: 4.2 or newer is needed; run pip install --upgrade 'kafka-groups[spark]'"
        raise SparkMissingError(msg)
    return version


def check_connect() -> None:
    """Raise SparkMissingError if what Spark Connect needs is not installed."""
    missing = [name for name in _CONNECT if not _is_there(name)]
    if missing:
        names = ", ".join(missing)
        msg = f"--remote needs Spark Connect's packages ({names} missing); run pip install 'kafka-groups[connect]'"
        raise SparkMissingError(msg)


def check_answers(remote: str, environment: Mapping[str, str]) -> None:
    """Raise PipelineError if the URL is none, or nothing listens there: Spark's client would try for minutes."""
    if remote.startswith("local"):
        return
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port or _CONNECT_PORT
    except ValueError:  # a port that is none, a bracket that is not closed
        parts, host, port = urlsplit(""), None, _CONNECT_PORT
    if parts.scheme != "sc" or not host:
        # What follows may hold a token.
        shown = remote.partition(";")[0]
        msg = f"{shown!r} is not a Spark Connect URL; write for example sc://host:15002"
        raise PipelineError(msg)
    if any(
        environment.get(name) or environment.get(name.upper()) for name in ("grpc_proxy", "https_proxy", "http_proxy")
    ):
        # The client goes through the proxy, so whether we get there says nothing.
        return
    if why := _why_silent((host, port)):
        msg = f"cannot connect to the Spark Connect server {host}:{port}: {why}; check --remote and the server"
        raise PipelineError(msg)


def check_master(master: str) -> None:
    """Raise PipelineError if nothing listens at any address of a `spark://` master: Spark would try for a minute.

    Other masters are left to Spark.
    """
    if not master.startswith(_STANDALONE):
        return
    silent: list[str] = []
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        why = _why_silent((host.strip("[]"), int(port))) if port.isdecimal() else "it has no port"
        if why is None:
            return
        silent.append(f"{address}: {why}")
    msg = f"cannot connect to a Spark master: {'; '.join(silent)}; check --master and the master"
    raise PipelineError(msg)


def _why_silent(address: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(address, timeout=_PATIENCE_S).close()
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
