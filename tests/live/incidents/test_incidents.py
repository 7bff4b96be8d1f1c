"""`kafka-groups why` on incidents of real brokers: exact causes come first, and healthy groups have no trouble.

`make proof-causes` has all incidents and all healthy groups, in three variants each; those that stop brokers, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.causes.catalogue import CAUSES
from tests.live.incidents.run import load_healthy_groups, load_incidents, look_at

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

# No assignor of brokers up to Kafka 4.4 gives warm-up tasks, although descriptions have a place for them.
_WITHOUT_INCIDENT = {"streams_restoring"}

pytestmark = pytest.mark.live


def test_each_exact_cause_comes_first_in_its_incident(cluster: Cluster) -> None:
    exact = {name: incident for name, incident in load_incidents().items() if incident.is_exact}
    found = look_at(cluster.bootstrap, exact, seed=0)
    assert {each.name: each.causes[:1] for each in found} == {name: (each.cause,) for name, each in exact.items()}


def test_healthy_groups_have_no_trouble(cluster: Cluster) -> None:
    found = look_at(cluster.bootstrap, load_healthy_groups(), seed=0)
    assert {each.name: each.troubles for each in found if each.troubles} == {}


def test_each_cause_that_polls_can_show_has_an_incident() -> None:
    shown = {incident.cause for incident in load_incidents().values()}
    due = {cause.name for cause in CAUSES if cause.due == "live"}
    assert due - shown == _WITHOUT_INCIDENT
