"""Operations that a client reads of groups, topics and the cluster (KIP-430), by old and new requests."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_groups.acl_operations import AclOperation
from kafka_groups.errors import AdminError
from tests.fakes.reactions import changed
from tests.fakes.rights_cluster import RightsCluster
from tests.fakes.scripted_cluster import Group

READ_ONLY = frozenset({AclOperation.DESCRIBE, AclOperation.READ})
GROUPS = {
    "classic": Group(state="Empty", protocol_type=""),
    "consumer": Group(type="Consumer"),
    "share": Group(type="Share", protocol_type="share"),
    "streams": Group(type="Streams", protocol_type="streams"),
}


def test_descriptions_of_every_kind_have_the_operations_only_if_they_are_requested() -> None:
    with RightsCluster(groups=GROUPS, on_groups=dict.fromkeys(GROUPS, READ_ONLY)) as cluster, cluster.admin() as admin:
        admin.list_groups()
        plain = admin.describe_groups(GROUPS).succeeded
        described = admin.describe_groups(GROUPS, authorized_operations=True).succeeded
    assert {group: each.authorized_operations for group, each in plain.items()} == dict.fromkeys(GROUPS)
    assert {group: each.authorized_operations for group, each in described.items()} == dict.fromkeys(GROUPS, READ_ONLY)


def test_brokers_before_kafka_2_3_return_no_operations() -> None:
    versions = {
        "DescribeGroups": (0, 2),
        "Metadata": (0, 7),
        "DescribeCluster": (0, -1),
        "ConsumerGroupDescribe": (0, -1),
    }
    topics = {"t": {0: 1}}
    groups = {"classic": GROUPS["classic"]}
    with RightsCluster(groups=groups, topics=topics, versions=versions) as cluster, cluster.admin() as admin:
        group = admin.describe_groups(["classic"], authorized_operations=True).succeeded["classic"]
        topic = admin.describe_topics(["t"], authorized_operations=True).succeeded["t"]
        operations = admin.describe_cluster().authorized_operations
    assert (group.authorized_operations, topic.authorized_operations, operations) == (None, None, None)


def test_topics_have_the_operations_only_if_they_are_requested() -> None:
    with RightsCluster(topics={"t": {0: 1}}, on_topics={"t": READ_ONLY}) as cluster, cluster.admin() as admin:
        plain = admin.describe_topics(["t"]).succeeded["t"]
        described = admin.describe_topics(["t"], authorized_operations=True).succeeded["t"]
    assert (plain.authorized_operations, described.authorized_operations) == (None, READ_ONLY)


@pytest.mark.parametrize(
    ("versions", "requests"),
    [
        ({}, {"DescribeCluster": 1}),
        ({"DescribeCluster": (0, -1), "Metadata": (0, 10)}, {"Metadata": 1}),
    ],
    ids=["4.3", "2.3"],
)
def test_the_cluster_is_described_with_one_request(
    versions: Mapping[str, tuple[int, int]], requests: Mapping[str, int]
) -> None:
    with RightsCluster(brokers=1, on_cluster=READ_ONLY, versions=versions) as cluster, cluster.admin() as admin:
        admin.brokers()
        before = len(cluster.brokers[1].received)
        assert admin.describe_cluster() == ("scripted", READ_ONLY)
        sent = [request.api for request in cluster.brokers[1].received[before:]]
    assert sent == [*requests]


def test_a_cluster_that_cannot_be_described_raises_the_error_of_the_broker() -> None:
    with RightsCluster(brokers=1) as cluster, cluster.admin() as admin:
        cluster.script("DescribeCluster", changed(error_code=31))
        with pytest.raises(AdminError, match="not allowed"):
            admin.describe_cluster()
