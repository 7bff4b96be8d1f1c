"""An exporter of ten clusters in a process of its own: a cluster that fails changes nothing for the others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.exporter.exporter_process import ExporterProcess, start_exporter
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.reactions import delayed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

_CLUSTERS: Final = 10
_LAG: Final = "kafka_groups_group_lag_messages"
_UP: Final = "kafka_groups_up"
_DELAY_S: Final = 0.5
_NAMES: Final = [f"cluster-{number}" for number in range(_CLUSTERS)]


@pytest.fixture
def clusters() -> Iterator[dict[str, ScriptedCluster]]:
    """Yield the clusters by name; the group `billing` of cluster N is N behind."""
    with ExitStack() as stack:
        found = {}
        for number, name in enumerate(_NAMES):
            groups = {"billing": Group(state="Empty", commits={("t", 0): 100 - number})}
            cluster = stack.enter_context(ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}))
            cluster.cluster_id = f"id-{number}"
            found[name] = cluster
        yield found


@pytest.fixture
def exporter(tmp_path: Path, clusters: dict[str, ScriptedCluster]) -> Iterator[ExporterProcess]:
    """Yield an exporter of all clusters."""
    profiles = ClusterProfiles(tmp_path)
    for name, cluster in clusters.items():
        profiles.add(name, cluster, {"timeout": "2s"})
    with start_exporter(tmp_path, "--all-profiles") as process:
        yield process


def lags(*without: str) -> dict[str, float]:
    """Return the expected lags by cluster."""
    return {name: number for number, name in enumerate(_NAMES) if name not in without}


def test_each_cluster_has_its_values(exporter: ExporterProcess) -> None:
    scraped = exporter.scrape()
    assert scraped.values(_UP, "cluster") == dict.fromkeys(_NAMES, 1)
    assert scraped.values(_LAG, "cluster", group="billing") == lags()


@pytest.mark.slow
def test_a_dead_cluster_has_no_values_and_the_others_have(
    exporter: ExporterProcess, clusters: dict[str, ScriptedCluster]
) -> None:
    exporter.scrape()
    clusters["cluster-3"].close()
    for poll in (1, 2):
        scraped = exporter.scrape()
        assert scraped.values(_UP, "cluster") == {**dict.fromkeys(_NAMES, 1), "cluster-3": 0}
        assert scraped.values(_LAG, "cluster") == lags("cluster-3")
        errors = scraped.values("kafka_groups_errors_total", "name", cluster="cluster-3")
        assert sum(errors.values()) == poll
    assert exporter.get("/readyz")[0] == 200


def test_clusters_are_polled_at_the_same_time(exporter: ExporterProcess, clusters: dict[str, ScriptedCluster]) -> None:
    exporter.scrape()
    for cluster in clusters.values():
        cluster.script("ListGroups", delayed(_DELAY_S))
    start = time.monotonic()
    assert exporter.scrape().values(_LAG, "cluster") == lags()
    # One after the other they would take ten times as long.
    assert time.monotonic() - start < _CLUSTERS * _DELAY_S / 2
