"""The current topics of commits that are to be changed: their ids, and whether one was deleted and recreated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Timeout, Topic
from kafka_groups.changes.change import Change
from kafka_groups.errors import TopicRecreatedError
from kafka_groups.groups.notes import Note, NoteKind, note_each
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.name_lists import first_names
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error
from kafka_groups.protocol.topic_ids import format_topic_id

INVALID_TOPIC: Final = 17
# The note of a row whose topic may have been recreated without a trace.
UNKNOWN_ID: Final = "topic id unknown"
_MAX_NOTES: Final = 5


class CurrentTopics(NamedTuple):
    """Topics by name; `failed` has those that do not exist, or that brokers did not describe."""

    described: Mapping[str, Topic] = MappingProxyType({})
    failed: Mapping[str, Failure] = MappingProxyType({})

    def topic_id(self, topic: str) -> str | None:
        """Return the id of a topic; None if it is unknown, as before Kafka 2.8."""
        described = self.described.get(topic)
        if described is None or described.topic_id is None:
            return None
        return format_topic_id(described.topic_id)

    def is_absent(self, topic: str) -> bool:
        """Return whether the topic certainly does not exist."""
        return topic in self.failed and self.failed[topic].code in {UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC}

    def is_unknown(self, change: Change) -> bool:
        """Return whether a recreated topic would not be noticed: one of both ids is unknown."""
        if change.topic is None or self.is_absent(change.topic):
            return False
        return change.topic_id is None or self.topic_id(change.topic) is None

    def refuse(self, change: Change) -> Failure | None:
        """Return the failure of a change whose topic is another one now, or which does not exist any more.

        A commit on a topic that does not exist can be deleted, but not restored.
        """
        if change.topic is None:
            return None
        current = self.topic_id(change.topic)
        if change.topic_id is not None and current is not None and current != change.topic_id:
            text = (
                f"its topic was deleted and recreated since (its id was {change.topic_id}, now {current}); "
                "reset --to-offset commits an offset of the new one"
            )
            return _fail(change, Failure.of(TopicRecreatedError(text)))
        if not change.sets_offset:
            return None
        if self.is_absent(change.topic):
            return _fail(change, self.failed[change.topic])
        described = self.described.get(change.topic)
        if described is not None and change.partition not in described.partitions:
            return _fail(change, Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION)))
        return None

    def merge(self, other: CurrentTopics) -> CurrentTopics:
        """Return the topics of both."""
        return CurrentTopics({**self.described, **other.described}, {**self.failed, **other.failed})


def read_topics(admin: Admin, names: Iterable[str | None], *, timeout: Timeout | None = None) -> CurrentTopics:
    """Return the topics with these names, in one Metadata request; no name is no request."""
    wanted = sorted({name for name in names if name is not None})
    if not wanted:
        return CurrentTopics()
    described = admin.describe_topics(wanted, timeout=timeout)
    return CurrentTopics(described.succeeded, described.failed)


def _fail(change: Change, failure: Failure) -> Failure:
    return failure._replace(group=change.group, topic=change.topic, partition=change.partition)


def note_unknown_ids(changes: Iterable[Change], topics: CurrentTopics) -> list[Note]:
    """Return a note on the topics of recorded changes whose recreation would not be noticed."""
    unknown = {change.topic for change in changes if topics.is_unknown(change)}
    if not unknown:
        return []
    subject = "The id of 1 topic is" if len(unknown) == 1 else f"The ids of {len(unknown):,} topics are"
    text = f"{subject} unknown (Kafka before 2.8, or a plan without it): a recreated topic would not be noticed."
    return [Note(NoteKind.TOPIC_IDS_UNKNOWN, None, text)]


def note_uncommitted(partitions: Mapping[str, Iterable[TopicPartition]], topics: CurrentTopics) -> list[Note]:
    """Return a note for each group on the other partitions of its topics, on which it has no commit.

    Consumers start on them where `auto.offset.reset` says, which may not be where a reset leads. Beyond a limit one
    note counts the groups.
    """
    kind = NoteKind.LEFT_PARTITIONS
    notes = [
        Note(kind, group, text)
        for group, keys in partitions.items()
        if (text := _describe_uncommitted(group, keys, topics))
    ]
    others = "{:,} more groups have partitions without a commit, which stay as they are."
    return note_each(notes, most=_MAX_NOTES, others=lambda rest: Note(kind, None, others.format(rest)))


def _describe_uncommitted(group: str, keys: Iterable[TopicPartition], topics: CurrentTopics) -> str:
    committed = Counter(key.topic for key in keys)
    missing = {
        topic: count
        for topic, known in committed.items()
        if topic in topics.described and (count := len(topics.described[topic].partitions) - known) > 0
    }
    if not missing:
        return ""
    total = sum(missing.values())
    subject, verb = (
        ("1 partition", "it stays as it is") if total == 1 else (f"{total:,} partitions", "they stay as they are")
    )
    shown = first_names((f"'{topic}'" for topic in missing), _MAX_NOTES)
    return f"Group '{group}' has no commit on {subject} of {shown}: {verb} (reset with --topic)."
