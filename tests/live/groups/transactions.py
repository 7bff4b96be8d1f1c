"""Transactions that write records or commit offsets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.live.groups.topics import client_properties, unique_name

_TIMEOUT_S = 30


@contextmanager
def open_transaction(bootstrap: str, group: str, topic: str, *, offset: int) -> Iterator[Producer]:
    """Yield the producer of an open transaction with an offset for partition 0; abort it if it is still open."""
    producer = Producer(client_properties(bootstrap) | {"transactional.id": unique_name("transaction")})
    consumer = Consumer(client_properties(bootstrap) | {"group.id": group})
    try:
        producer.init_transactions(_TIMEOUT_S)
        producer.begin_transaction()
        offsets = [TopicPartition(topic, 0, offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), _TIMEOUT_S)
        yield producer
        producer.abort_transaction(_TIMEOUT_S)
    finally:
        consumer.close()


def begin_transaction(bootstrap: str, transactional_id: str, topic: str, *, partition: int) -> Producer:
    """Write a record in a transaction, and return its producer; the transaction stays open for ten minutes."""
    settings = {"transactional.id": transactional_id, "transaction.timeout.ms": 600_000}
    producer = Producer(client_properties(bootstrap) | settings)
    producer.init_transactions(_TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=partition)
    producer.flush(_TIMEOUT_S)
    return producer


def commit_records(bootstrap: str, transactional_id: str, topic: str, *, partitions: int, records: int) -> None:
    """Write records to each partition in one transaction, and commit it."""
    producer = Producer(client_properties(bootstrap) | {"transactional.id": transactional_id})
    producer.init_transactions(_TIMEOUT_S)
    producer.begin_transaction()
    for partition in range(partitions):
        for _ in range(records):
            producer.produce(topic, b"committed", partition=partition)
    producer.commit_transaction(_TIMEOUT_S)
