"""One scrape of a running exporter: GET to the last byte, and the processor time of all its threads meanwhile."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tests.bench.measurement import WrongOutputError

from .contenders import HOST, Contender

IDENTITY: Final = "identity"
GZIP: Final = "gzip"
_PATH: Final = "/metrics"
_START_S: Final = 60
_TIMEOUT_S: Final = 300
_CHUNK: Final = 1 << 20
_KIB: Final = 1024
_OK: Final = 200
# What Prometheus 2.42 sends.
_ACCEPT: Final = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"


@dataclass(frozen=True, kw_only=True)
class Scrape:
    """The wall time and the processor time of one scrape, in seconds, and the bytes of its body as they were sent."""

    seconds: float
    cpu_s: float
    sent: int


@dataclass(frozen=True, kw_only=True)
class RunningExporter:
    """An exporter that accepts connections on a port of this machine."""

    contender: Contender
    port: int
    process: psutil.Process

    def scrape(self, encoding: str) -> tuple[Scrape, bytes]:
        """Return the measurement, and the body without its encoding; raise WrongOutputError if it has no success."""
        before_s = _cpu_s(self.process)
        start = time.perf_counter()
        status, used, body = fetch(self.port, encoding)
        seconds = time.perf_counter() - start
        cpu_s = _cpu_s(self.process) - before_s
        if status != _OK or used != encoding:
            msg = f"{self.contender.name} returned status {status} with the encoding {used}"
            raise WrongOutputError(msg)
        plain = zlib.decompress(body, wbits=31) if used == GZIP else body
        return Scrape(seconds=seconds, cpu_s=cpu_s, sent=len(body)), plain

    def peak_mib(self) -> float:
        """Return the largest resident memory since the start, in MiB, as Linux reports it."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines()
        (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
        return int(peak) / _KIB


@contextmanager
def start_exporter(contender: Contender, bootstrap: str, log: Path) -> Iterator[RunningExporter]:
    """Yield an exporter with its stdout and stderr in a file; it is terminated at the end."""
    port = _free_port()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KAFKA_")}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            list(contender.command(bootstrap, port)),
            env={**environment, **contender.environment(bootstrap, port)},
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            _await_port(port, process, log)
            yield RunningExporter(contender=contender, port=port, process=psutil.Process(process.pid))
        finally:
            process.terminate()
            process.wait(_START_S)


def fetch(port: int, encoding: str) -> tuple[int, str, bytes]:
    """Return the status, the encoding and the body of a response, as it was sent."""
    connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", _PATH, headers={"Accept-Encoding": encoding, "Accept": _ACCEPT})
        response = connection.getresponse()
        chunks = list(iter(lambda: response.read(_CHUNK), b""))
        return response.status, response.getheader("Content-Encoding") or IDENTITY, b"".join(chunks)
    finally:
        connection.close()


def sum_samples(body: bytes, series: str) -> tuple[int, int]:
    """Return the number of samples of a metric in the text of a scrape, and the sum of their values."""
    values = [float(line.rpartition(b" ")[2]) for line in body.splitlines() if line.startswith(series.encode() + b"{")]
    return len(values), round(sum(values))


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _free_port() -> int:
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
    text = log.read_text(encoding="utf-8", errors="replace")
    msg = f"the exporter does not listen on port {port}: {text[-500:]}"
    raise WrongOutputError(msg)
