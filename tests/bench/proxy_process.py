"""The proxy in a process of its own, and the round trip of a request."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from kafka_groups.protocol.messages import ALL, API_VERSIONS

from .connection import BrokerConnection

_HOST: Final = "127.0.0.1"
_NAMES: Final = {api.key: api.name for api in ALL}
_SAMPLES: Final = 20


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """A running proxy."""

    bootstrap: str
    _process: subprocess.Popen[str]

    def take_tally(self) -> Counter[str]:
        """Return the number of requests since the last call, by the name of their API."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        counts = json.loads(_read_line(self._process.stdout))
        return Counter({_NAMES.get(int(key), f"API {key}"): count for key, count in counts.items()})


@contextmanager
def start_proxy(bootstrap: str, *, delay_ms: float) -> Iterator[Proxy]:
    """Yield a proxy in front of all of these brokers, which delays each response by `delay_ms`."""
    ports = [address.rpartition(":")[2] for address in bootstrap.split(",")]
    command = [sys.executable, "-m", f"{__package__}.proxy", str(delay_ms), *ports]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_directory_of_package()
    ) as process:
        own = json.loads(_read_line(process.stdout))
        yield Proxy(bootstrap=",".join(f"{_HOST}:{port}" for port in own), _process=process)
        assert process.stdin is not None
        process.stdin.close()


def measure_round_trip_ms(bootstrap: str) -> float:
    """Return the median time of an ApiVersions request, the cheapest one."""
    with BrokerConnection(bootstrap.split(",", maxsplit=1)[0]) as connection:
        return statistics.median(connection.time_request(API_VERSIONS, 0, {}) for _ in range(_SAMPLES)) * 1000


def _directory_of_package() -> Path:
    """Return the directory in which `python -m` finds this package, wherever the bench was started."""
    assert __package__ is not None
    return Path(__file__).resolve().parents[__package__.count(".") + 1]


def _read_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()
