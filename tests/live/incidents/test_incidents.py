"""`kafka-groups why` on incidents of real brokers: exact causes come first, and healthy groups have no trouble.

`make proof-causes` has all incidents and all healthy groups, in three variants each; those that stop brokers, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from kafka_groups.causes.catalogue import CAUSES
from tests.live.incidents.clusters import IncidentCluster, incident_cluster
from tests.live.incidents.run import Verdict, load_healthy_groups, load_incidents, look_at
from tests.live.incidents.stage import HealthyGroup, Incident

# No assignor of brokers up to Kafka 4.4 gives warm-up tasks, although descriptions have a place for them.
_WITHOUT_INCIDENT = {"streams_restoration"}

_AT_ONCE: Final = 6

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IncidentCluster]:
    """Yield a cluster of these tests alone: others compare all groups of theirs with what Kafka's tool prints."""
    with incident_cluster(tmp_path_factory.mktemp("incidents"), brokers=1) as cluster:
        yield cluster


def test_each_exact_cause_comes_first_in_its_incident(own_cluster: IncidentCluster) -> None:
    exact = {name: incident for name, incident in load_incidents().items() if incident.is_exact}
    found = _look_at(own_cluster, exact)
    assert {each.name: each.causes[:1] for each in found} == {name: (each.cause,) for name, each in exact.items()}


def test_healthy_groups_have_no_trouble(own_cluster: IncidentCluster) -> None:
    found = _look_at(own_cluster, load_healthy_groups())
    assert {each.name: each.troubles for each in found if each.troubles} == {}


def _look_at(cluster: IncidentCluster, scripts: Mapping[str, Incident | HealthyGroup]) -> list[Verdict]:
    """Look at some scripts after the others: all at once would take two cores from the tests that run beside."""
    names = [*scripts]
    parts = ({name: scripts[name] for name in names[at : at + _AT_ONCE]} for at in range(0, len(names), _AT_ONCE))
    return [verdict for part in parts for verdict in look_at(cluster.bootstrap, part, seed=0)]


def test_each_cause_that_polls_can_show_has_an_incident() -> None:
    shown = {incident.cause for incident in load_incidents().values()}
    due = {cause.name for cause in CAUSES if cause.due == "live"}
    assert due - shown == _WITHOUT_INCIDENT
