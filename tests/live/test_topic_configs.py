"""Configurations of topics, as brokers return them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION
from tests.live.groups.clients import open_admin
from tests.live.groups.topics import client_properties, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live


def test_a_topic_has_the_retention_that_it_was_created_with(cluster: Cluster) -> None:
    """A topic that does not exist fails alone, and is not created."""
    topic, absent = unique_name("retention"), unique_name("absent")
    client = AdminClient(client_properties(cluster.bootstrap))
    client.create_topics([NewTopic(topic, 1, 1, config={"retention.ms": "7200000"})])[topic].result(30)
    with open_admin(cluster.bootstrap) as admin:
        read = admin.describe_topic_configs([topic, absent], ("retention.ms", "cleanup.policy"))
    assert read.succeeded == {topic: {"retention.ms": "7200000", "cleanup.policy": "delete"}}
    assert {name: failure.code for name, failure in read.failed.items()} == {absent: UNKNOWN_TOPIC_OR_PARTITION}
