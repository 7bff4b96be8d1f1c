"""The programs of one Kafka version: its jars, its Java, and the command lines that run them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.files import write_atomically
from kafka_groups.sandbox.artifacts import Artifacts, broker_artifacts
from kafka_groups.sandbox.configuration import as_properties, logging_settings
from kafka_groups.sandbox.jars import cache_directory, find_jars, lock_cache
from kafka_groups.sandbox.java import find_java
from kafka_groups.sandbox.versions import KafkaVersion

BROKER = "kafka.Kafka"
ZOOKEEPER = "org.apache.zookeeper.server.ZooKeeperServerMain"
_STORAGE_TOOL = "kafka.tools.StorageTool"
_FORMAT_TIMEOUT_S = 60
_FORMAT_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://:2,CONTROLLER://:1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Kafka:
    """A Kafka version with the Java and the jars that run it."""

    version: KafkaVersion
    java: Path
    jars: tuple[Path, ...]

    def command(
        self,
        main: str,
        *arguments: str | Path,
        jvm: Sequence[str],
        properties: Mapping[str, str | Path] | None = None,
    ) -> list[str]:
        """Return the command line that runs one main class; `properties` become options `-Dkey=value`."""
        return [
            str(self.java),
            *jvm,
            "-Djava.awt.headless=true",
            *(f"-D{key}={value}" for key, value in (properties or {}).items()),
            "-cp",
            ":".join(map(str, self.jars)),
            main,
            *map(str, arguments),
        ]


def jvm_options(*, heap_mb: int, optimised: bool) -> tuple[str, ...]:
    """Return the JVM options of a server.

    A server that is not optimised is compiled by C1 alone: one broker is up after 3.4 s instead of 4.9 s, three after
    5.1 s instead of 9.2 s; long computations are slower.
    """
    quick = () if optimised else ("-XX:TieredStopAtLevel=1",)
    return (f"-Xmx{heap_mb}m", "-XX:+ExitOnOutOfMemoryError", *quick)


def jvm_environment() -> dict[str, str]:
    """Return the environment of a JVM: in the locale C, a JVM on Linux cannot open a path with non-ASCII letters."""
    return {**os.environ, "LC_ALL": "C.UTF-8"}


def find_kafka(version: KafkaVersion, *, report: Callable[[str], None]) -> Kafka:
    """Return the brokers and the tools of a version; raise SandboxError if their Java or their jars are missing."""
    return find_program(broker_artifacts(version), report=report)


def find_program(program: Artifacts, *, report: Callable[[str], None]) -> Kafka:
    """Return a program with these artifacts; raise SandboxError if its Java or its jars are missing."""
    java = find_java(program.version)  # first, because this check is quick and a download is not
    return Kafka(version=program.version, java=java, jars=tuple(find_jars(program, report=report)))


def tool_line(kafka: Kafka, main: str, *arguments: str, heap_mb: int) -> list[str]:
    """Return the command line of one of Kafka's tools, with the JVM options of Kafka's scripts."""
    logging = logging_settings(kafka.version)
    file = cache_directory(kafka.version) / f"tools{logging.suffix}"
    if not file.exists():
        write_atomically(file, logging.tools)
    jvm = (f"-Xmx{heap_mb}m", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
    return kafka.command(main, *arguments, jvm=jvm, properties={logging.option: file.as_uri()})


def bootstrap_checkpoint(kafka: Kafka) -> Path | None:
    """Return the file with the feature levels of a newly formatted node, or None before Kafka 3.3.

    The file is the same for all nodes of a version, so Kafka's tool (1.5 s a run) creates it only once.
    Raises SandboxError if the tool fails.
    """
    if not kafka.version.has_features:
        return None
    stored = cache_directory(kafka.version) / "bootstrap.checkpoint"
    if not stored.exists():
        with lock_cache(stored.with_suffix(".lock")), tempfile.TemporaryDirectory() as scratch:
            write_atomically(stored, _format(kafka, Path(scratch)).read_bytes())
    return stored


def _format(kafka: Kafka, scratch: Path) -> Path:
    settings = scratch / "server.properties"
    text = as_properties({**_FORMAT_SETTINGS, "log.dirs": str(scratch / "data")})
    write_atomically(settings, text.encode("latin-1"))
    arguments = ("format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", settings)
    command = kafka.command(_STORAGE_TOOL, *arguments, jvm=jvm_options(heap_mb=256, optimised=False))
    try:
        finished = subprocess.run(
            command, capture_output=True, check=False, text=True, timeout=_FORMAT_TIMEOUT_S, env=jvm_environment()
        )
    except subprocess.TimeoutExpired as error:
        msg = f"Kafka's storage tool did not end within {_FORMAT_TIMEOUT_S} s; try again when the machine is less busy"
        raise SandboxError(msg) from error
    checkpoint = scratch / "data" / kafka.version.bootstrap_checkpoint
    if finished.returncode != 0 or not checkpoint.exists():
        output = finished.stderr.strip() or finished.stdout.strip() or "it printed nothing"
        msg = f"Kafka's storage tool failed: {output.splitlines()[-1]}"
        raise SandboxError(msg)
    return checkpoint
