"""Topics of changes as they are now: whether a recreation would be noticed."""

from __future__ import annotations

import pytest

from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.current_topics import CurrentTopics, note_unknown_ids
from kafka_groups.groups.notes import NoteKind
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error

ABSENT = CurrentTopics({}, {"gone": Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION), topic="gone")})


@pytest.mark.parametrize("change", [Change(Action.DELETE_OFFSETS, "g", "gone", 0, 5), Change(Action.DELETE_GROUP, "g")])
def test_nothing_is_noted_of_a_topic_that_does_not_exist_or_of_a_group_without_commits(change: Change) -> None:
    assert note_unknown_ids([change], ABSENT) == []


def test_a_topic_that_could_not_be_read_may_have_been_recreated() -> None:
    (note,) = note_unknown_ids([Change(Action.DELETE_OFFSETS, "g", "t", 0, 5)], ABSENT)
    assert note.kind is NoteKind.TOPIC_IDS_UNKNOWN
