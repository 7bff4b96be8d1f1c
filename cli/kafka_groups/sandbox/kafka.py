"""One Kafka version ready to run: its jars, its Java, and the command lines made of both."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.configuration import logging_settings
from kafka_groups.sandbox.jars import alone, cache_directory, find_jars
from kafka_groups.sandbox.java import find_java
from kafka_groups.sandbox.versions import KafkaVersion

BROKER = "kafka.Kafka"
ZOOKEEPER = "org.apache.zookeeper.server.ZooKeeperServerMain"
_STORAGE_TOOL = "kafka.tools.StorageTool"
_FORMAT_TIMEOUT_S = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Kafka:
    """The programs of one Kafka version."""

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
        """Return the command line that runs one of its main classes."""
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
    """Return the JVM's own options for a server.

    Not optimised is compiled by C1 alone: one broker is up after 3.4 s instead of 4.9, three after
    5.1 s instead of 9.2; what takes long is slower.
    """
    quick = () if optimised else ("-XX:TieredStopAtLevel=1",)
    return (f"-Xmx{heap_mb}m", "-XX:+ExitOnOutOfMemoryError", *quick)


def find_kafka(version: KafkaVersion, *, tell: Callable[[str], None]) -> Kafka:
    """Find what runs a Kafka version; SandboxError if there is no Java for it, or no jars."""
    java = find_java(version)  # first, because it is quick and the download is not
    return Kafka(version=version, java=java, jars=tuple(find_jars(version, tell=tell)))


def tool_line(kafka: Kafka, main: str, *arguments: str, heap_mb: int) -> list[str]:
    """Return the command line of one of the command-line tools, as Kafka's scripts have it."""
    logging = logging_settings(kafka.version)
    file = cache_directory(kafka.version) / f"tools{logging.suffix}"
    if not file.exists():
        file.write_text(logging.tools, encoding="utf-8")
    jvm = (f"-Xmx{heap_mb}m", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
    return kafka.command(main, *arguments, jvm=jvm, properties={logging.option: file.as_uri()})


def bootstrap_checkpoint(kafka: Kafka) -> Path | None:
    """Return the file of feature levels that a formatted node starts from; None before Kafka 3.3.

    It is the same for all nodes of a version, so Kafka's tool (1.5 s a run) makes it only once.
    """
    if not kafka.version.has_features:
        return None
    stored = cache_directory(kafka.version) / "bootstrap.checkpoint"
    if not stored.exists():
        with alone(stored.with_suffix(".busy")), tempfile.TemporaryDirectory() as scratch:
            shutil.copy(_format(kafka, Path(scratch)), stored.with_suffix(".draft"))
            stored.with_suffix(".draft").replace(stored)
    return stored


def _format(kafka: Kafka, scratch: Path) -> Path:
    settings = scratch / "server.properties"
    settings.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:1\n"
        "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:2,CONTROLLER://:1\n"
        f"log.dirs={scratch / 'data'}\n",
        encoding="utf-8",
    )
    arguments = ("format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", settings)
    command = kafka.command(_STORAGE_TOOL, *arguments, jvm=jvm_options(heap_mb=256, optimised=False))
    try:
        done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=_FORMAT_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        msg = f"Kafka's storage tool did not end within {_FORMAT_TIMEOUT_S} s"
        raise SandboxError(msg) from error
    made = scratch / "data" / "bootstrap.checkpoint"
    if done.returncode != 0 or not made.exists():
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        msg = f"Kafka's storage tool failed: {said}"
        raise SandboxError(msg)
    return made
