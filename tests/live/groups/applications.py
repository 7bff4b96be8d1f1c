"""Instances of a Java program that are members of one group: Kafka Streams applications and Connect workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafka_groups.files import write_atomically
from kafka_groups.sandbox.applications import application_line
from kafka_groups.sandbox.configuration import as_properties, logging_settings
from kafka_groups.sandbox.kafka import Kafka, jvm_environment
from kafka_groups.sandbox.processes import ProcessId, is_running, start, stop

_GRACE_S = 20


@dataclass(kw_only=True)
class Instances:
    """Instances of one main class, by number; `directory` has their settings, logs and output."""

    kafka: Kafka
    main: str
    directory: Path
    _processes: dict[int, ProcessId] = field(default_factory=dict, init=False)

    def start(self, number: int, properties: Mapping[str, str]) -> None:
        """Start an instance, or start it again."""
        assert not self.is_running(number)
        own = self.directory / str(number)
        own.mkdir(parents=True, exist_ok=True)
        logging = own / f"logging{logging_settings(self.kafka.version).suffix}"
        write_atomically(logging, logging_settings(self.kafka.version).server)
        settings = own / "settings.properties"
        write_atomically(settings, as_properties(properties).encode("latin-1"))
        line = application_line(self.kafka, self.main, settings, logging=logging, log=own / "application.log")
        self._processes[number] = start(line, output=own / "output.txt", environment=jvm_environment())

    def stop(self, number: int) -> None:
        """Shut an instance down cleanly: it leaves its group."""
        stop([self._processes[number]], grace_s=_GRACE_S)

    def kill(self, number: int) -> None:
        """Kill an instance: its member stays in the group until its session ends."""
        stop([self._processes[number]], grace_s=0)

    def is_running(self, number: int) -> bool:
        """Return whether an instance runs."""
        return number in self._processes and is_running(self._processes[number])

    def running(self) -> list[int]:
        """Return the numbers of the running instances."""
        return sorted(filter(self.is_running, self._processes))

    def stop_all(self) -> None:
        """Shut all instances down."""
        stop(self._processes.values(), grace_s=_GRACE_S)

    def last_lines(self) -> str:
        """Return the end of each log and output, for the message of a failed test."""
        files = sorted([*self.directory.rglob("*.log"), *self.directory.rglob("output.txt")])
        return "\n".join(f"{file}: {file.read_text(errors='replace')[-2000:]}" for file in files)
