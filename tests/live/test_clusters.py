"""The clusters of the live tests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


def _brokers(cluster: Cluster) -> set[int]:
    client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    return set(client.list_topics(timeout=10).brokers)


@pytest.mark.timed
def test_a_broker_can_be_stopped_and_started_again(cluster: Cluster) -> None:
    cluster.stop_broker(2)
    deadline = time.monotonic() + 20
    while _brokers(cluster) != {1, 3}:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    cluster.start_broker(2)

    assert _brokers(cluster) == {1, 2, 3}


def test_kafkas_own_tool_runs_against_every_version(
    cluster: Cluster, kafka_4_4: Cluster, kafka_2_8: Cluster, kafka_2_5: Cluster, kafka_tool: KafkaTool
) -> None:
    for each in (cluster, kafka_4_4, kafka_2_8, kafka_2_5):
        _, errors, code = kafka_tool(each, "--list")
        assert (errors, code) == ("", 0), each.version
