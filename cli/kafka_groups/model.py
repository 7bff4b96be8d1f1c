"""The data that every package shares: listings, descriptions, offsets, failures and results. Absent is None.

They are named tuples, because Python creates such a class in a seventh of the time of a dataclass.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from kafka_groups.errors import AdminError, BrokerError
from kafka_groups.exit_codes import ResultStatus

if TYPE_CHECKING:
    from uuid import UUID

    from kafka_groups.acl_operations import AclOperation
    from kafka_groups.commits import TopicCommits
    from kafka_groups.members import ConnectWorker, StreamsMember, Topology

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class Broker(NamedTuple):
    """A broker under the address that the cluster advertises for it."""

    id: int
    host: str
    port: int


class Failure(NamedTuple):
    """An item of a request that failed, and the reason.

    `code` is the error code that a broker returned (or 42 or 69, which the client sets itself, too), or None; `name` is
    Kafka's name of the code, or a name of `errors`. `broker` is the id of the broker that failed, if one did. `cluster`
    is the name of the cluster in results.
    """

    code: int | None
    name: str
    message: str
    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None
    cluster: str | None = None

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
        """Return the failure of one item from the error that caused it."""
        return cls(error.code, error.name, str(error), group, topic, partition, broker)

    def to_error(self) -> AdminError:
        """Return the failure as an exception."""
        client_error = _CLIENT_ERRORS.get(self.name, AdminError)
        # A broker may return the code of InvalidRequestError, too.
        if self.code is None or (self.code == client_error.code and self.broker is None):
            return client_error(self.message)
        error = BrokerError(self.message)
        error.code = self.code
        error.name = self.name
        return error


_CLIENT_ERRORS: Final[Mapping[str, type[AdminError]]] = {error.name: error for error in AdminError.__subclasses__()}


class Results(NamedTuple, Generic[K, V]):
    """The items that succeeded and the items that failed: each group, topic or partition is in exactly one of both.

    Where one request returns many items (a listing of groups), the key in `failed` is the id of the broker.
    """

    succeeded: Mapping[K, V] = MappingProxyType({})
    failed: Mapping[Any, Failure] = MappingProxyType({})

    def all(self) -> Mapping[K, V]:
        """Return all items, or raise the first failure as an AdminError (as `all()` of KIP-709)."""
        for failure in self.failed.values():
            raise failure.to_error()
        return self.succeeded

    def with_failed(self, keys: Iterable[K], failed: Mapping[K, Failure]) -> Results[K, V]:
        """Return the results together with the failures of these keys."""
        failures = {key: failed[key] for key in keys if key in failed}
        return Results(succeeded=self.succeeded, failed={**self.failed, **failures})


def status_of(*, anything_failed: bool, anything_succeeded: bool) -> ResultStatus:
    """Return the status of a result, which decides the exit code, too. A result without any item is complete."""
    if not anything_failed:
        return ResultStatus.COMPLETE
    return ResultStatus.PARTIAL if anything_succeeded else ResultStatus.FAILED


class GroupListing(NamedTuple):
    """A group in a listing. `type` and `state` are None if the broker does not return them.

    `coordinator` is the id of the broker that listed the group. While a group moves, two brokers may list it: its
    coordinator is None then, and so are a type and a state that differ.
    """

    group: str
    type: str | None
    state: str | None
    protocol_type: str
    coordinator: int | None


class Assignment(NamedTuple):
    """The partitions of one topic that are assigned to a member, ascending.

    `topic_id` is None, except in a response that identifies the topic only by its id: the name is empty then.
    """

    topic: str
    partitions: tuple[int, ...]
    topic_id: UUID | None = None


class Member(NamedTuple):
    """A member of a group. `epoch` and both targets are None for members of classic groups.

    `assignment` is None if it is unreadable: the member may own any partition. In a streams group it has the partitions
    of the active tasks. `upgraded` is True for a member that uses KIP-848, False for a classic one in a KIP-848 group,
    None if unknown. `subscription` has the topics of a share group's member. `streams` and `worker` are None except for
    members of streams and Connect groups; `worker` is None, too, if it is unreadable.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[Assignment, ...] | None
    epoch: int | None = None
    target_epoch: int | None = None
    target_assignment: tuple[Assignment, ...] | None = None
    upgraded: bool | None = None
    rack: str | None = None
    subscription: tuple[str, ...] | None = None
    streams: StreamsMember | None = None
    worker: ConnectWorker | None = None

    @property
    def partition_count(self) -> int | None:
        """Return how many partitions are assigned to the member; None if its assignment is unreadable."""
        return None if self.assignment is None else sum(len(topic.partitions) for topic in self.assignment)


class GroupDescription(NamedTuple):
    """The state and the members of a group, without both (`is_described` False) if only its offsets are known.

    Epochs are None for classic groups, the assignor if unknown, `topology` except for streams groups. `unnamed_topics`
    has ids whose names were not found. `authorized_operations` are what the user may do with the group (KIP-430), None
    if not requested or unknown.
    """

    group: str
    type: str | None
    state: str | None
    protocol_type: str | None
    coordinator: Broker | None
    assignor: str | None = None
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None
    members: tuple[Member, ...] = ()
    unnamed_topics: Mapping[str, Failure] = MappingProxyType({})
    is_described: bool = True
    topology: Topology | None = None
    authorized_operations: frozenset[AclOperation] | None = None

    @property
    def member_count(self) -> int | None:
        """Return the number of members; None if it is unknown."""
        return len(self.members) if self.is_described else None


class CommittedOffset(NamedTuple):
    """A committed offset of one partition. A tuple, because a cluster has a million of them."""

    offset: int
    leader_epoch: int | None
    metadata: str


class GroupOffsets(Mapping[TopicPartition, CommittedOffset | None]):
    """The committed offsets of a group, by partition; None for a requested partition without a commit.

    `topics` are the topics with their commits, in a form of the client's choice: a million commits may stay packed.
    Partitions that the broker refused are only in `failed`; with `is_stable`, so are those on which an open transaction
    has a commit. A share group has start offsets, None if unknown, and `lags`, those that its coordinator computes.
    """

    __slots__ = ("_by_key", "failed", "is_stable", "lags", "topics")

    def __init__(
        self,
        topics: Iterable[tuple[str, TopicCommits]] = (),
        failed: Mapping[TopicPartition, Failure] | None = None,
        *,
        is_stable: bool = False,
        lags: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        self.topics = tuple(topics)
        self.is_stable = is_stable
        self.lags = lags
        self.failed: Mapping[TopicPartition, Failure] = failed or {}
        self._by_key: dict[TopicPartition, CommittedOffset | None] | None = None

    def __len__(self) -> int:
        return sum(len(commits) for _, commits in self.topics)

    def __iter__(self) -> Iterator[TopicPartition]:
        for key, _ in self.rows():
            yield key

    def __getitem__(self, key: tuple[str, int]) -> CommittedOffset | None:
        # Iterating, as every command does, needs no index.
        if self._by_key is None:
            self._by_key = dict(self.rows())
        return self._by_key[TopicPartition(*key)]

    def __repr__(self) -> str:
        return f"GroupOffsets({dict(self.rows())!r}, failed={dict(self.failed)!r})"

    def rows(self) -> Iterator[tuple[TopicPartition, CommittedOffset | None]]:
        """Iterate over partitions and their commits in one pass."""
        for topic, commits in self.topics:
            for partition, offset, epoch, metadata in commits:
                commit = None if offset is None else CommittedOffset(offset, epoch, metadata or "")
                yield TopicPartition(topic, partition), commit

    def partitions(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Iterate over topics and the numbers of their partitions, including those that the broker refused."""
        refused: dict[str, list[int]] = {}
        for topic, partition in self.failed:
            refused.setdefault(topic, []).append(partition)
        for topic, commits in self.topics:
            yield topic, (*commits.partitions(), *refused.pop(topic, ()))
        for topic, numbers in refused.items():
            yield topic, tuple(numbers)

    def has_commits(self) -> bool:
        """Return whether any partition has a committed offset."""
        return any(offset is not None for _, commits in self.topics for _, offset, _, _ in commits)


class OffsetRow(NamedTuple):
    """A partition of a group, with its log offsets and the member that owns it; a tuple, because there are many."""

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
