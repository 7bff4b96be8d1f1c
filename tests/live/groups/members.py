"""Groups of librdkafka's members. Each holder ends its members when the test is done with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.model import GroupDescription
from tests.live.groups.raw import dismiss_static
from tests.live.groups.topics import quiet, unique_name
from tests.live.groups.waiting import await_group, await_state, wait_until

Commits = Sequence[tuple[str, int, int]]

_TIMEOUT_S = 30
# librdkafka's longest: so long a rebalance waits for a member that is not polled.
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
    """A group of live members that own everything there is, and have committed what is told.

    With more members than partitions, some are idle.
    """
    group = name or unique_name("stable")
    with ExitStack() as leaving:
        consumers = []
        for number in range(1, members + 1):
            instance = f"{group}-i{number}"
            own = {"group.instance.id": instance} if is_static else {}
            protocol = {"group.protocol": "consumer"} if consumer_protocol else {}
            consumer = _join(bootstrap, group, number, **own, **protocol, **(settings or {}))
            if is_static:  # such a member leaves only when it is told to, or after its session
                leaving.callback(dismiss_static, bootstrap, group, instance)
            leaving.callback(consumer.close)
            consumer.subscribe(list(topics))
            consumers.append(consumer)
        _settle(bootstrap, group, consumers)
        _commit(_with_partitions(consumers), commits)
        yield group


@contextmanager
def mixed(bootstrap: str, topic: str) -> Iterator[str]:
    """A KIP-848 group on its way from the classic protocol: one member speaks each."""
    older = {"partition.assignment.strategy": "cooperative-sticky"}
    with one_by_one(bootstrap, topic, {"group.protocol": "consumer"}, older) as group:
        yield group


@contextmanager
def one_by_one(
    bootstrap: str, topic: str, *members: Mapping[str, str], commits: Commits = (), name: str | None = None
) -> Iterator[str]:
    """A group whose members, each with its own settings, join when those before are settled; the last one leaves first.

    Each time that they are settled, the first one commits what is told. The topic has a partition for each of them.
    """
    group = name or unique_name("joined")
    with ExitStack() as leaving:
        joined: list[Consumer] = []
        for number, settings in enumerate(members, start=1):
            consumer = _join(bootstrap, group, number, **settings)
            leaving.callback(consumer.close)
            consumer.subscribe([topic])
            joined.append(consumer)
            # Not asked about before: an admin that saw a classic group takes it for one, also when it is upgraded.
            _admit(joined)
            _settle(bootstrap, group, joined)
            _commit(joined, commits)
        yield group


@contextmanager
def empty(bootstrap: str, *topics: str, commits: Commits, consumer_protocol: bool = False) -> Iterator[str]:
    """A group whose only member committed and left."""
    group = unique_name("empty")
    with stable(bootstrap, *topics, commits=commits, consumer_protocol=consumer_protocol, name=group):
        pass
    await_state(bootstrap, group, "Empty", members=0)
    yield group


@contextmanager
def simple(bootstrap: str, *, commits: Commits) -> Iterator[str]:
    """A group that never had a member: its commits were made from outside."""
    group = unique_name("simple")
    commit_from_outside(bootstrap, [group], commits)
    yield group


@contextmanager
def preparing_rebalance(bootstrap: str, topic: str, *, commits: Commits = ()) -> Iterator[str]:
    """A classic group that waits for a member which is never polled again, since a second one wants to join."""
    with _unheeding(bootstrap, topic, state="PreparingRebalance", commits=commits) as group:
        yield group


@contextmanager
def reconciling(bootstrap: str, topic: str, *, commits: Commits = ()) -> Iterator[str]:
    """A KIP-848 group whose first member is to give half of its partitions to a second one, and never does."""
    with _unheeding(bootstrap, topic, state="Reconciling", commits=commits, **{"group.protocol": "consumer"}) as group:
        yield group


@contextmanager
def many_simple(bootstrap: str, number: int, *, commits: Commits) -> Iterator[list[str]]:
    """As many groups without members, with these commits in each."""
    groups = [unique_name("many") for _ in range(number)]
    commit_from_outside(bootstrap, groups, commits)
    yield groups


def commit_from_outside(bootstrap: str, groups: Sequence[str], commits: Commits) -> None:
    """Commit for groups without members, as a reset does."""
    client = AdminClient(quiet(bootstrap))
    offsets = [TopicPartition(*commit) for commit in commits]
    requests = [client.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(g, offsets)]) for g in groups]
    for request in requests:
        for answer in request.values():
            assert not [partition for partition in answer.result(_TIMEOUT_S).topic_partitions if partition.error]


def delete_group(bootstrap: str, group: str) -> None:
    """Make an Empty group Dead."""
    client = AdminClient(quiet(bootstrap))
    client.delete_consumer_groups([group])[group].result(_TIMEOUT_S)


@contextmanager
def _unheeding(bootstrap: str, topic: str, *, state: str, commits: Commits, **settings: str) -> Iterator[str]:
    group = unique_name(state.lower())
    # With a callback, librdkafka gives partitions back only when it is polled.
    first = _join(bootstrap, group, 1, **{"max.poll.interval.ms": _DAY_MS}, **settings)
    second = _join(bootstrap, group, 2, **settings)
    with ExitStack() as leaving:
        leaving.callback(second.close)
        leaving.callback(first.close)  # first of the two: the other one's leave waits for it
        first.subscribe([topic], on_revoke=lambda *_: None)
        _settle(bootstrap, group, [first])
        _commit([first], commits)
        second.subscribe([topic])
        await_group(bootstrap, group, lambda found: found.state == state and len(found.members) == 2)
        yield group


def _join(bootstrap: str, group: str, number: int, **settings: Any) -> Consumer:
    mine = {"group.id": group, "client.id": f"{group}-c{number}", "enable.auto.commit": False}
    return Consumer(quiet(bootstrap) | mine | settings)


def _settle(bootstrap: str, group: str, consumers: Sequence[Consumer]) -> GroupDescription:
    def is_settled(found: GroupDescription) -> bool:
        for consumer in consumers:
            consumer.poll(0)
        told = {(topic.topic, number) for m in found.members for topic in m.assignment for number in topic.partitions}
        held = {(own.topic, own.partition) for consumer in consumers for own in consumer.assignment()}
        return found.state == "Stable" and len(found.members) == len(consumers) and bool(told) and told == held

    return await_group(bootstrap, group, is_settled)


def _admit(consumers: Sequence[Consumer]) -> None:
    """Return once the last of them has partitions, which the others gave up."""

    def has_partitions() -> bool:
        for consumer in consumers:
            consumer.poll(0)
        return bool(consumers[-1].assignment())

    wait_until(has_partitions, lambda: "the newest member gets no partition")


def _with_partitions(consumers: Sequence[Consumer]) -> list[Consumer]:
    return [consumer for consumer in consumers if consumer.assignment()]


def _commit(consumers: Sequence[Consumer], commits: Commits) -> None:
    if commits:
        offsets = [TopicPartition(*commit) for commit in commits]
        consumers[0].commit(offsets=offsets, asynchronous=False)
