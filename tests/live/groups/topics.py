"""Topics that no other test uses, and records in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from secrets import token_hex

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as TopicPartitionOffset
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.admin import GroupAdmin
from kafka_groups.model import TopicPartition
from tests.live.groups.clients import open_admin
from tests.live.groups.conditions import wait_until

_TIMEOUT_S = 30
_RUN = token_hex(2)
_numbers = count(1)


def unique_name(stem: str) -> str:
    """Return a name that no other test and no other worker uses."""
    return f"{stem}-{_RUN}-{next(_numbers)}"


def make_topic(
    bootstrap: str,
    *,
    partitions: int = 1,
    records: int = 0,
    replicas: Sequence[Sequence[int]] | None = None,
    name: str | None = None,
) -> str:
    """Create a topic with that many records in each partition; return its name once all partitions have leaders.

    `replicas` names the brokers of each partition; otherwise the controller places each on one broker.
    """
    topic = name or unique_name("topic")
    new_topic = (
        NewTopic(topic, partitions, 1)
        if replicas is None
        else NewTopic(topic, len(replicas), replica_assignment=[list(brokers) for brokers in replicas])
    )
    client = AdminClient(client_properties(bootstrap))  # in a variable: its collection cancels the request
    client.create_topics([new_topic])[topic].result(_TIMEOUT_S)
    every = [TopicPartition(topic, number) for number in range(len(replicas or range(partitions)))]
    with open_admin(bootstrap) as admin:
        wait_until(lambda: not admin.list_offsets(every).failed, lambda: f"{topic} has no leaders")
    if records:
        fill(bootstrap, topic, partitions=len(every), records=records)
    return topic


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic, and return once no group has a commit on it."""
    client = AdminClient(client_properties(bootstrap))
    client.delete_topics([topic])[topic].result(_TIMEOUT_S)
    with open_admin(bootstrap) as admin:
        wait_until(
            lambda: not _is_committed(admin, topic), lambda: f"{topic} is deleted, but groups have commits on it"
        )


def _is_committed(admin: GroupAdmin, topic: str) -> bool:
    found = admin.list_consumer_group_offsets(dict.fromkeys(admin.list_groups().succeeded)).succeeded
    return any(topic == name for offsets in found.values() for name, _ in offsets.partitions())


def fill(bootstrap: str, topic: str, *, partitions: int, records: int) -> None:
    """Write that many records to each partition."""
    producer = Producer(client_properties(bootstrap) | {"linger.ms": 5})
    for partition in range(partitions):
        for number in range(records):
            producer.produce(topic, value=str(number), partition=partition)
    assert producer.flush(_TIMEOUT_S) == 0


def fill_at(bootstrap: str, topic: str, *, partitions: int, records: int, time_ms: int) -> None:
    """Write that many records with this time to each partition."""
    producer = Producer(client_properties(bootstrap) | {"linger.ms": 5})
    for partition in range(partitions):
        for number in range(records):
            producer.produce(topic, value=str(number), partition=partition, timestamp=time_ms)
    assert producer.flush(_TIMEOUT_S) == 0


def delete_records(bootstrap: str, topic: str, partition: int, *, before: int) -> None:
    """Delete the records of a partition before an offset, which is the log start offset from then on."""
    client = AdminClient(client_properties(bootstrap))
    for future in client.delete_records([TopicPartitionOffset(topic, partition, before)]).values():
        future.result(_TIMEOUT_S)


def client_properties(bootstrap: str) -> dict[str, str | int | float | bool]:
    """Return the properties that every librdkafka client of the live tests has."""
    return {"bootstrap.servers": bootstrap, "log_level": 0}
