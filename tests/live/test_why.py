"""`kafka-groups why` on real brokers: a group that nobody runs, and a group that reads everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import run_command
from tests.live.groups.members import empty, stable
from tests.live.groups.topics import make_topic
from tests.live.incidents.traffic import Traffic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

POLLS = ("--samples", "3", "--interval", "1s", "--format", "json")


def test_an_empty_group_with_a_lag_is_the_first_finding(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap, partitions=3)
    traffic = Traffic(cluster.bootstrap)
    for partition in range(3):
        traffic.write(topic, partition, 9, age_s=300)
    traffic.close()
    with empty(cluster.bootstrap, topic, commits=[(topic, 0, 2), (topic, 1, 9)]) as name:
        (group,) = run_command(cluster.bootstrap, "why", name, *POLLS).json["groups"]
    finding = group["findings"][0]
    assert (finding["cause"], finding["certainty"], finding["lag"]) == ("group_empty", "certain", 7)
    assert (group["state"], group["polls"], group["unseen"]) == ("Empty", 3, [])


def test_nothing_is_wrong_with_a_group_that_has_read_everything(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap, partitions=3, records=9)
    commits = [(topic, partition, 9) for partition in range(3)]
    with stable(cluster.bootstrap, topic, commits=commits) as name:
        (group,) = run_command(cluster.bootstrap, "why", name, *POLLS).json["groups"]
    assert [finding for finding in group["findings"] if finding["kind"] == "trouble"] == []
    assert (group["state"], group["lag"], group["unexplained"], group["unseen"]) == ("Stable", 0, [], [])
    assert "group_empty" in group["checked"]
