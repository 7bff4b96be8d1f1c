"""Producers of partitions, as leaders know them, with their open transactions (KIP-664)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import IsolationLevel
from kafka_groups.model import TopicPartition
from tests.live.groups.clients import open_admin
from tests.live.groups.topics import make_topic, unique_name
from tests.live.groups.transactions import open_transaction

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

_CLOCK_MS = 60_000


def test_an_open_transaction_begins_at_the_last_stable_offset(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap, partitions=2, records=8)
    key, absent = TopicPartition(topic, 0), TopicPartition(unique_name("absent"), 0)
    with open_transaction(cluster.bootstrap, unique_name("group"), topic, offset=1) as producer:
        producer.produce(topic, b"open", partition=0)
        producer.flush(30)
        with open_admin(cluster.bootstrap) as admin:
            described = admin.describe_producers([key, TopicPartition(topic, 1), absent])
            stable_end = admin.list_offsets([key], isolation_level=IsolationLevel.READ_COMMITTED).all()[key]
            log_end = admin.list_offsets([key]).all()[key]
    (open_one,) = (each for each in described.succeeded[key] if each.current_transaction_start_offset is not None)
    assert open_one.current_transaction_start_offset == stable_end
    assert stable_end == (log_end or 0) - 1
    assert open_one.last_timestamp_ms == pytest.approx(time.time() * 1000, abs=_CLOCK_MS)
    others = described.succeeded[TopicPartition(topic, 1)]
    assert all(each.current_transaction_start_offset is None for each in others)
    assert {partition: failure.name for partition, failure in described.failed.items()} == {
        absent: "UNKNOWN_TOPIC_OR_PARTITION"
    }


def test_a_broker_before_2_8_fails_each_partition(kafka_2_5: Cluster) -> None:
    topic = make_topic(kafka_2_5.bootstrap, partitions=1, records=1)
    with open_admin(kafka_2_5.bootstrap) as admin:
        failed = admin.describe_producers([(topic, 0)]).failed
    assert {key: failure.name for key, failure in failed.items()} == {(topic, 0): "UNSUPPORTED_VERSION"}
