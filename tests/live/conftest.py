"""Real clusters for the live tests: each is started once a run, when the first test asks for it.

They live in a directory of the run's own, on free ports; nothing of them is left when pytest ends,
also when it is interrupted or told to terminate.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

import pytest
from confluent_kafka.admin import AclOperation

from kafka_groups import sandbox
from tests.live.guarded import Guarded, guarded_broker

_TOOL_TIMEOUT_S = 60
_START_TIMEOUT_S = 240


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A running cluster; its brokers are numbered from 1."""

    name: str
    home: Path
    bootstrap: str
    version: str

    def stop_broker(self, number: int) -> None:
        """End one broker cleanly."""
        sandbox.stop_broker(number, self.name, home=self.home)

    def start_broker(self, number: int) -> None:
        """Start it again on its old port and data, and wait until it is in the cluster."""
        sandbox.start_broker(number, self.name, home=self.home)


class KafkaTool(Protocol):
    """Runs Kafka's own kafka-consumer-groups.sh, in the cluster's version, on the same machine."""

    def __call__(self, cluster: Cluster, *arguments: str) -> tuple[str, str, int]:
        """Return what it wrote to stdout and stderr, and its exit code."""
        ...


_WANTED = {
    "cluster": sandbox.SandboxSpec(name="cluster", brokers=3, kafka_version="4.3.1"),
    "kafka_2_8": sandbox.SandboxSpec(name="kafka-2-8", kafka_version="2.8.2"),
    "kafka_2_5": sandbox.SandboxSpec(name="kafka-2-5", kafka_version="2.5.1"),
}


@pytest.fixture(scope="session")
def starting(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Cluster]]]:
    """Start the clusters that the chosen tests ask for, all at the same time."""
    home = tmp_path_factory.mktemp("sandboxes")
    asked = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    with interrupted_by_sigterm(), ThreadPoolExecutor(len(_WANTED)) as pool:
        try:
            yield {
                fixture: pool.submit(_start, wanted, home) for fixture, wanted in _WANTED.items() if fixture in asked
            }
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            for wanted in _WANTED.values():
                sandbox.down(wanted.name, home=home)


@pytest.fixture(scope="session")
def cluster(starting: dict[str, Future[Cluster]]) -> Cluster:
    """Three brokers of the newest Kafka, without any topic or group."""
    return starting["cluster"].result(_START_TIMEOUT_S)


@pytest.fixture(scope="session")
def kafka_2_8(starting: dict[str, Future[Cluster]]) -> Cluster:
    """One broker that answers OffsetFetch and FindCoordinator for one group at a time."""
    return starting["kafka_2_8"].result(_START_TIMEOUT_S)


@pytest.fixture(scope="session")
def kafka_2_5(starting: dict[str, Future[Cluster]]) -> Cluster:
    """One broker with ZooKeeper, from before ListGroups knew states."""
    return starting["kafka_2_5"].result(_START_TIMEOUT_S)


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A broker on which only the operator may read the commits, and the describer may at least describe them."""
    with guarded_broker(tmp_path_factory.mktemp("guarded")) as guarded:
        guarded.allow("describer", AclOperation.DESCRIBE, "__consumer_offsets")
        yield guarded


@pytest.fixture(scope="session")
def kafka_tool() -> KafkaTool:
    """Kafka's own tool, to compare with."""

    def run(cluster: Cluster, *arguments: str) -> tuple[str, str, int]:
        command = sandbox.groups_tool_command(
            "--bootstrap-server", cluster.bootstrap, *arguments, version=cluster.version
        )
        done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=_TOOL_TIMEOUT_S)
        return done.stdout, done.stderr, done.returncode

    return run


def _start(wanted: sandbox.SandboxSpec, home: Path) -> Cluster:
    started = sandbox.up(
        sandbox.SandboxSpec(
            name=wanted.name,
            brokers=wanted.brokers,
            kafka_version=wanted.kafka_version,
            port=0,
            heap_mb=512,
            seed=False,
            profile=False,
            home=home,
        )
    )
    return Cluster(
        name=wanted.name,
        home=home,
        bootstrap=started.bootstrap,
        version=started.kafka_version,
    )


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Make the signal of a CI that gives up end the run as Ctrl-C does: with its fixtures torn down."""

    def interrupt(_signal: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
