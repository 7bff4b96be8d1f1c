"""The topics and groups of a seeded sandbox: those of a small shop, with groups in every lasting state."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_groups.sandbox.versions import KafkaVersion


class Kind(enum.Enum):
    """A way to create a group."""

    LIVE = "members that keep up"
    SLOW = "one member that reads fewer records than are written"
    PARTLY = "a member that has committed only some of its partitions"
    LEFT = "members that committed and left"
    SIMPLE = "commits by a program that assigned partitions itself and did not join"
    STUCK = "a rebalance that waits for a member that does not rejoin"
    SHARE = "members that share partitions (KIP-932)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A topic, with the number of its partitions and of the records that it is filled with."""

    name: str
    partitions: int
    records: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A group; it counts as seeded once it has this state and this number of members."""

    name: str
    kind: Kind
    topics: tuple[str, ...]
    members: int = 1
    state: str = "STABLE"
    static: bool = False
    consumer_protocol: bool = False


ORDERS = Topic(name="orders", partitions=6, records=600)
PAYMENTS = Topic(name="payments", partitions=3, records=300)
CLICKS = Topic(name="clicks", partitions=3, records=90)
TOPICS = (ORDERS, PAYMENTS, CLICKS)

_GROUPS = (
    Group(name="billing", kind=Kind.LEFT, topics=("orders",), members=0, state="EMPTY"),
    Group(name="legacy-import", kind=Kind.SIMPLE, topics=("payments",), members=0, state="EMPTY"),
    Group(name="checkout", kind=Kind.LIVE, topics=("orders",), members=3),
    Group(name="inventory", kind=Kind.LIVE, topics=("orders",), members=2, static=True),
    Group(name="audit-export", kind=Kind.PARTLY, topics=("orders",)),
    Group(name="clickstream-loader", kind=Kind.SLOW, topics=("clicks",)),
    Group(
        name="search-indexer",
        kind=Kind.STUCK,
        topics=("payments",),
        members=2,
        state="PREPARING_REBALANCING",  # confluent-kafka's spelling
    ),
)


def groups_for(kafka: KafkaVersion) -> tuple[Group, ...]:
    """Return the groups of a Kafka version; `fraud-detector` uses the protocol of KIP-848 if the version has it."""
    detector = Group(
        name="fraud-detector",
        kind=Kind.LIVE,
        topics=("orders", "payments"),
        members=2,
        consumer_protocol=kafka.has_consumer_protocol,
    )
    share = Group(name="click-sampler", kind=Kind.SHARE, topics=("clicks",))
    # The share group first: its first record takes 3 s, all other groups together take 1 s.
    return (*((share,) if kafka.has_share_groups else ()), detector, *_GROUPS)
