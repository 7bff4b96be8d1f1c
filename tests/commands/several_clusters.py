"""The clusters and profiles of the tests of several clusters: `east` and `west` have a group of the same id.

A test module has fixtures of its own where it needs other clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.scripted_cluster import Group, ScriptedCluster

# Nothing listens here.
NO_BROKER = "127.0.0.1:1"


def east_cluster() -> ScriptedCluster:
    """Return a cluster of two brokers whose groups are 95 behind."""
    groups = {
        "billing": Group(coordinator=1, state="Empty", commits={("t", 0): 5}),
        "orders": Group(coordinator=2, state="Empty", commits={("t", 0): 6}),
    }
    return _cluster("id-east", ScriptedCluster(brokers=2, groups=groups, topics={"t": {0: 1}}))


def west_cluster(cluster_id: str = "id-west") -> ScriptedCluster:
    """Return a cluster of one broker with a group of the same id, which is 5 behind."""
    groups = {"billing": Group(state="Empty", commits={("t", 0): 95})}
    return _cluster(cluster_id, ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}))


def _cluster(cluster_id: str, cluster: ScriptedCluster) -> ScriptedCluster:
    cluster.cluster_id = cluster_id
    return cluster


@pytest.fixture
def east() -> Iterator[ScriptedCluster]:
    """Yield the cluster of two brokers."""
    with east_cluster() as cluster:
        yield cluster


@pytest.fixture
def west() -> Iterator[ScriptedCluster]:
    """Yield the cluster of one broker."""
    with west_cluster() as cluster:
        yield cluster


@pytest.fixture
def profiles(tmp_path: Path, east: ScriptedCluster, west: ScriptedCluster) -> ClusterProfiles:
    """Return profiles of both clusters, and of one that nothing listens for."""
    found = ClusterProfiles(tmp_path)
    found.add("east", east)
    found.add("west", west)
    found.add("dead", NO_BROKER)
    return found
