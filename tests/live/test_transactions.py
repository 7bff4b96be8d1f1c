"""Offsets that an open transaction may still change, and all that a commit may carry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_groups.model import CommittedOffset
from tests.live.groups.asking import admin_of, ask
from tests.live.groups.members import simple
from tests.live.groups.raw import commit_annotated
from tests.live.groups.topics import make_topic, quiet, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

METADATA = "größe ✓ 雪 " + "m" * 284  # 300 bytes and not a one more
_TIMEOUT_S = 30


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=8)


@contextmanager
def _open_transaction(bootstrap: str, group: str, topic: str, *, offset: int) -> Iterator[Producer]:
    """A transaction that commits an offset for partition 0 of the topic, not yet ended; aborted if it still is not."""
    producer = Producer(quiet(bootstrap) | {"transactional.id": unique_name("transaction")})
    consumer = Consumer(quiet(bootstrap) | {"group.id": group})
    try:
        producer.init_transactions(_TIMEOUT_S)
        producer.begin_transaction()
        offsets = [TopicPartition(topic, 0, offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), _TIMEOUT_S)
        yield producer
        producer.abort_transaction(_TIMEOUT_S)
    finally:
        consumer.close()


def test_offsets_in_an_open_transaction_are_waited_for_only_if_asked(cluster: Cluster, topic: str) -> None:
    commits = [(topic, 0, 3), (topic, 1, 4)]
    with (
        simple(cluster.bootstrap, commits=commits) as group,
        _open_transaction(cluster.bootstrap, group, topic, offset=7),
    ):
        plain = ask(cluster.bootstrap, "offsets", group)
        stable = ask(cluster.bootstrap, "offsets", group, "--stable", "--timeout", "2s")

    assert [row[2:4] for row in plain.rows[1:]] == [["0", "3"], ["1", "4"]]
    assert (plain.err, plain.code) == ("", 0)
    assert "transaction" in stable.err
    assert len(stable.notes) == 1
    assert stable.code in {1, 3}


def test_an_open_transaction_hides_only_the_partition_that_it_commits_for(cluster: Cluster, topic: str) -> None:
    commits = [(topic, 0, 3), (topic, 1, 4)]
    with (
        simple(cluster.bootstrap, commits=commits) as group,
        _open_transaction(cluster.bootstrap, group, topic, offset=7),
    ):
        answer = ask(cluster.bootstrap, "offsets", group, "--stable", "--timeout", "2s", "--format", "json")

    told = [(each["group"], each["topic"], each["partition"], each["code"]) for each in answer.json["errors"]]
    assert told == [(group, topic, 0, 88)]
    assert [(row["partition"], row["committed_offset"]) for row in answer.json["groups"][0]["offsets"]] == [(1, 4)]
    assert (answer.json["status"], answer.code) == ("partial", 3)


def test_a_transaction_that_ends_in_time_is_waited_for(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as group:
        with _open_transaction(cluster.bootstrap, group, topic, offset=7) as producer:
            producer.commit_transaction(_TIMEOUT_S)
            producer.begin_transaction()
        answer = ask(cluster.bootstrap, "offsets", group, "--stable")

    assert [row[2:4] for row in answer.rows[1:]] == [["0", "7"]]
    assert (answer.err, answer.code) == ("", 0)


def test_a_commit_keeps_its_metadata_and_leader_epoch(cluster: Cluster, topic: str) -> None:
    group = unique_name("annotated")
    commit_annotated(cluster.bootstrap, group, topic, partition=0, offset=5, leader_epoch=0, metadata=METADATA)
    commit_annotated(cluster.bootstrap, group, topic, partition=1, offset=6, leader_epoch=-1, metadata="")
    with admin_of(cluster.bootstrap) as admin:
        found = admin.list_consumer_group_offsets({group: None}).all()[group]
    verbose = ask(cluster.bootstrap, "describe", group, "--verbose", "--format", "json")

    assert len(METADATA.encode()) == 300
    assert dict(found.rows()) == {
        (topic, 0): CommittedOffset(offset=5, leader_epoch=0, metadata=METADATA),
        (topic, 1): CommittedOffset(offset=6, leader_epoch=None, metadata=""),
    }
    first, second = verbose.json["groups"][0]["offsets"]
    assert (first["metadata"], first["leader_epoch"], first["log_start_offset"]) == (METADATA, 0, 0)
    assert (second["metadata"], second["leader_epoch"], second["lag"]) == ("", None, 2)
