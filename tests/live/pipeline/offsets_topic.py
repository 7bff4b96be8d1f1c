"""`__consumer_offsets` as a plain client of Kafka sees it, and ways to write to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.pipeline.facts.decode.records import RawRecords, decode
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS
from tests.live.groups.conditions import wait_until
from tests.live.groups.topics import client_properties, unique_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.store import Storage

TOPIC = "__consumer_offsets"
IDENTITY = ("source_partition", "source_offset", "group", "topic", "partition", "committed_offset")
_TIMEOUT_S = 30

Rows = Counter[tuple[Any, ...]]


def commit(bootstrap: str, group: str, topic: str, *offsets: int, metadata: str = "") -> None:
    """One commit after the other for partition 0 of the topic, of a group without members."""
    admin = AdminClient(client_properties(bootstrap))
    for offset in offsets:
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, offset, metadata)])
        # A coordinator that has just been made refuses at first, partition by partition.
        wait_until(partial(_commit, admin, wanted), lambda: f"{group} could not commit")


def _commit(admin: AdminClient, wanted: ConsumerGroupTopicPartitions) -> bool:
    done = admin.alter_consumer_group_offsets([wanted])[wanted.group_id].result(_TIMEOUT_S)
    return all(place.error is None for place in done.topic_partitions)


def commit_and_abort(bootstrap: str, group: str, topic: str, offset: int) -> None:
    """A commit inside a transaction that is given up."""
    with open_transaction(bootstrap, group, topic, offset) as producer:
        producer.abort_transaction(_TIMEOUT_S)


def commit_in_transaction(bootstrap: str, group: str, topic: str, offset: int) -> None:
    """A commit inside a transaction that is committed."""
    with open_transaction(bootstrap, group, topic, offset) as producer:
        producer.commit_transaction(_TIMEOUT_S)


@contextmanager
def open_transaction(bootstrap: str, group: str, topic: str, offset: int) -> Iterator[Producer]:
    """The producer of a transaction that holds a commit and has not ended."""
    producer = Producer(client_properties(bootstrap) | {"transactional.id": unique_name("transaction")})
    consumer = Consumer(client_properties(bootstrap) | {"group.id": group})
    try:
        producer.init_transactions(_TIMEOUT_S)
        producer.begin_transaction()
        where = [TopicPartition(topic, 0, offset)]
        producer.send_offsets_to_transaction(where, consumer.consumer_group_metadata(), _TIMEOUT_S)
        yield producer
    finally:
        consumer.close()


def delete(bootstrap: str, group: str) -> None:
    """The group goes, with a record that says so and one for each of its commits."""
    admin = AdminClient(client_properties(bootstrap))  # nobody responds once it is deleted
    admin.delete_consumer_groups([group])[group].result(_TIMEOUT_S)


def read_directly(bootstrap: str) -> Rows:
    """The commits that are there now, by a consumer that knows nothing of the pipeline."""
    found = _records(bootstrap)
    return Counter(tuple(row[name] for name in IDENTITY) for row in found if row["kind"] == "offset_commit")


def places(bootstrap: str) -> Rows:
    """Partition and offset of every record that is there now, whatever it says."""
    return Counter((row["source_partition"], row["source_offset"]) for row in _records(bootstrap))


def _records(bootstrap: str) -> list[dict[str, Any]]:
    settings = {"group.id": unique_name("reader"), "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer(
        client_properties(bootstrap) | settings | {"isolation.level": "read_committed", "fetch.wait.max.ms": 10}
    )
    found: list[dict[str, Any]] = []
    try:
        partitions = consumer.list_topics(TOPIC, timeout=_TIMEOUT_S).topics[TOPIC].partitions
        for partition in partitions:
            consumer.assign([TopicPartition(TOPIC, partition, 0)])
            found += _rows_of(partition, consumer)
    finally:
        consumer.close()
    return found


def _rows_of(partition: int, consumer: Consumer) -> list[dict[str, Any]]:
    messages: list[Any] = []
    while (message := consumer.poll(_TIMEOUT_S)) is not None and message.error() is None:
        messages.append(message)
    columns = [
        [message.offset() for message in messages],
        [message.timestamp()[1] for message in messages],
        [message.key() for message in messages],
        [message.value() for message in messages],
    ]
    rows: list[dict[str, Any]] = decode(
        pa.record_batch(columns, schema=RawRecords.schema()), "any", partition
    ).to_pylist()
    return rows


def commits_in(spark: SparkSession, storage: Storage) -> Rows:
    """What the table holds of them."""
    return Counter(tuple(row) for row in storage.read(spark, OFFSET_COMMITS).select(*IDENTITY).collect())


def places_in(spark: SparkSession, storage: Storage) -> Rows:
    """Partition and offset of all that the tables hold of records."""
    tables = [storage.read(spark, table) for table in (OFFSET_COMMITS, GROUP_EVENTS, UNKNOWN_RECORDS)]
    rows = [row for table in tables for row in table.select("source_partition", "source_offset").collect()]
    return Counter(map(tuple, rows))


def missing_in(spark: SparkSession, storage: Storage) -> int:
    """How many offsets the tables say held no record."""
    return sum(row["missing"] for row in storage.read(spark, INGEST_GAPS).collect())
