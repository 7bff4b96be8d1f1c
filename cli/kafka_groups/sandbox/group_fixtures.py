"""Making each kind of group with librdkafka: who stays on stage is returned, to be polled from then on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from kafka_groups.sandbox.seed_data import TOPICS, Group, Kind

if TYPE_CHECKING:
    from confluent_kafka import ShareConsumer

# librdkafka's longest: so long a rebalance waits for a member that is not polled.
_DAY_MS = 86_400_000
_JOIN_TIMEOUT_S = 30.0
_PARTITIONS = {topic.name: topic.partitions for topic in TOPICS}


@dataclass(kw_only=True)
class Member:
    """A live member: each turn lets it read, at most `appetite` records every `period_s` seconds."""

    consumer: Consumer
    appetite: int = 100
    period_s: float = 0.0
    after_assignment: Callable[[Consumer], None] | None = None
    _next: float = field(default=0.0, init=False)

    def turn(self) -> None:
        """Read what is there, without waiting."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self.period_s
        self.consumer.consume(self.appetite, timeout=0)
        if self.after_assignment is not None and self.consumer.assignment():
            self.after_assignment(self.consumer)
            self.after_assignment = None


@dataclass(kw_only=True)
class ShareMember:
    """A live member of a share group; `has_read` tells that its group works."""

    consumer: ShareConsumer
    has_read: bool = False

    def turn(self) -> None:
        """Take what is there; the next turn acknowledges it."""
        self.has_read = bool(list(self.consumer.poll(0))) or self.has_read


def enter(bootstrap: str, group: Group) -> Iterator[Member | ShareMember]:
    """Bring a group about and yield the members that stay."""
    if group.kind in {Kind.SIMPLE, Kind.SLOW, Kind.STUCK}:
        _commit_alone(bootstrap, group)
    match group.kind:
        case Kind.LIVE | Kind.SLOW | Kind.PARTLY:
            for number in range(1, group.members + 1):
                yield _live(_join(bootstrap, group, number), group.kind)
        case Kind.LEFT:
            _commit_and_leave(bootstrap, group)
        case Kind.SIMPLE:
            return
        case Kind.STUCK:
            yield _stuck(bootstrap, group)
        case Kind.SHARE:
            yield from _share(bootstrap, group)


def _live(consumer: Consumer, kind: Kind) -> Member:
    if kind is Kind.SLOW:
        return Member(consumer=consumer, appetite=1, period_s=1.0)
    if kind is Kind.PARTLY:
        return Member(consumer=consumer, period_s=1.0, after_assignment=_commit_two)
    return Member(consumer=consumer)


def _join(bootstrap: str, group: Group, number: int, *, on_revoke: bool = False) -> Consumer:
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap,
        "group.id": group.name,
        "client.id": f"{group.name}-{number}",
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 500,
        "enable.auto.commit": group.kind in {Kind.LIVE, Kind.SLOW},
        "log_level": 0,
    }
    if group.static:
        settings["group.instance.id"] = f"{group.name}-{number}"
    if group.consumer_protocol:
        settings["group.protocol"] = "consumer"
    if group.kind is Kind.STUCK:
        settings["max.poll.interval.ms"] = _DAY_MS
    consumer = Consumer(settings)
    if on_revoke:  # with a callback, librdkafka gives partitions back only when it is polled
        consumer.subscribe(list(group.topics), on_revoke=lambda *_: None)
    else:
        consumer.subscribe(list(group.topics))
    return consumer


def _stuck(bootstrap: str, group: Group) -> Member:
    """Return a member that joins after one that will never be polled again."""
    _ABANDONED.append(silent := _join(bootstrap, group, 1, on_revoke=True))
    _await_assignment(silent)
    return Member(consumer=_join(bootstrap, group, 2))


# Dropped, the consumer would leave its group, and the rebalance would end.
_ABANDONED: list[Consumer] = []


def _commit_and_leave(bootstrap: str, group: Group) -> None:
    consumer = _join(bootstrap, group, 1)
    try:
        _await_assignment(consumer)
        consumer.commit(offsets=_somewhere(group), asynchronous=False)
    finally:
        consumer.close()


def _commit_alone(bootstrap: str, group: Group) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group.name, "log_level": 0})
    try:
        consumer.assign(_somewhere(group))
        consumer.commit(offsets=_somewhere(group), asynchronous=False)
    finally:
        consumer.close()


def _commit_two(consumer: Consumer) -> None:
    consumer.commit(offsets=[TopicPartition("orders", 0, 40), TopicPartition("orders", 1, 25)])


def _somewhere(group: Group) -> list[TopicPartition]:
    return [
        TopicPartition(topic, partition, 25 - 3 * partition)
        for topic in group.topics
        for partition in range(_PARTITIONS[topic])
    ]


def _await_assignment(consumer: Consumer) -> None:
    deadline = time.monotonic() + _JOIN_TIMEOUT_S
    while not consumer.assignment():
        consumer.poll(0.05)
        if time.monotonic() > deadline:
            msg = "a member got no partitions in time"
            raise TimeoutError(msg)


def _share(bootstrap: str, group: Group) -> Iterator[ShareMember]:
    try:
        from confluent_kafka import ShareConsumer
    except ImportError:  # confluent-kafka before 2.16
        return
    settings = {"bootstrap.servers": bootstrap, "group.id": group.name, "log_level": 0}
    consumer = ShareConsumer({**settings, "client.id": f"{group.name}-1"})
    consumer.subscribe(list(group.topics))
    yield ShareMember(consumer=consumer)
