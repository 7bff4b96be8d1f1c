"""Failures of brokers, of no group or partition, are reported broker by broker; such a sample is incomplete."""

from __future__ import annotations

from typing import Any

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.sample.samples import rows_of, take


def refuse(_asked: object, answer: dict[str, Any]) -> dict[str, Any]:
    """The broker lists no groups."""
    return answer | {"error_code": 31, "groups": []}


def ends_of_coordinators(storage: Storage) -> dict[int, int | None]:
    """What rows of __consumer_offsets say, by partition."""
    rows = rows_of(storage, PARTITION_OFFSETS)
    return {row["partition"]: row.get("log_end_offset") for row in rows if row["topic"] == "__consumer_offsets"}


def test_each_broker_that_does_not_list_its_groups_is_a_failure_of_its_own(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    cluster.script("ListGroups", refuse, brokers=[2, 3])

    done = take(cluster, storage)

    assert sorted((each.broker, each.name) for each in done.failures) == [
        (2, "CLUSTER_AUTHORIZATION_FAILED"),
        (3, "CLUSTER_AUTHORIZATION_FAILED"),
    ]
    assert done.groups == 1


def test_a_sample_in_which_every_broker_listed_its_groups_is_whole(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.topics["__consumer_offsets"] = {0: 1, 1: 3}
    take(cluster, storage)

    assert ends_of_coordinators(storage) == {0: 100, 1: 100}


def test_a_coordinator_without_a_leader_returns_no_log_end(cluster: ScriptedCluster, storage: Storage) -> None:
    """Its broker is away, and so not among those with requests for their groups."""
    cluster.topics["__consumer_offsets"] = {0: 1, 1: -1}
    done = take(cluster, storage)

    assert ends_of_coordinators(storage) == {0: 100, 1: None}
    assert [(each.topic, each.partition) for each in done.failures] == [("__consumer_offsets", 1)]


def test_a_broker_that_does_not_list_its_groups_leaves_no_coordinator_known(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    cluster.topics["__consumer_offsets"] = {0: 1, 1: 3}
    cluster.script("ListGroups", refuse, brokers=[2])
    take(cluster, storage)

    assert ends_of_coordinators(storage) == {0: None, 1: None}


def test_where_the_topic_is_not_returned_one_row_says_that_groups_may_be_missing(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    """Without the right to describe it, brokers leave it out."""
    del cluster.topics["__consumer_offsets"]
    take(cluster, storage)
    assert ends_of_coordinators(storage) == {}

    cluster.script("ListGroups", refuse, brokers=[2])
    take(cluster, storage)
    assert ends_of_coordinators(storage) == {0: None}
