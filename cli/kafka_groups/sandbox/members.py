"""The background process of a seeded sandbox: creates its topics and groups, then polls their members.

`python -m kafka_groups.sandbox.members BOOTSTRAP VERSION PROGRESS_FILE` writes its progress to the file. It ends when
that file is deleted, because the sandbox was taken down, or when the cluster has returned nothing for a minute.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.files import write_atomically
from kafka_groups.sandbox.group_fixtures import Member, ShareMember, start_group
from kafka_groups.sandbox.seed_data import CLICKS, TOPICS, Group, Kind, groups_for
from kafka_groups.sandbox.versions import parse_version

_POLL_S = 0.05
_CLICK_INTERVAL_S = 0.2
_MOST_CLICKS = 5 * 60 * 60 * 12  # twelve hours of growing lag are enough for any demo
_CLUSTER_TIMEOUT_S = 60.0
_CLUSTER_CHECK_INTERVAL_S = 15.0


def main(arguments: Sequence[str]) -> None:
    """Seed the cluster, write that to the progress file, and poll the members until the sandbox is down."""
    bootstrap, version, file = arguments
    progress = Path(file)
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    _create_topics(client)
    _fill_topics(producer)
    clicks = _produce_clicks(producer)
    groups = groups_for(parse_version(version))
    members: list[Member | ShareMember] = []
    for group in groups:
        members.extend(start_group(bootstrap, group))
        _poll(members, clicks)
    while missing := _find_missing(client, groups, members):
        _report(progress, {"missing": missing})
        _poll(members, clicks)
    _report(progress, {"seeded": "yes"})
    _poll_until_down(client, progress, members, clicks)


def _create_topics(client: AdminClient) -> None:
    replicas = min(len(client.list_topics(timeout=10).brokers), 3)
    topics = [NewTopic(topic.name, topic.partitions, replicas) for topic in TOPICS]
    for created in client.create_topics(topics).values():
        created.result(timeout=30)


def _fill_topics(producer: Producer) -> None:
    for topic in TOPICS:
        for number in range(topic.records):
            value = json.dumps({"id": f"{topic.name}-{number}"})
            # The partitions take turns, so that every sandbox has the same offsets.
            producer.produce(topic.name, value=value, partition=number % topic.partitions)
    if remaining := producer.flush(30):
        msg = f"{remaining} records could not be written"
        raise TimeoutError(msg)


def _produce_clicks(producer: Producer) -> Iterator[None]:
    """Produce the clicks that are due, each time the iterator is advanced."""
    due = time.monotonic()
    for number in range(_MOST_CLICKS):
        while time.monotonic() < due:
            yield
        due += _CLICK_INTERVAL_S
        with contextlib.suppress(BufferError):  # no broker is reachable; clicks that are not written do not matter
            producer.produce(CLICKS.name, value="{}", partition=number % CLICKS.partitions)
        producer.poll(0)
    while True:
        yield


def _find_missing(client: AdminClient, groups: Sequence[Group], members: Sequence[Member | ShareMember]) -> str:
    """Return a sentence about the first group that is not in its state yet; empty if all groups are."""
    if any(isinstance(member, ShareMember) and not member.has_read for member in members):
        return "the share group has read nothing yet"
    expected = {group.name: group for group in groups if group.kind is not Kind.SHARE}
    for name, future in client.describe_consumer_groups(list(expected)).items():
        try:
            description = future.result(timeout=10)
        except KafkaException as error:
            return f"group {name} cannot be described: {error}"
        found = (description.state.name, len(description.members))
        if found != (expected[name].state, expected[name].members):
            return f"group {name} is {found[0]} with {found[1]} members"
    return next(filter(None, (_find_uncommitted(client, group) for group in groups)), "")


def _find_uncommitted(client: AdminClient, group: Group) -> str:
    if group.kind is not Kind.LIVE:
        return ""
    futures = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group.name)])
    committed = futures[group.name].result(timeout=10).topic_partitions or []
    partitions = sum(topic.partitions for topic in TOPICS if topic.name in group.topics)
    return "" if len(committed) == partitions else f"group {group.name} has not committed all its partitions"


def _poll(members: Sequence[Member | ShareMember], clicks: Iterator[None]) -> None:
    for member in members:
        member.poll()
    next(clicks)
    time.sleep(_POLL_S)


def _poll_until_down(
    client: AdminClient,
    progress: Path,
    members: Sequence[Member | ShareMember],
    clicks: Iterator[None],
) -> None:
    last_response = last_check = time.monotonic()
    while progress.exists() and time.monotonic() - last_response < _CLUSTER_TIMEOUT_S:
        with contextlib.suppress(KafkaException):  # a broker may be restarting
            _poll(members, clicks)
        if time.monotonic() - last_check > _CLUSTER_CHECK_INTERVAL_S:
            last_check = time.monotonic()
            with contextlib.suppress(KafkaException):
                client.list_topics(timeout=2)
                last_response = time.monotonic()


def _report(progress: Path, content: dict[str, str]) -> None:
    write_atomically(progress, json.dumps(content))


if __name__ == "__main__":
    main(sys.argv[1:])
