"""The language of the house: frozen answers that every room speaks. Absent is None, never -1 or ""."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    BrokerError,
    ConnectionFailedError,
    MalformedResponseError,
    MissingFromResponseError,
    NameNotResolvedError,
    TimeoutExceededError,
    TlsFailedError,
    UnsupportedVersionError,
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# Spelled as Kafka's tools print them (GroupState.java, GroupType.java).
GROUP_STATES: Final = (
    "Stable",
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "NotReady",
    "Dead",
)
GROUP_TYPES: Final = ("Classic", "Consumer", "Share", "Streams")
REBALANCING_STATES: Final = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})
_SPELLINGS: Final = {name.lower(): name for name in (*GROUP_STATES, *GROUP_TYPES)}


def spell(name: str) -> str | None:
    """A state or type as Kafka's tools print it, whatever case it came in; None for an empty one."""
    return _SPELLINGS.get(name.lower(), name) or None


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Broker:
    """A broker under the address that the cluster advertises for it."""

    id: int
    host: str
    port: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """One item that was asked for and not answered, and why.

    `code` is Kafka's error code, or None for what happened on our side; `name` is Kafka's name of
    the code, or one of the contract's own. `broker` is the id of the broker that failed, if one did.
    """

    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    code: int | None
    name: str
    message: str

    @classmethod
    def of(
        cls,
        error: AdminError,
        *,
        group: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        broker: int | None = None,
    ) -> Failure:
        """What an error means for one item."""
        return cls(
            group=group,
            topic=topic,
            partition=partition,
            broker=broker,
            code=error.code,
            name=error.name,
            message=str(error),
        )

    def to_error(self) -> AdminError:
        """The same as an exception, for those who want all or nothing."""
        if self.code is not None:
            return BrokerError(self.message, code=self.code, name=self.name)
        return _OWN_ERRORS.get(self.name, AdminError)(self.message)


_OWN_ERRORS: Final[Mapping[str, type[AdminError]]] = {
    error.name: error
    for error in (
        AuthenticationFailedError,
        MalformedResponseError,
        ConnectionFailedError,
        MissingFromResponseError,
        NameNotResolvedError,
        TimeoutExceededError,
        TlsFailedError,
        UnsupportedVersionError,
    )
}


@dataclass(frozen=True, kw_only=True)
class Results(Generic[K, V]):
    """What was answered, and what was not: each item stands in exactly one of the two.

    `failed` is keyed like `found`, but where one question to a broker answers many items (listing
    groups) it is keyed by the broker's id.
    """

    succeeded: Mapping[K, V] = field(default_factory=dict)
    failed: Mapping[Any, Failure] = field(default_factory=dict)

    def all(self) -> Mapping[K, V]:
        """Everything, or the first failure raised as an AdminError (KIP-709's `all()`)."""
        for failure in self.failed.values():
            raise failure.to_error()
        return self.succeeded


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupListing:
    """A group as ListGroups tells it. `type` and `state` are None on brokers that do not tell them."""

    group: str
    type: str | None
    state: str | None
    protocol_type: str
    coordinator: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """Partitions of one topic that a member has, or is to have; ascending."""

    topic: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A member of a group. `epoch` and both targets are None for members of classic groups.

    `upgraded` is True for a member that speaks KIP-848, False for a classic one in a KIP-848 group,
    None where the broker does not tell.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[Assignment, ...]
    epoch: int | None = None
    target_epoch: int | None = None
    target_assignment: tuple[Assignment, ...] | None = None
    upgraded: bool | None = None

    def partitions(self) -> int:
        """How many partitions the member has."""
        return sum(len(topic.partitions) for topic in self.assignment)


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupDescription:
    """State and members of a group. Both epochs are None for classic groups, the assignor when unknown."""

    group: str
    type: str | None
    state: str | None
    protocol_type: str | None
    coordinator: Broker | None
    assignor: str | None = None
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    members: tuple[Member, ...] = ()


class CommittedOffset(NamedTuple):
    """What a group has committed for one partition. A tuple, because a cluster has a million of them."""

    offset: int
    leader_epoch: int | None
    metadata: str


# A commit inside its topic: partition, offset, leader epoch, metadata; a bare tuple where millions are joined.
PartitionCommit: TypeAlias = tuple[int, int | None, int | None, str | None]


class OffsetRow(NamedTuple):
    """One partition of one group, with its log ends and its member if it has one; a tuple for the same reason."""

    group: str
    topic: str
    partition: int
    leader_epoch: int | None
    committed_offset: int | None
    log_end_offset: int | None
    lag: int | None
    member_id: str | None
    host: str | None
    client_id: str | None
    log_start_offset: int | None
    metadata: str | None
