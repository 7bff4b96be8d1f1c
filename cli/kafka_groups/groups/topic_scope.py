"""The topics to which a command narrows what it shows of groups, and which groups read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.groups.assignments import assigned_partitions
from kafka_groups.groups.notes import Note, NoteKind, note_each
from kafka_groups.model import Failure, GroupOffsets, Member, TopicPartition
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error

# A poll sees a partition that was added to a topic this late at most.
PARTITIONS_MAX_AGE_S: Final = 10.0
# The number of named groups with a note of their own.
_MAX_NOTES: Final = 20
NO_GROUP_OF_TOPIC: Final = Note(
    NoteKind.NO_GROUP_OF_TOPIC, None, "No group has commits on the topic, or members that own partitions of it."
)


class TopicScope(NamedTuple):
    """The topics that a caller named.

    `named` maps each to its partitions, none for all of the topic, and `existing` to the partitions that the cluster
    has. `absent` are named topics that do not exist. A topic that could not be read is in neither.
    """

    named: Mapping[str, frozenset[int]]
    existing: Mapping[str, frozenset[int]] = MappingProxyType({})
    absent: frozenset[str] = frozenset()

    def has(self, topic: str, partition: int) -> bool:
        """Return whether the partition was named."""
        return topic in self.named and (not self.named[topic] or partition in self.named[topic])

    def has_whole_topics(self) -> bool:
        """Return whether every topic was named without partitions."""
        return not any(self.named.values())

    def missing(self) -> list[TopicPartition]:
        """Return the named partitions that their topics do not have."""
        return [
            TopicPartition(topic, partition)
            for topic, existing in self.existing.items()
            for partition in sorted(self.named[topic] - existing)
        ]

    def may_exist(self, key: TopicPartition) -> bool:
        """Return whether the log of a named partition is worth a request; its absence is reported already if not."""
        is_missing = key.partition in self.named[key.topic] and key.partition not in self.existing.get(
            key.topic, self.named[key.topic]
        )
        return key.topic not in self.absent and not is_missing

    def partitions_of(self, topic: str) -> frozenset[int]:
        """Return the existing partitions of a topic that were named."""
        existing = self.existing.get(topic, frozenset())
        return existing & self.named[topic] if self.named[topic] else existing

    def narrow(self, offsets: GroupOffsets) -> GroupOffsets:
        """Return the offsets of the named topics, with all partitions, and the failures of the named partitions."""
        return GroupOffsets(
            ((topic, commits) for topic, commits in offsets.topics if topic in self.named),
            {key: why for key, why in offsets.failed.items() if self.has(*key)},
            is_stable=offsets.is_stable,
            lags=offsets.lags,
        )

    def is_read_by(self, member: Member) -> bool:
        """Return whether a member owns a named partition, or subscribes to a topic and has no partition of it yet."""
        assigned = list(assigned_partitions(member))
        waiting = {*(member.subscription or ())} - {key.topic for key in assigned}
        return not waiting.isdisjoint(self.named) or any(self.has(*key) for key in assigned)


class TopicScopeReading(NamedTuple):
    """A scope, and the failures of its topics: those that do not exist, whole or in part, and those not read."""

    scope: TopicScope
    failures: tuple[Failure, ...]

    @property
    def is_complete(self) -> bool:
        """Whether a topic was read, and no named partition is missing."""
        return bool(self.scope.existing) and not self.scope.missing()


def read_topic_scope(
    admin: Admin, topics: Mapping[str, Sequence[int]], *, deadline: Deadline | None = None
) -> TopicScopeReading:
    """Read which of the named topics exist, in one request, which also finds the leaders of their partitions.

    `topics` maps topics to partitions, none for all of the topic.
    """
    known = admin.list_partitions(topics, max_age_s=PARTITIONS_MAX_AGE_S, timeout=deadline)
    scope = TopicScope(
        named={topic: frozenset(partitions) for topic, partitions in topics.items()},
        existing={topic: frozenset(partitions) for topic, partitions in known.succeeded.items()},
        absent=frozenset(topic for topic, why in known.failed.items() if why.code == UNKNOWN_TOPIC_OR_PARTITION),
    )
    error = broker_error(UNKNOWN_TOPIC_OR_PARTITION, "it does not exist")
    missing = (Failure.of(error, topic=key.topic, partition=key.partition) for key in scope.missing())
    return TopicScopeReading(scope, (*known.failed.values(), *missing))


def note_others(groups: Iterable[str]) -> list[Note]:
    """Return a note for each named group that reads none of the topics; beyond a limit one note counts the groups."""
    kind = NoteKind.NO_GROUP_OF_TOPIC
    text = "Group '{}' has no commits on the topic, and no members that own partitions of it."
    others = "{:,} more groups have no commits on the topic, and no members that own partitions of it."
    return note_each(
        [Note(kind, group, text.format(group)) for group in groups],
        most=_MAX_NOTES,
        others=lambda rest: Note(kind, None, others.format(rest)),
    )
