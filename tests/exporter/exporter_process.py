"""A process of `kafka-groups exporter`, and what its scrapes return."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.samples import Sample

HOST: Final = "127.0.0.1"
_START_S: Final = 60
_TIMEOUT_S: Final = 60
_END_S: Final = 10
_OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0"
_TEXT: Final = "text/plain; version=0.0.4"


class Scraped:
    """The metrics of one scrape."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._samples: dict[str, list[Sample]] = {}
        for family in families:
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append(sample)

    def values(self, metric: str, label: str, **labels: str) -> dict[str, float]:
        """Return the values of a metric's samples with these labels, by another label."""
        return {
            sample.labels[label]: sample.value
            for sample in self._samples.get(metric, ())
            if labels.items() <= sample.labels.items()
        }

    def value(self, metric: str, **labels: str) -> float | None:
        """Return the value of the one sample with these labels; None if there is none."""
        found = [sample.value for sample in self._samples.get(metric, ()) if labels.items() <= sample.labels.items()]
        assert len(found) <= 1, f"{metric} has {len(found)} samples with {labels}"
        return found[0] if found else None

    def names(self) -> set[str]:
        """Return the names of all samples."""
        return set(self._samples)


@dataclass(frozen=True, kw_only=True)
class ExporterProcess:
    """A running exporter; `log` is a file with its stderr."""

    port: int
    process: psutil.Process
    log: Path

    def get(self, path: str, accept: str = _TEXT) -> tuple[int, str]:
        """Return the status and the body of a response."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request("GET", path, headers={"Accept": accept})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def scrape(self, *, is_openmetrics: bool = False) -> Scraped:
        """Return the metrics."""
        return parse_metrics(self.text(is_openmetrics=is_openmetrics), is_openmetrics=is_openmetrics)

    def text(self, *, is_openmetrics: bool = False) -> str:
        """Return the metrics as text."""
        status, body = self.get("/metrics", _OPENMETRICS if is_openmetrics else _TEXT)
        assert status == http.client.OK, body
        return body

    def errors(self) -> str:
        """Return what the exporter has printed on stderr."""
        return self.log.read_text(encoding="utf-8")


def parse_metrics(text: str, *, is_openmetrics: bool) -> Scraped:
    """Return the metrics of a text in one of the two formats."""
    return Scraped([*(parse_openmetrics if is_openmetrics else parse_text)(text)])


@contextmanager
def start_exporter(
    directory: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[ExporterProcess]:
    """Yield an exporter that listens; its profiles are in `directory`. It must end within ten seconds of SIGTERM."""
    port = free_port()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    command = [sys.executable, "-m", "kafka_groups", "exporter", "--listen", f"{HOST}:{port}", *arguments]
    log = directory / f"exporter-{port}.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            env={**inherited, "XDG_CONFIG_HOME": str(directory), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            _await_port(port, process, log)
            yield ExporterProcess(port=port, process=psutil.Process(process.pid), log=log)
        finally:
            process.terminate()
            try:
                process.wait(_END_S)
            finally:
                process.kill()


def free_port() -> int:
    """Return a port of this machine on which nothing listens."""
    with socket.create_server((HOST, 0)) as server:
        port: int = server.getsockname()[1]
    return port


def _await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    msg = f"the exporter does not listen: {log.read_text(encoding='utf-8')}"
    raise AssertionError(msg)
