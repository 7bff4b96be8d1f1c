"""Groups of librdkafka's members. Each context manager closes its members at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.model import GroupDescription
from tests.live.groups.conditions import await_group, await_state, wait_until
from tests.live.groups.raw_connection import remove_static_member
from tests.live.groups.topics import client_properties, unique_name

Commits = Sequence[tuple[str, int, int]]

_TIMEOUT_S = 30
# librdkafka's maximum: the time that a rebalance waits for a member that is not polled.
_DAY_MS = 86_400_000


@contextmanager
def stable(
    bootstrap: str,
    *topics: str,
    members: int = 1,
    commits: Commits = (),
    consumer_protocol: bool = False,
    is_static: bool = False,
    name: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield a group of live members that own all partitions and have committed `commits`.

    If there are more members than partitions, some are idle.
    """
    group = name or unique_name("stable")
    with ExitStack() as stack:
        consumers = []
        for number in range(1, members + 1):
            instance = f"{group}-i{number}"
            own = {"group.instance.id": instance} if is_static else {}
            protocol = {"group.protocol": "consumer"} if consumer_protocol else {}
            consumer = _join(bootstrap, group, number, **own, **protocol, **(settings or {}))
            if is_static:  # a static member leaves only when it is removed, or after its session
                stack.callback(remove_static_member, bootstrap, group, instance)
            stack.callback(consumer.close)
            consumer.subscribe(list(topics))
            consumers.append(consumer)
        _await_assignment(bootstrap, group, consumers)
        _commit(_with_partitions(consumers), commits)
        yield group


@contextmanager
def mixed(bootstrap: str, topic: str) -> Iterator[str]:
    """Yield a KIP-848 group that is migrated from the classic protocol: one member uses each protocol."""
    older = {"partition.assignment.strategy": "cooperative-sticky"}
    with one_by_one(bootstrap, topic, {"group.protocol": "consumer"}, older) as group:
        yield group


@contextmanager
def one_by_one(
    bootstrap: str, topic: str, *members: Mapping[str, str], commits: Commits = (), name: str | None = None
) -> Iterator[str]:
    """Yield a group whose members, each with its own settings, join when all earlier members own their partitions.

    After each join the first member commits `commits`. The topic has a partition for each member. The last member
    leaves first.
    """
    group = name or unique_name("joined")
    with ExitStack() as stack:
        joined: list[Consumer] = []
        for number, settings in enumerate(members, start=1):
            consumer = _join(bootstrap, group, number, **settings)
            stack.callback(consumer.close)
            consumer.subscribe([topic])
            joined.append(consumer)
            # Not described before: an admin that described a classic group treats it as classic from then on.
            _await_partitions(joined)
            _await_assignment(bootstrap, group, joined)
            _commit(joined, commits)
        yield group


@contextmanager
def empty(bootstrap: str, *topics: str, commits: Commits, consumer_protocol: bool = False) -> Iterator[str]:
    """Yield a group whose only member committed and left."""
    group = unique_name("empty")
    with stable(bootstrap, *topics, commits=commits, consumer_protocol=consumer_protocol, name=group):
        pass
    await_state(bootstrap, group, "Empty", members=0)
    yield group


@contextmanager
def simple(bootstrap: str, *, commits: Commits) -> Iterator[str]:
    """Yield a group that never had a member: an admin client committed for it."""
    group = unique_name("simple")
    commit_from_outside(bootstrap, [group], commits)
    yield group


@contextmanager
def preparing_rebalance(bootstrap: str, topic: str, *, commits: Commits = ()) -> Iterator[str]:
    """Yield a classic group in a rebalance: a second member joins, and the first one is never polled again."""
    with _with_unpolled_member(bootstrap, topic, state="PreparingRebalance", commits=commits) as group:
        yield group


@contextmanager
def reconciling(bootstrap: str, topic: str, *, commits: Commits = ()) -> Iterator[str]:
    """Yield a KIP-848 group whose first member must give half of its partitions to a second one, and never does."""
    with _with_unpolled_member(
        bootstrap, topic, state="Reconciling", commits=commits, **{"group.protocol": "consumer"}
    ) as group:
        yield group


@contextmanager
def many_simple(bootstrap: str, number: int, *, commits: Commits) -> Iterator[list[str]]:
    """Yield that many groups without members, each with these commits."""
    groups = [unique_name("many") for _ in range(number)]
    commit_from_outside(bootstrap, groups, commits)
    yield groups


def commit_from_outside(bootstrap: str, groups: Sequence[str], commits: Commits) -> None:
    """Commit for groups without members, as a reset of offsets does."""
    client = AdminClient(client_properties(bootstrap))
    offsets = [TopicPartition(*commit) for commit in commits]
    requests = [client.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(g, offsets)]) for g in groups]
    for request in requests:
        for future in request.values():
            assert not [partition for partition in future.result(_TIMEOUT_S).topic_partitions if partition.error]


def delete_group(bootstrap: str, group: str) -> None:
    """Delete an Empty group."""
    client = AdminClient(client_properties(bootstrap))
    client.delete_consumer_groups([group])[group].result(_TIMEOUT_S)


@contextmanager
def _with_unpolled_member(
    bootstrap: str, topic: str, *, state: str, commits: Commits, **settings: str
) -> Iterator[str]:
    group = unique_name(state.lower())
    # With a callback, librdkafka gives partitions back only when it is polled.
    first = _join(bootstrap, group, 1, **{"max.poll.interval.ms": _DAY_MS}, **settings)
    second = _join(bootstrap, group, 2, **settings)
    with ExitStack() as stack:
        stack.callback(second.close)
        stack.callback(first.close)  # called before second.close, which waits for it
        first.subscribe([topic], on_revoke=lambda *_: None)
        _await_assignment(bootstrap, group, [first])
        _commit([first], commits)
        second.subscribe([topic])
        await_group(bootstrap, group, lambda found: found.state == state and len(found.members) == 2)
        yield group


def _join(bootstrap: str, group: str, number: int, **settings: Any) -> Consumer:
    properties = {"group.id": group, "client.id": f"{group}-c{number}", "enable.auto.commit": False}
    return Consumer(client_properties(bootstrap) | properties | settings)


def _await_assignment(bootstrap: str, group: str, consumers: Sequence[Consumer]) -> GroupDescription:
    def is_assigned(found: GroupDescription) -> bool:
        for consumer in consumers:
            consumer.poll(0)
        assigned = {
            (topic.topic, number)
            for member in found.members
            for topic in member.assignment or ()
            for number in topic.partitions
        }
        owned = {(own.topic, own.partition) for consumer in consumers for own in consumer.assignment()}
        return found.state == "Stable" and len(found.members) == len(consumers) and bool(assigned) and assigned == owned

    return await_group(bootstrap, group, is_assigned)


def _await_partitions(consumers: Sequence[Consumer]) -> None:
    """Return once the last member has partitions, which the others gave up."""

    def has_partitions() -> bool:
        for consumer in consumers:
            consumer.poll(0)
        return bool(consumers[-1].assignment())

    wait_until(has_partitions, lambda: "the newest member has no partition")


def _with_partitions(consumers: Sequence[Consumer]) -> list[Consumer]:
    return [consumer for consumer in consumers if consumer.assignment()]


def _commit(consumers: Sequence[Consumer], commits: Commits) -> None:
    if commits:
        offsets = [TopicPartition(*commit) for commit in commits]
        consumers[0].commit(offsets=offsets, asynchronous=False)
