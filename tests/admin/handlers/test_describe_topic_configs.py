"""Configurations of topics, and brokers without the request, or with a version that this tool does not support."""

from __future__ import annotations

import pytest

from tests.fakes.scripted_cluster import ScriptedCluster

OFFERS = {
    (0, 0): "supports DescribeConfigs versions 0 to 0",
    (0, -1): "does not support DescribeConfigs",
}


@pytest.mark.parametrize("versions", OFFERS)
def test_a_broker_that_is_too_old_is_a_failure_of_each_topic_with_the_reason(versions: tuple[int, int]) -> None:
    with ScriptedCluster(brokers=1, versions={"DescribeConfigs": versions}) as cluster, cluster.admin() as admin:
        results = admin.describe_topic_configs(["t", "u"], ["retention.ms"])
    reason = f"the broker {OFFERS[versions]}; this tool needs version 1 to 4 (Kafka 1.1)"
    assert results.succeeded == {}
    assert {topic: (failure.name, failure.message) for topic, failure in results.failed.items()} == {
        "t": ("UNSUPPORTED_VERSION", reason),
        "u": ("UNSUPPORTED_VERSION", reason),
    }
