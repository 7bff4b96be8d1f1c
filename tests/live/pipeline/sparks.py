"""Sparks that are somewhere else: a Spark Connect server and a cluster of some workers, from pyspark's own wheel."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from kafka_groups.pipeline.spark.requirements import find_java, home_of
from kafka_groups.sandbox.ports import free_ports
from tests.live.groups.conditions import wait_until
from tests.spark_archive import OPTIONS_VARIABLE

_HOME = Path(pyspark.__file__).parent
_LOOPBACK = "127.0.0.1"
_START_S = 180
_END_S = 90


def environment() -> dict[str, str]:
    """What a Spark of these tests finds, and a command that uses it."""
    java = home_of(find_java(os.environ))
    reported = {"SPARK_HOME": str(_HOME), "SPARK_LOCAL_IP": _LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    return os.environ | reported | ({"JAVA_HOME": str(java)} if java else {})


@contextmanager
def connect_server(home: Path) -> Iterator[str]:
    """The URL of a server whose working directory is `home`."""
    (port,) = free_ports(1)
    options = {"ui.enabled": "false", "connect.grpc.binding.address": _LOOPBACK, "connect.grpc.binding.port": port}
    flags = [word for name, value in options.items() for word in ("--conf", f"spark.{name}={value}")]
    server = ["spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with _running(home, [*server, "--master", "local[2]", "--driver-memory", "1g", *flags], port):
        yield f"sc://{_LOOPBACK}:{port}"


@contextmanager
def standalone(home: Path, *, workers: int = 1) -> Iterator[str]:
    """The URL of a master that has so many workers, whose files go below `home`, each in a directory of its own."""
    port, also, *reached = free_ports(2 + workers)
    url = f"spark://{_LOOPBACK}:{port}"
    at = ["--host", _LOOPBACK, "--webui-port"]
    master = ["spark-class", "org.apache.spark.deploy.master.Master", "--port", str(port), *at, str(also)]
    worker = ["spark-class", "org.apache.spark.deploy.worker.Worker", url, *at, "0", "--memory", "1g"]
    worker += ["--cores", str(4 // workers)]
    with ExitStack() as stack:
        stack.enter_context(_running(home, master, port))
        for number, its_port in enumerate(reached):
            own = ["--port", str(its_port), "--work-dir", str(home / f"worker-{number}")]
            stack.enter_context(_running(home, [*worker, *own], its_port))
        yield url


@contextmanager
def _running(home: Path, command: Sequence[str], port: int) -> Iterator[None]:
    program, *rest = command
    # Masters, workers and executors start with the archive of classes, too.
    variables = environment() | {"JDK_JAVA_OPTIONS": os.environ.get(OPTIONS_VARIABLE, "")}
    log = home / f"{port}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [str(_HOME / "bin" / program), *rest], cwd=home, env=variables, stdout=stream, stderr=stream
        )
    try:
        wait_until(
            lambda: process.poll() is not None or _listens(port),
            lambda: log.read_text(errors="replace"),
            timeout_s=_START_S,
        )
        assert process.poll() is None, log.read_text(errors="replace")
        yield
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_END_S)


def _listens(port: int) -> bool:
    try:
        socket.create_connection((_LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True
