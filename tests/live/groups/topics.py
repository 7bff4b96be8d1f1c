"""Topics that no other test has, and records in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from secrets import token_hex

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.admin import GroupAdmin
from kafka_groups.model import TopicPartition
from tests.live.groups.asking import admin_of
from tests.live.groups.waiting import wait_until

_TIMEOUT_S = 30
_RUN = token_hex(2)
_numbers = count(1)


def unique_name(stem: str) -> str:
    """Return a name that no other test and no other worker uses."""
    return f"{stem}-{_RUN}-{next(_numbers)}"


def make_topic(
    bootstrap: str, *, partitions: int = 1, records: int = 0, replicas: Sequence[Sequence[int]] | None = None
) -> str:
    """Make a topic with as many records in each partition, and return its name once all partitions have leaders.

    `replicas` names the brokers of each partition; otherwise each stands on one, as the controller likes.
    """
    topic = unique_name("topic")
    wanted = (
        NewTopic(topic, partitions, 1)
        if replicas is None
        else NewTopic(topic, len(replicas), replica_assignment=[list(brokers) for brokers in replicas])
    )
    client = AdminClient(quiet(bootstrap))  # dropped before the result, it takes the request back
    client.create_topics([wanted])[topic].result(_TIMEOUT_S)
    every = [TopicPartition(topic, number) for number in range(len(replicas or range(partitions)))]
    with admin_of(bootstrap) as admin:
        wait_until(lambda: not admin.list_offsets(every).failed, lambda: f"{topic} has no leaders")
    if records:
        fill(bootstrap, topic, partitions=len(every), records=records)
    return topic


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic, and return once no group has a commit on it any more."""
    client = AdminClient(quiet(bootstrap))
    client.delete_topics([topic])[topic].result(_TIMEOUT_S)
    with admin_of(bootstrap) as admin:
        wait_until(lambda: not _is_committed(admin, topic), lambda: f"{topic} is deleted and has commits")


def _is_committed(admin: GroupAdmin, topic: str) -> bool:
    found = admin.list_consumer_group_offsets(dict.fromkeys(admin.list_groups().succeeded)).succeeded
    return any(topic == told for offsets in found.values() for told, _ in offsets.partitions())


def fill(bootstrap: str, topic: str, *, partitions: int, records: int) -> None:
    """Write that many records to each partition."""
    producer = Producer(quiet(bootstrap) | {"linger.ms": 5})
    for partition in range(partitions):
        for number in range(records):
            producer.produce(topic, value=str(number), partition=partition)
    assert producer.flush(_TIMEOUT_S) == 0


def quiet(bootstrap: str) -> dict[str, str | int | float | bool]:
    """What every client of librdkafka is given here."""
    return {"bootstrap.servers": bootstrap, "log_level": 0}
