"""A stand-in for `GroupAdmin` that returns to commands what tests put into it.

It returns results like the real client: only for requested keys, GROUP_ID_NOT_FOUND for an unknown id,
and without the groups that the filters exclude.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from unittest import mock
from uuid import UUID

from kafka_groups.admin import Deadline, IsolationLevel, OffsetSpec
from kafka_groups.admin.api import RecordPosition, RecordTime, Topic
from kafka_groups.commits import CommitTuple, PartitionCommit
from kafka_groups.errors import AdminError, ConnectionFailedError
from kafka_groups.kinds import has_start_offsets
from kafka_groups.model import (
    Assignment,
    Broker,
    CommittedOffset,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Member,
    Results,
    TopicPartition,
)
from kafka_groups.protocol.errors import broker_error
from tests.fakes.fake_changes import FakeChanges
from tests.fakes.mock_admin import MockAdmin, mock_class
from tests.fakes.scripted_cluster import topic_id
from tests.fakes.simulated_clock import CLIENT_OF_COMMANDS

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

Commits = Mapping[tuple[str, int], int | CommittedOffset | None]


CLUSTER_ID = "fake"
# The keys of the cluster, in JSON; and as the text of a line.
NAMED = {"cluster": CLUSTER_ID, "cluster_id": CLUSTER_ID}
NAMED_TEXT = '{"cluster": "fake", "cluster_id": "fake", '


def failure(name: str = "GROUP_AUTHORIZATION_FAILED", *, code: int | None = 30, **fields: Any) -> Failure:
    """Return a failure whose message is `refused`."""
    return Failure(code=code, name=name, message="refused", **fields)


def member(member_id: str, assigned: Mapping[str, tuple[int, ...]] | None = None, **fields: Any) -> Member:
    """Return a member on host /10.0.0.1 whose client id is `client`."""
    assignment = tuple(Assignment(topic=topic, partitions=parts) for topic, parts in (assigned or {}).items())
    values: dict[str, Any] = {"group_instance_id": None, "client_id": "client", "host": "/10.0.0.1", **fields}
    return Member(member_id=member_id, assignment=assignment, **values)


def committed(group: str, commits: Commits, refused: Mapping[tuple[str, int], int] | None = None) -> GroupOffsets:
    """Return commits as a client returns them; `refused` has error codes by partition."""
    topics: dict[str, list[PartitionCommit]] = {}
    for (topic, partition), commit in sorted(commits.items()):
        offset = CommittedOffset(commit, None, "") if isinstance(commit, int) else commit or (None, None, None)
        topics.setdefault(topic, []).append((partition, *offset))
    failed = {
        TopicPartition(*key): Failure.of(broker_error(code), group=group, topic=key[0], partition=key[1])
        for key, code in (refused or {}).items()
    }
    return GroupOffsets([(topic, CommitTuple(rows)) for topic, rows in topics.items()], failed)


class FakeCluster(FakeChanges):
    """A cluster that `add` and the dictionaries of failures fill; `admin` is its client, `client` that one's class.

    Commands use it until the end of `mocker`, or without one until the end of the process.
    """

    def __init__(self, mocker: MockerFixture | None) -> None:
        super().__init__()
        self.brokers = {1: Broker(id=1, host="b1", port=9092)}
        self.listings: dict[str, GroupListing] = {}
        self.descriptions: dict[str, GroupDescription] = {}
        self.offsets: dict[str, GroupOffsets] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.starts: dict[TopicPartition, int] = {}
        # Log end offsets for consumers with read_committed, where they differ.
        self.stable_ends: dict[TopicPartition, int] = {}
        # The first record at or after a position, None if there is none; a position that is not here fails.
        self.records: dict[RecordPosition, RecordTime | None] = {}
        self.record_requests: list[tuple[list[RecordPosition], IsolationLevel]] = []
        # The first record since any time.
        self.found: dict[TopicPartition, int | None] = {}
        self.partitions: dict[str, tuple[int, ...]] = {}
        # The ids of topics that are not the usual ones; None for a broker that returns none.
        self.topic_ids: dict[str, UUID | None] = {}
        self.unlistable: dict[int, Failure] = {}
        self.undescribable: dict[str, Failure] = {}
        # Whether brokers support require_stable (Kafka 2.5).
        self.is_stable = True
        self.unfetchable: dict[str, Failure] = {}
        self.leaderless: dict[TopicPartition, Failure] = {}
        self.configs: dict[str, dict[str, str | None]] = {}
        self.config_failures: dict[str, Failure] = {}
        self.admin: Any = MockAdmin(
            {
                "brokers": lambda **_: self.brokers,
                "cluster_id": lambda **_: CLUSTER_ID,
                "deadline": lambda timeout=30.0: Deadline.after(timeout),
                "list_groups": self._list_groups,
                "describe_groups": self._describe_consumer_groups,
                "describe_with_offsets": self._describe_with_offsets,
                "list_group_offsets": self._list_consumer_group_offsets,
                "list_offsets": self._list_offsets,
                "describe_producers": lambda *_, **__: Results(),
                "describe_topics": self._describe_topics,
                "describe_topic_configs": self._describe_topic_configs,
                "list_partitions": self._list_partitions,
                "require_record_times": lambda: None,
                "list_topics": lambda **_: Results(succeeded={name: self._topic(name) for name in self.partitions}),
                "list_record_times": self._list_record_times,
                **self.effects(),
            }
        )
        self.client = mock_class(self.admin)
        if mocker is not None:
            mocker.patch(CLIENT_OF_COMMANDS, self.client)
        else:
            mock.patch(CLIENT_OF_COMMANDS, self.client).start()

    def add(
        self,
        group: str,
        *,
        state: str | None = "Empty",
        kind: str = "Classic",
        protocol_type: str = "consumer",
        members: Sequence[Member] = (),
        commits: Commits | None = None,
        refused: Mapping[tuple[str, int], int] | None = None,
        **description: Any,
    ) -> None:
        """Add a group to the listing and the descriptions; more keywords go to its description."""
        listed: dict[str, Any] = {"group": group, "type": kind, "state": state, "protocol_type": protocol_type}
        self.listings[group] = GroupListing(**listed, coordinator=1)
        described: dict[str, Any] = {**listed, "coordinator": self.brokers[1], "members": tuple(members)}
        self.descriptions[group] = GroupDescription(**{**described, **description})
        self.offsets[group] = committed(group, commits or {}, refused)

    def set_commits(self, group: str, commits: Mapping[TopicPartition, CommittedOffset | None]) -> None:
        """Replace the commits of a group; partitions that the broker refuses stay."""
        plain: Commits = {(key.topic, key.partition): commit for key, commit in commits.items()}
        self.offsets[group] = GroupOffsets(committed(group, plain).topics, self.offsets[group].failed)

    def end(self, topic: str, *ends: int, starts: Sequence[int] = ()) -> None:
        """Set the log end offsets, and the log start offsets, of the topic's partitions from 0 on."""
        self.partitions[topic] = tuple(range(len(ends)))
        self.ends |= {TopicPartition(topic, at): end for at, end in enumerate(ends)}
        self.starts |= {TopicPartition(topic, at): start for at, start in enumerate(starts)}

    def refuse(self, error: BaseException) -> None:
        """Raise this error from every operation, as the client does when no broker can be reached."""
        for operation in (
            "brokers",
            "cluster_id",
            "list_groups",
            "describe_groups",
            "describe_with_offsets",
            "list_group_offsets",
            "list_offsets",
            "alter_consumer_group_offsets",
            "alter_share_group_offsets",
            "delete_share_group_offsets",
            "delete_consumer_group_offsets",
            "delete_consumer_groups",
            "remove_members_from_consumer_group",
        ):
            getattr(self.admin, operation).side_effect = error

    def _list_groups(
        self, *, states: Collection[str] | None = None, types: Collection[str] | None = None, **_: Any
    ) -> Results[str, GroupListing]:
        found = {
            group: listing
            for group, listing in sorted(self.listings.items())
            if (states is None or listing.state in states) and (types is None or listing.type in types)
        }
        return Results(succeeded=found, failed=self.unlistable)

    def _describe_consumer_groups(self, groups: Iterable[str], **_: Any) -> Results[str, GroupDescription]:
        wanted = list(groups)
        failed = {group: self.undescribable.get(group) or self._absent(group) for group in wanted}
        found = {g: self.descriptions[g] for g in wanted if g in self.descriptions and g not in self.undescribable}
        return Results(succeeded=found, failed={group: why for group, why in failed.items() if group not in found})

    def _absent(self, group: str) -> Failure:
        return Failure(group=group, code=69, name="GROUP_ID_NOT_FOUND", message="there is no such group")

    def _list_consumer_group_offsets(
        self, groups: Mapping[str, Sequence[TopicPartition] | None], *, require_stable: bool = False, **_: Any
    ) -> Results[str, GroupOffsets]:
        # OffsetFetch does not distinguish an absent group from one that never committed (KIP-709).
        found = {g: self._commits(g, wanted) for g, wanted in groups.items() if g not in self.unfetchable}
        return Results(succeeded=found, failed={g: why for g, why in self.unfetchable.items() if g in groups})

    def _commits(self, group: str, wanted: Sequence[TopicPartition] | None) -> GroupOffsets:
        known = self.offsets.get(group, GroupOffsets())
        is_share = group in self.listings and has_start_offsets(self.listings[group].type)
        kind: dict[str, Any] = {"is_stable": self.is_stable, "lags": {} if is_share else None}
        if wanted is None:
            return GroupOffsets(known.topics, known.failed, **kind)
        named = committed(group, {key: known.get(key) for key in wanted if key not in known.failed})
        failed = {key: known.failed[key] for key in wanted if key in known.failed}
        return GroupOffsets(named.topics, failed, **kind)

    def _describe_with_offsets(
        self, described: Iterable[str], offsets: Mapping[str, Sequence[TopicPartition] | None], **_: Any
    ) -> tuple[Results[str, GroupDescription], Results[str, GroupOffsets]]:
        return self._describe_consumer_groups(described), self._list_consumer_group_offsets(offsets)

    def _list_offsets(
        self,
        partitions: Iterable[tuple[str, int]],
        *,
        spec: OffsetSpec = OffsetSpec.latest(),
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        **_: Any,
    ) -> Results[TopicPartition, int | None]:
        ends: Mapping[TopicPartition, int | None] = self.starts if spec == OffsetSpec.earliest() else self.ends
        if ends is self.ends and isolation_level is IsolationLevel.READ_COMMITTED:
            ends = self.ends | self.stable_ends
        offsets = ends if spec.timestamp < 0 else self.found
        wanted = [TopicPartition(*partition) for partition in partitions]
        failed = {key: self.leaderless[key] for key in wanted if key in self.leaderless}
        return Results(
            succeeded={key: offsets[key] for key in wanted if key in offsets and key not in failed}, failed=failed
        )

    def _list_record_times(
        self, positions: Iterable[RecordPosition], *, isolation_level: IsolationLevel, **_: Any
    ) -> Results[RecordPosition, RecordTime | None]:
        wanted = list(positions)
        self.record_requests.append((wanted, isolation_level))
        late: dict[str, Any] = {"code": None, "name": "TIMEOUT", "message": "the record was not read within 30 s"}
        return Results(
            succeeded={key: self.records[key] for key in wanted if key in self.records},
            failed={
                key: Failure(topic=key.topic, partition=key.partition, **late)
                for key in wanted
                if key not in self.records
            },
        )

    def _describe_topics(self, topics: Iterable[str], **_: Any) -> Results[str, Topic]:
        name = "UNKNOWN_TOPIC_OR_PARTITION"
        message = "the topic does not exist"
        wanted = list(topics)
        failed = {
            topic: Failure(topic=topic, code=3, name=name, message=message)
            for topic in wanted
            if topic not in self.partitions
        }
        return Results(succeeded={topic: self._topic(topic) for topic in wanted if topic not in failed}, failed=failed)

    def _describe_topic_configs(
        self, topics: Iterable[str], names: Sequence[str], **_: Any
    ) -> Results[str, Mapping[str, str | None]]:
        known = {topic: self.configs[topic].items() for topic in topics if topic in self.configs}
        succeeded = {topic: {name: value for name, value in items if name in names} for topic, items in known.items()}
        return Results(succeeded=succeeded, failed=self.config_failures)

    def _list_partitions(self, topics: Iterable[str], **_: Any) -> Results[str, tuple[int, ...]]:
        described = self._describe_topics(topics)
        partitions = {name: topic.partitions for name, topic in described.succeeded.items()}
        return Results(succeeded=partitions, failed=described.failed)

    def _topic(self, name: str) -> Topic:
        partitions = self.partitions[name]
        leaders = dict.fromkeys(partitions, 1)
        return Topic(name, self.topic_ids.get(name, topic_id(name)), False, partitions, leaders)


def unreachable() -> AdminError:
    """Return the error that the client raises when no broker responds."""
    return ConnectionFailedError("no broker responded at b1:9092; is it running?")
