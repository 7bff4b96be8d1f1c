"""Internal topics of a Kafka Streams application: which they are, and why their offsets are not changed by default.

The application writes them itself, from records of its other topics. Offsets on both belong together, so they are
changed only if the user says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kafka_groups.changes.current_groups import CurrentGroup, refuse
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.kinds import kind_of
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.name_lists import first_names

# StreamsResetter.matchesInternalTopicFormat: what follows the application id, which is the group id.
_SUFFIX: Final = re.compile(
    r".*(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-[0-9]+-topic)"
)
_MAX_SHOWN: Final = 5
_REFUSED: Final = "the topic is internal to the Streams application; --internal-topics allows changes of its offsets"


def internal_topics(current: CurrentGroup, topics: Iterable[str]) -> frozenset[str]:
    """Return the topics that are internal to the group's application: by its topology, and by Kafka's rule of names."""
    description = current.description
    if description is None or not kind_of(description).has_internal_topics:
        return frozenset()
    subtopologies = (description.topology.subtopologies or ()) if description.topology is not None else ()
    own = {
        topic
        for part in subtopologies
        for topic in (*part.repartition_source_topics, *part.repartition_sink_topics, *part.changelog_topics)
    }
    prefix = f"{current.group}-"
    return frozenset(
        topic
        for topic in topics
        if topic in own or (topic.startswith(prefix) and _SUFFIX.fullmatch(topic[len(prefix) - 1 :]))
    )


def refuse_internal(group: str, key: TopicPartition) -> Failure:
    """Return the failure of a change of an offset on an internal topic."""
    return refuse(group, _REFUSED, key)


def note_internal(topics: Mapping[str, Collection[str]], *, changed: bool) -> list[Note]:
    """Return a note for each group on its internal topics, by name: their offsets are changed, or they are not."""
    text = "the plan has offsets on {}" if changed else "offsets on {} stay as they are without --internal-topics"
    return [
        Note(NoteKind.INTERNAL_TOPICS, group, f"Group '{group}': {text.format(_describe(internal))}.")
        for group, internal in topics.items()
        if internal
    ]


def _describe(topics: Collection[str]) -> str:
    """Return the number of internal topics with their names."""
    subject = "1 internal topic" if len(topics) == 1 else f"{len(topics):,} internal topics"
    names = first_names((f"'{topic}'" for topic in sorted(topics)), _MAX_SHOWN)
    return f"{subject} ({names})"
