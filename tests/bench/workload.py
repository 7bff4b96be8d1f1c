"""A workload: a topic with records, and any number of Empty groups with a commit on each of its partitions."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.protocol.messages import LIST_GROUPS, OFFSET_FETCH

from .connection import OFFSET_COMMIT, BrokerConnection, group_by_coordinator
from .programs import Digest, digest_of_ids

PARTITIONS: Final = 12
RECORDS: Final = 1_000  # in each partition
TOPIC: Final = "bench-topic"
# A group on a topic of many partitions, with nothing read of any of them.
WIDE_TOPIC: Final = "bench-wide"
WIDE_GROUP: Final = "bench-wide-group-000000"
WIDE_PARTITIONS: Final = 1_008
_COMMIT_VERSION: Final = 8
_FETCH_VERSION: Final = 8
_LIST_VERSION: Final = 4
# A broker handles one request of a connection at a time, and writes commits of several connections together.
_CONNECTIONS: Final = 24
_MAX_FETCHED: Final = 1_000


def create_topic(
    bootstrap: str, partitions: int = PARTITIONS, *, topic: str = TOPIC, records: int = RECORDS, replicas: int = 3
) -> None:
    """Create a topic, and write its records."""
    brokers = bootstrap.count(",") + 1
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, min(replicas, brokers))], operation_timeout=60)[topic].result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for partition in range(partitions):
        for _ in range(records):
            producer.produce(topic, b"", partition=partition)
            producer.poll(0)
    if remaining := producer.flush(60):
        msg = f"{remaining} records were not written"
        raise RuntimeError(msg)


def create_groups(bootstrap: str, numbers: range, partitions: int = PARTITIONS) -> None:
    """Create the groups of these numbers, with a commit on every partition."""
    batches = [
        (coordinator, groups[at::_CONNECTIONS], partitions)
        for coordinator, groups in group_by_coordinator(bootstrap, map(group_name, numbers)).items()
        for at in range(_CONNECTIONS)
    ]
    stop = threading.Event()
    with ThreadPoolExecutor(len(batches)) as pool:
        for future in [pool.submit(_commit, *batch, stop) for batch in batches]:
            try:
                future.result()
            except BaseException:
                stop.set()
                raise


def create_wide_group(bootstrap: str) -> None:
    """Create the topic of many partitions, and a group that has read none of its records."""
    create_topic(bootstrap, WIDE_PARTITIONS, topic=WIDE_TOPIC, records=10, replicas=1)
    offsets = [TopicPartition(WIDE_TOPIC, partition, 0) for partition in range(WIDE_PARTITIONS)]
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": WIDE_GROUP})
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


def remove_wide_group(bootstrap: str) -> None:
    """Delete both again, so that other measurements do not find them."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for pending in (*admin.delete_consumer_groups([WIDE_GROUP]).values(), *admin.delete_topics([WIDE_TOPIC]).values()):
        pending.result()


def fetch_commits(bootstrap: str, groups: Iterable[str]) -> Digest:
    """Return the number of commits of these groups, and the sum of their offsets."""
    offsets: list[int] = []
    for coordinator, names in group_by_coordinator(bootstrap, groups).items():
        with BrokerConnection(coordinator) as connection:
            for at in range(0, len(names), _MAX_FETCHED):
                wanted = [{"group_id": name, "topics": None} for name in names[at : at + _MAX_FETCHED]]
                body = {"groups": wanted, "require_stable": False}
                payload = connection.send(OFFSET_FETCH, _FETCH_VERSION, body)
                rows = OFFSET_FETCH.read_response(_FETCH_VERSION, payload)["groups"]
                _require_success("one of the groups", (row["error_code"] for row in rows))
                offsets += [
                    each["committed_offset"] for row in rows for topic in row["topics"] for each in topic["partitions"]
                ]
    return Digest(rows=len(offsets), sums=(sum(offsets),))


def list_groups(bootstrap: str) -> set[str]:
    """Return the ids of all groups; each broker lists its own."""
    found: set[str] = set()
    for address in bootstrap.split(","):
        with BrokerConnection(address) as connection:
            payload = connection.send(LIST_GROUPS, _LIST_VERSION, {"states_filter": []})
            response = LIST_GROUPS.read_response(_LIST_VERSION, payload)
            _require_success(f"the groups of {address}", [response["error_code"]])
            found.update(row["group_id"] for row in response["groups"])
    return found


def group_name(number: int) -> str:
    """Return the id of a group."""
    return f"bench-group-{number:06d}"


def expected_rows(groups: int) -> Digest:
    """Return the sums of a correct output of describe."""
    rows = groups * PARTITIONS
    committed = sum(_offset(number, partition) for number in range(groups) for partition in range(PARTITIONS))
    return Digest(rows=rows, sums=(committed, rows * RECORDS))


def expected_ids(groups: int) -> Digest:
    """Return the sums of a correct output of list."""
    return digest_of_ids(map(group_name, range(groups)))


def _offset(number: int, partition: int) -> int:
    return (number * PARTITIONS + partition) % (RECORDS + 1)


def _commit(coordinator: str, groups: Sequence[str], partitions: int, stop: threading.Event) -> None:
    with BrokerConnection(coordinator) as connection:
        for group in groups:
            if stop.is_set():
                return
            payload = connection.send(
                OFFSET_COMMIT, _COMMIT_VERSION, {"group_id": group, "topics": [_commits(group, partitions)]}
            )
            response = OFFSET_COMMIT.read_response(_COMMIT_VERSION, payload)
            _require_success(group, (row["error_code"] for topic in response["topics"] for row in topic["partitions"]))


def _commits(group: str, partitions: int) -> dict[str, object]:
    number = int(group.rpartition("-")[2])
    rows = [
        {"partition_index": partition, "committed_offset": _offset(number, partition), "committed_metadata": ""}
        for partition in range(partitions)
    ]
    return {"name": TOPIC, "partitions": rows}


def _require_success(group: str, codes: Iterable[int]) -> None:
    if error := next((code for code in codes if code), 0):
        msg = f"the request for {group} failed: error {error}"
        raise RuntimeError(msg)
