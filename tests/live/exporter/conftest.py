"""A broker that only these tests stop and freeze."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from kafka_groups import sandbox

# `make proof-exporter` repeats what time and chance decide.
_REPETITIONS: Final = range(int(os.environ.get("PROOF_REPETITIONS", "1")))
_NAME: Final = "exporter"


@dataclass(frozen=True, kw_only=True)
class OwnBroker:
    """A cluster of one broker, and ways to take it away."""

    bootstrap: str
    home: Path

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Shut the broker down inside the with block."""
        sandbox.stop_broker(1, _NAME, home=self.home)
        try:
            yield
        finally:
            sandbox.start_broker(1, _NAME, home=self.home)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the process of the broker inside the with block: it accepts connections, and sends nothing."""
        status = sandbox.status(_NAME, home=self.home)
        assert status is not None
        port = int(self.bootstrap.rpartition(":")[2])
        (pid,) = [process.pid for process in status.processes if process.port == port]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(params=_REPETITIONS)
def repetition(request: pytest.FixtureRequest) -> int:
    """Return the number of the repetition."""
    return int(request.param)


@pytest.fixture(scope="session")
def own_broker(run_directory: Path, worker_id: str) -> Iterator[OwnBroker]:
    """Yield a broker of this worker's tests."""
    home = run_directory / f"exporter-{worker_id}"
    home.mkdir()
    started = sandbox.up(
        sandbox.SandboxSpec(name=_NAME, brokers=1, port=0, heap_mb=512, seed=False, profile=False, home=home)
    )
    try:
        yield OwnBroker(bootstrap=started.bootstrap, home=home)
    finally:
        sandbox.down(_NAME, home=home)
