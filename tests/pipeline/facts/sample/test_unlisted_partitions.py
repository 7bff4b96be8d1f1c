"""Brokers that do not list their groups: the partitions of `__consumer_offsets` that they lead have no log end."""

from __future__ import annotations

from typing import Any

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.pipeline.facts.sample.samples import rows_of, take

OFFSETS_TOPIC = "__consumer_offsets"


def refuse(_request: object, response: dict[str, Any]) -> dict[str, Any]:
    """List no groups."""
    return response | {"error_code": 31, "groups": []}


def log_ends_of_coordinators(storage: Storage) -> dict[int, int | None]:
    """Return the log end offset of each partition of `__consumer_offsets` that has a row."""
    rows = rows_of(storage, PARTITION_OFFSETS)
    return {row["partition"]: row.get("log_end_offset") for row in rows if row["topic"] == OFFSETS_TOPIC}


def test_each_broker_that_lists_no_groups_is_a_failure_of_its_own(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.script("ListGroups", refuse, brokers=[2, 3])

    sampled = take(cluster, storage)

    assert sorted((failure.broker, failure.name) for failure in sampled.failures) == [
        (2, "CLUSTER_AUTHORIZATION_FAILED"),
        (3, "CLUSTER_AUTHORIZATION_FAILED"),
    ]
    assert sampled.groups == 1


def test_if_every_broker_lists_its_groups_all_log_ends_are_known(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 3}
    take(cluster, storage)

    assert log_ends_of_coordinators(storage) == {0: 100, 1: 100}


def test_a_partition_without_a_leader_has_no_log_end(cluster: ScriptedCluster, storage: Storage) -> None:
    """Its broker is away, and so not among those that are asked for their groups."""
    cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: -1}
    sampled = take(cluster, storage)

    assert log_ends_of_coordinators(storage) == {0: 100, 1: None}
    assert [(failure.topic, failure.partition) for failure in sampled.failures] == [(OFFSETS_TOPIC, 1)]


def test_only_partitions_of_a_broker_that_lists_no_groups_lack_a_log_end(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 3, 2: 2, 3: 3}
    cluster.script("ListGroups", refuse, brokers=[3])
    take(cluster, storage)

    assert log_ends_of_coordinators(storage) == {0: 100, 1: None, 2: 100, 3: None}


def test_a_broker_that_coordinates_no_groups_need_not_list_any(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 3}
    cluster.script("ListGroups", refuse, brokers=[2])
    take(cluster, storage)

    assert log_ends_of_coordinators(storage) == {0: 100, 1: 100}


def test_a_partition_that_left_its_silent_broker_has_no_log_end(cluster: ScriptedCluster, storage: Storage) -> None:
    """Broker 1 listed its groups before it became the leader of partition 1."""
    cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 3}

    def fail_over(request: ReceivedRequest, response: Struct) -> Struct:
        cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 1}
        return refuse(request, response)

    cluster.script("ListGroups", fail_over, brokers=[3])
    take(cluster, storage)

    assert log_ends_of_coordinators(storage) == {0: 100, 1: None}


def test_a_partition_that_moved_to_a_silent_broker_has_no_log_end(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 1}

    def take_over(request: ReceivedRequest, response: Struct) -> Struct:
        cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 3}
        return refuse(request, response)

    cluster.script("ListGroups", take_over, brokers=[3])
    take(cluster, storage)

    assert log_ends_of_coordinators(storage) == {0: 100, 1: None}


def test_a_topic_whose_leaders_are_unknown_has_no_log_ends(cluster: ScriptedCluster, storage: Storage) -> None:
    def deny(_request: object, response: dict[str, Any]) -> dict[str, Any]:
        return response | {"topics": [{**topic, "error_code": 29, "partitions": []} for topic in response["topics"]]}

    with cluster.admin() as admin:
        admin.brokers()
    cluster.topics[OFFSETS_TOPIC] = {0: 1, 1: 3}
    cluster.script("Metadata", lambda _request, response: response, deny, brokers=[1])
    take(cluster, storage)

    assert log_ends_of_coordinators(storage) == {0: None, 1: None}


def test_without_the_topic_one_row_shows_that_groups_may_be_missing(cluster: ScriptedCluster, storage: Storage) -> None:
    """Brokers leave out the topic if the user has no right to describe it."""
    del cluster.topics[OFFSETS_TOPIC]
    take(cluster, storage)
    assert log_ends_of_coordinators(storage) == {}

    cluster.script("ListGroups", refuse, brokers=[2])
    take(cluster, storage)
    assert log_ends_of_coordinators(storage) == {0: None}
