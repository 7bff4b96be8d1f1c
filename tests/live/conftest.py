"""Real clusters for the live tests. Each is started once a run, when the first test needs it.

They are in the run's directory and on free ports. All workers share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka.admin import AclOperation

from kafka_groups import sandbox
from kafka_groups.files import lock
from kafka_groups.sandbox.versions import parse_version
from tests.live.groups.kafka_tools import disable_features, run_tool
from tests.live.groups.real_kinds import RealGroups, start_real_groups
from tests.live.secure_broker import SecureBroker, secure_broker
from tests.live.secured_broker import SecuredBroker, run_secured_broker

_START_TIMEOUT_S = 240


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A running cluster; its brokers are numbered from 1."""

    name: str
    home: Path
    bootstrap: str
    version: str

    def stop_broker(self, number: int) -> None:
        """Stop one broker cleanly."""
        sandbox.stop_broker(number, self.name, home=self.home)

    def start_broker(self, number: int) -> None:
        """Start a stopped broker on its old port and data, and wait until it is in the cluster."""
        sandbox.start_broker(number, self.name, home=self.home)


class KafkaTool(Protocol):
    """A function that runs Kafka's own kafka-consumer-groups.sh for the cluster's version, on the same machine."""

    def __call__(self, cluster: Cluster, *arguments: str) -> tuple[str, str, int]:
        """Return the tool's stdout, its stderr and its exit code."""
        ...


@pytest.fixture(scope="session", autouse=True)
def _journal_of_tests(run_directory: Path) -> Iterator[None]:
    """Let no command write to the journal in the home directory of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(run_directory / "state"))
        yield


@pytest.fixture(scope="session")
def cluster(run_directory: Path) -> Cluster:
    """Return three brokers of the sandbox's default version, without any topic or group."""
    return _start_once(run_directory, "cluster", brokers=3, kafka_version=sandbox.DEFAULT_VERSION)


@pytest.fixture(scope="session")
def kafka_4_4(run_directory: Path) -> Cluster:
    """Return one broker of the newest Kafka."""
    return _start_once(run_directory, "kafka-4-4", kafka_version="4.4.0")


@pytest.fixture(scope="session")
def kafka_2_8(run_directory: Path) -> Cluster:
    """Return one broker whose OffsetFetch and FindCoordinator take one group a request."""
    return _start_once(run_directory, "kafka-2-8", kafka_version="2.8.2")


@pytest.fixture(scope="session")
def kafka_2_5(run_directory: Path) -> Cluster:
    """Return one broker with ZooKeeper, of a version whose ListGroups returns no states."""
    return _start_once(run_directory, "kafka-2-5", kafka_version="2.5.1")


@pytest.fixture(scope="session", params=[sandbox.DEFAULT_VERSION, "4.4.0"])
def real_groups(request: pytest.FixtureRequest, run_directory: Path) -> Iterator[RealGroups]:
    """Yield real share, streams and Connect groups, on a broker of each version that is theirs alone."""
    version: str = request.param
    name = f"kinds-{version.replace('.', '-')}"
    broker = _start_once(run_directory, name, kafka_version=version)
    with start_real_groups(broker.bootstrap, run_directory / f"{name}-applications", version=version) as groups:
        yield groups


@pytest.fixture(scope="session")
def without_kinds(run_directory: Path) -> Cluster:
    """Return one broker whose features for share and streams groups are switched off."""
    broker = _start_once(run_directory, "without-kinds", kafka_version=sandbox.DEFAULT_VERSION)
    disable_features(broker.bootstrap, "share.version", "streams.version")
    return broker


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """Yield a broker on which only the operator may read `__consumer_offsets`; the user `describer` may describe it."""
    with run_secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        broker.allow("describer", AclOperation.DESCRIBE, "__consumer_offsets")
        yield broker


@pytest.fixture(scope="session")
def secure(run_directory: Path) -> SecureBroker:
    """Return one broker with the listeners, the users and the rights of `sandbox up --secure`."""
    return secure_broker(
        _up_once(run_directory, "secure", brokers=1, kafka_version=sandbox.DEFAULT_VERSION, secure=True)
    )


@pytest.fixture(scope="session")
def kafka_tool(run_directory: Path) -> KafkaTool:
    """Return a function that runs Kafka's own tool."""

    def run(cluster: Cluster, *arguments: str) -> tuple[str, str, int]:
        tools = parse_version(cluster.version).tools
        completed = run_tool(tools.groups_tool, cluster.bootstrap, run_directory, *arguments, version=str(tools))
        return completed.stdout, completed.stderr, completed.returncode

    return run


def _start_once(directory: Path, name: str, *, kafka_version: str, brokers: int = 1) -> Cluster:
    """Return a cluster of the run; the first worker that needs it starts it."""
    started = _up_once(directory, name, brokers=brokers, kafka_version=kafka_version)
    return Cluster(name=name, home=directory, bootstrap=started.bootstrap, version=started.kafka_version)


def _up_once(
    directory: Path, name: str, *, kafka_version: str, brokers: int = 1, secure: bool = False
) -> sandbox.Sandbox:
    """Return a sandbox of the run; the first worker that needs it starts it.

    It is stopped at the end of the run: see tests/runs.py.
    """
    with lock(directory / f"{name}.starting", timeout_s=_START_TIMEOUT_S):
        return sandbox.up(
            sandbox.SandboxSpec(
                name=name,
                brokers=brokers,
                kafka_version=kafka_version,
                port=0,
                heap_mb=512,
                seed=False,
                profile=False,
                secure=secure,
                home=directory,
            )
        )
