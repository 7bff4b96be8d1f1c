"""The background process of a seeded sandbox: creates what the story tells, then plays its members.

`python -m kafka_groups.sandbox.members BOOTSTRAP VERSION PROGRESS_FILE` writes how far it is into the
file, and ends when that file is gone (the sandbox was taken down) or the cluster stays silent.
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

from kafka_groups.sandbox.group_fixtures import Member, ShareMember, enter
from kafka_groups.sandbox.seed_data import CLICKS, TOPICS, Group, Kind, groups_for
from kafka_groups.sandbox.versions import parse_version

_TURN_S = 0.05
_CLICK_EVERY_S = 0.2
_MOST_CLICKS = 5 * 60 * 60 * 12  # twelve hours of growing lag are enough for any demo
_SILENCE_S = 60.0
_LOOK_EVERY_S = 15.0


def main(arguments: Sequence[str]) -> None:
    """Seed the cluster, say so, and play until it is gone."""
    bootstrap, version, file = arguments
    progress = Path(file)
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    _create_topics(client)
    _fill_topics(producer)
    clicks = _clicks(producer)
    groups = groups_for(parse_version(version))
    players: list[Member | ShareMember] = []
    for group in groups:
        players.extend(enter(bootstrap, group))
        _turn(players, clicks)
    while missing := _missing(client, groups, players):
        _report(progress, {"missing": missing})
        _turn(players, clicks)
    _report(progress, {"seeded": "yes"})
    _play(client, progress, players, clicks)


def _create_topics(client: AdminClient) -> None:
    copies = min(len(client.list_topics(timeout=10).brokers), 3)
    topics = [NewTopic(topic.name, topic.partitions, copies) for topic in TOPICS]
    for created in client.create_topics(topics).values():
        created.result(timeout=30)


def _fill_topics(producer: Producer) -> None:
    for topic in TOPICS:
        for number in range(topic.records):
            value = json.dumps({"id": f"{topic.name}-{number}"})
            # Partition by partition in turn, so that every sandbox has the same offsets.
            producer.produce(topic.name, value=value, partition=number % topic.partitions)
    if left := producer.flush(30):
        msg = f"{left} records could not be written"
        raise TimeoutError(msg)


def _clicks(producer: Producer) -> Iterator[None]:
    """Write a click at its time, whenever asked to go on."""
    due = time.monotonic()
    for number in range(_MOST_CLICKS):
        while time.monotonic() < due:
            yield
        due += _CLICK_EVERY_S
        with contextlib.suppress(BufferError):  # the brokers are away; what was not written is no loss
            producer.produce(CLICKS.name, value="{}", partition=number % CLICKS.partitions)
        producer.poll(0)
    while True:
        yield


def _missing(client: AdminClient, groups: Sequence[Group], players: Sequence[Member | ShareMember]) -> str:
    """Return which group is not yet as the story wants it, in words; empty if all are."""
    if any(isinstance(player, ShareMember) and not player.has_read for player in players):
        return "the share group has read nothing yet"
    wanted = {group.name: group for group in groups if group.kind is not Kind.SHARE}
    for name, answer in client.describe_consumer_groups(list(wanted)).items():
        try:
            found = answer.result(timeout=10)
        except KafkaException as error:
            return f"group {name} cannot be described: {error}"
        seen = (found.state.name, len(found.members))
        if seen != (wanted[name].state, wanted[name].members):
            return f"group {name} is {seen[0]} with {seen[1]} members"
    return next(filter(None, (_uncommitted(client, group) for group in groups)), "")


def _uncommitted(client: AdminClient, group: Group) -> str:
    if group.kind is not Kind.LIVE:
        return ""
    asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group.name)])
    committed = asked[group.name].result(timeout=10).topic_partitions or []
    wanted = sum(topic.partitions for topic in TOPICS if topic.name in group.topics)
    return "" if len(committed) == wanted else f"group {group.name} has not committed everywhere"


def _turn(players: Sequence[Member | ShareMember], clicks: Iterator[None]) -> None:
    for player in players:
        player.turn()
    next(clicks)
    time.sleep(_TURN_S)


def _play(
    client: AdminClient,
    progress: Path,
    players: Sequence[Member | ShareMember],
    clicks: Iterator[None],
) -> None:
    heard = looked = time.monotonic()
    while progress.exists() and time.monotonic() - heard < _SILENCE_S:
        with contextlib.suppress(KafkaException):  # a broker that restarts
            _turn(players, clicks)
        if time.monotonic() - looked > _LOOK_EVERY_S:
            looked = time.monotonic()
            with contextlib.suppress(KafkaException):
                client.list_topics(timeout=2)
                heard = time.monotonic()


def _report(progress: Path, news: dict[str, str]) -> None:
    draft = progress.with_suffix(".draft")
    draft.write_text(json.dumps(news), encoding="utf-8")
    draft.replace(progress)


if __name__ == "__main__":
    main(sys.argv[1:])
