"""The clusters of the tests of several clusters: `east` and `west` have a group of the same id."""

from __future__ import annotations

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
