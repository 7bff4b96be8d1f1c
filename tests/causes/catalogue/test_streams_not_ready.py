"""A streams group whose topology is not valid."""

from kafka_groups.causes.catalogue.streams_not_ready import CAUSE, find
from kafka_groups.causes.evidence import TopicPoll
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import ObservedGroup, description, line, texts_of, time_of
from tests.causes.streams_group import streams_group, streams_member

READY = streams_group(streams_member("app"))
NOT_READY = streams_group(streams_member("app"), state="NotReady")


def test_a_group_that_is_not_ready_names_the_topic_that_does_not_exist() -> None:
    group = ObservedGroup(*[READY] * 2, *[NOT_READY] * 4)
    group.partition("orders", 0, committed=[10] * 6, ends=line(20, 10))
    group.with_evidence(topics={"orders": (TopicPoll(time_of(5), None, 0, exists=False),)})
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.explains == frozenset(group.evidence.partitions)
    assert finding.lag == 60
    assert "The topic orders does not exist." in texts_of(finding)
    assert finding.next_command == "kafka-topics.sh --bootstrap-server b1:9092 --describe --exclude-internal"


def test_a_group_that_is_not_ready_for_one_poll_creates_its_topics() -> None:
    group = ObservedGroup(*[READY] * 5, NOT_READY)
    assert not [*find(group.all_unexplained())]


def test_a_group_that_became_ready_is_ready() -> None:
    group = ObservedGroup(*[NOT_READY] * 5, READY)
    assert not [*find(group.all_unexplained())]


def test_an_unknown_state_is_not_that_of_a_group_that_is_not_ready() -> None:
    unknown = NOT_READY._replace(state=None, is_described=False)
    assert not [*find(ObservedGroup(*[unknown] * 6).all_unexplained())]


def test_the_cause_applies_to_streams_groups_alone() -> None:
    assert CAUSE.applies_to(ObservedGroup(READY).evidence.kind)
    assert not CAUSE.applies_to(ObservedGroup(description()).evidence.kind)
