"""A topic that does not exist any more."""

from kafka_groups.causes.catalogue.topic_deleted import find
from kafka_groups.causes.evidence import Evidence, TopicPoll
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import GroupDescription, TopicPartition
from tests.causes.observed_group import ObservedGroup, description, member, texts_of, time_of


def _evidence(*exists: bool, group: GroupDescription) -> Evidence:
    polls = tuple(TopicPoll(time_of(number), "id", 1 if each else 0, each) for number, each in enumerate(exists))
    observed = ObservedGroup(*[group] * 6)
    observed.partition("orders", 0, committed=[10] * 6, ends=[None] * 6)
    observed.partition("other", 0, committed=[10] * 6, ends=[10] * 6)
    return observed.with_evidence(topics={"orders": polls, "other": ()}).all_unexplained()


def test_a_topic_that_no_broker_knows_any_more_was_deleted_between_polls() -> None:
    owner = member("app", {"orders": [0]})
    (finding,) = find(_evidence(True, True, False, False, False, False, group=description(owner)))
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.explains == {TopicPartition("orders", 0)}
    assert finding.next_command is None
    assert finding.lag is None
    assert "app on app still has partitions" in texts_of(finding)


def test_offsets_on_a_deleted_topic_of_a_group_without_members_can_be_deleted() -> None:
    (finding,) = find(_evidence(*[False] * 6, group=description()))
    assert finding.next_command == "kafka-groups delete-offsets g --topic orders"
    assert finding.since == Since(None, time_of(0))


def test_a_topic_that_exists_again_is_not_deleted() -> None:
    evidence = _evidence(True, False, True, True, True, True, group=description())
    assert not [*find(evidence)]


def test_a_topic_that_was_not_observed_is_not_deleted() -> None:
    evidence = _evidence(group=description())
    assert not [*find(evidence)]


def test_a_topic_of_which_the_group_has_nothing_does_not_matter() -> None:
    evidence = _evidence(*[True] * 6, group=description())
    topics = {**evidence.topics, "absent": (TopicPoll(time_of(5), None, 0, exists=False),)}
    assert not [*find(evidence._replace(topics=topics))]
