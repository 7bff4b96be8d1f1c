"""Failures of brokers, which are of no group and no partition, are told broker by broker."""

from __future__ import annotations

from typing import Any

from kafka_groups.pipeline.storage import Storage
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.sampling.samples import take


def test_each_broker_that_does_not_list_its_groups_is_a_failure_of_its_own(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    def refuse(_asked: object, answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"error_code": 31, "groups": []}

    cluster.script("ListGroups", refuse, brokers=[2, 3])

    done = take(cluster, storage)

    assert sorted((each.broker, each.name) for each in done.failures) == [
        (2, "CLUSTER_AUTHORIZATION_FAILED"),
        (3, "CLUSTER_AUTHORIZATION_FAILED"),
    ]
    assert done.groups == 1
