"""Fixtures of the completion's tests: directories of a user, and a cluster whose address the environment has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.options.completion import cluster_names
from tests.fakes.scripted_cluster import Group, ScriptedCluster


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home directory of a user who has neither settings nor a cache."""
    for name in ("BOOTSTRAP_SERVER", "CONFIG", "PROFILE", "SASL_PASSWORD", "TIMEOUT"):
        monkeypatch.delenv(f"KAFKA_GROUPS_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    # The limits begin at the start of a process, and this one started long ago.
    monkeypatch.setattr(cluster_names, "_LEAST_S", 60.0)
    return tmp_path


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    """Yield a cluster of two brokers with three groups and two topics, which the environment names."""
    groups = {"orders": Group(coordinator=1), "orders-eu": Group(coordinator=2), "billing": Group(coordinator=2)}
    with ScriptedCluster(brokers=2, groups=groups, topics={"payments": {0: 1}, "audit": {0: 2}}) as cluster:
        monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVER", str(cluster.brokers[1].endpoint))
        yield cluster
