"""Creation of groups in each state with librdkafka; the members that stay are returned, for regular polls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from kafka_groups.sandbox.seed_data import TOPICS, Group, Kind

if TYPE_CHECKING:
    from confluent_kafka import ShareConsumer

# The maximum of librdkafka: a rebalance waits this long for a member that does not poll.
_DAY_MS = 86_400_000
_JOIN_TIMEOUT_S = 30.0
_PARTITIONS = {topic.name: topic.partitions for topic in TOPICS}


@dataclass(kw_only=True)
class Member:
    """A live member: reads at most `max_records` records in a poll, and polls at most every `period_s` seconds."""

    consumer: Consumer
    max_records: int = 100
    period_s: float = 0.0
    after_assignment: Callable[[Consumer], None] | None = None
    _next_poll: float = field(default=0.0, init=False)

    def poll(self) -> None:
        """Read the available records without waiting, unless the next poll is not due yet."""
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + self.period_s
        self.consumer.consume(self.max_records, timeout=0)
        if self.after_assignment is not None and self.consumer.assignment():
            self.after_assignment(self.consumer)
            self.after_assignment = None


@dataclass(kw_only=True)
class ShareMember:
    """A live member of a share group; `has_read` is True once it has received a record."""

    consumer: ShareConsumer
    has_read: bool = False

    def poll(self) -> None:
        """Acquire the available records without waiting; the next poll acknowledges them."""
        self.has_read = bool(list(self.consumer.poll(0))) or self.has_read


def start_group(bootstrap: str, group: Group) -> Iterator[Member | ShareMember]:
    """Create a group, and yield its live members, which the caller has to poll.

    Raises TimeoutError if a member receives no partitions.
    """
    if group.kind in {Kind.SIMPLE, Kind.SLOW, Kind.STUCK}:
        _commit_without_joining(bootstrap, group)
    match group.kind:
        case Kind.LIVE | Kind.SLOW | Kind.PARTLY:
            for number in range(1, group.members + 1):
                yield _live_member(_join(bootstrap, group, number), group.kind)
        case Kind.LEFT:
            _commit_and_leave(bootstrap, group)
        case Kind.SIMPLE:
            return
        case Kind.STUCK:
            yield _start_endless_rebalance(bootstrap, group)
        case Kind.SHARE:
            yield from _join_share_group(bootstrap, group)


def _live_member(consumer: Consumer, kind: Kind) -> Member:
    if kind is Kind.SLOW:
        return Member(consumer=consumer, max_records=1, period_s=1.0)
    if kind is Kind.PARTLY:
        return Member(consumer=consumer, period_s=1.0, after_assignment=_commit_two_partitions)
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
    if on_revoke:  # with a callback, librdkafka revokes partitions only in a poll
        consumer.subscribe(list(group.topics), on_revoke=lambda *_: None)
    else:
        consumer.subscribe(list(group.topics))
    return consumer


def _start_endless_rebalance(bootstrap: str, group: Group) -> Member:
    """Return a member that joins after another one that is never polled again."""
    _ABANDONED.append(silent := _join(bootstrap, group, 1, on_revoke=True))
    _await_assignment(silent)
    return Member(consumer=_join(bootstrap, group, 2))


# A consumer without references would be closed and leave its group, and the rebalance would end.
_ABANDONED: list[Consumer] = []


def _commit_and_leave(bootstrap: str, group: Group) -> None:
    consumer = _join(bootstrap, group, 1)
    try:
        _await_assignment(consumer)
        consumer.commit(offsets=_offsets(group), asynchronous=False)
    finally:
        consumer.close()


def _commit_without_joining(bootstrap: str, group: Group) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group.name, "log_level": 0})
    try:
        consumer.assign(_offsets(group))
        consumer.commit(offsets=_offsets(group), asynchronous=False)
    finally:
        consumer.close()


def _commit_two_partitions(consumer: Consumer) -> None:
    consumer.commit(offsets=[TopicPartition("orders", 0, 40), TopicPartition("orders", 1, 25)])


def _offsets(group: Group) -> list[TopicPartition]:
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
            msg = f"a member received no partitions within {_JOIN_TIMEOUT_S:.0f} s"
            raise TimeoutError(msg)


def _join_share_group(bootstrap: str, group: Group) -> Iterator[ShareMember]:
    try:
        from confluent_kafka import ShareConsumer
    except ImportError:  # confluent-kafka before 2.16
        return
    settings = {"bootstrap.servers": bootstrap, "group.id": group.name, "log_level": 0}
    consumer = ShareConsumer({**settings, "client.id": f"{group.name}-1"})
    consumer.subscribe(list(group.topics))
    yield ShareMember(consumer=consumer)
