"""Leaders that do not work: without a leader, without a response, and with groups that stopped."""

from kafka_groups.causes.catalogue.broker_trouble import find
from kafka_groups.causes.evidence import OtherGroup, TopicPoll
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of, time_of
from tests.causes.other_groups import other_group

STILL = [150] * 6
MOVING = line(150, 10)
ON_TWO = TopicPartition("orders", 1)


def _group(*others: OtherGroup, first: list[int] | None = None, second: list[int] | None = None) -> ObservedGroup:
    """Return a group whose partition 0 is led by broker 1, and whose partition 1 is led by broker 2."""
    group = ObservedGroup(*[description(member("app", {"orders": [0, 1]}))] * 6)
    group.partition("orders", 0, committed=first or MOVING, ends=line(200, 10))
    group.partition("orders", 1, committed=second or STILL, ends=line(200, 10), leader=[2] * 6)
    topics = {"orders": (TopicPoll(time_of(5), "id", 2),)}
    return group.with_evidence(others=others, topics=topics)


STOPPED_ON_TWO = other_group("audit", 1, {0: (2, STILL), 1: (3, MOVING)})


def test_a_leader_that_does_not_respond_explains_its_partitions() -> None:
    group = _group().with_evidence(unanswering_brokers={2: "no response within 5 s"})
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.explains == {ON_TWO}
    assert finding.summary == "Broker 2 does not respond, which leads orders-1."


def test_a_partition_without_a_leader_is_certain() -> None:
    group = _group()
    lost = tuple(poll._replace(leader=None, log_end=None, lag=None) for poll in group.evidence.partitions[ON_TWO])
    group.with_evidence(partitions={**group.evidence.partitions, ON_TWO: lost})
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.summary == "No broker leads orders-1."


def test_a_partition_of_a_topic_that_was_not_described_may_have_a_leader() -> None:
    group = _group()
    lost = tuple(poll._replace(leader=None, log_end=None, lag=None) for poll in group.evidence.partitions[ON_TWO])
    group.with_evidence(partitions={**group.evidence.partitions, ON_TWO: lost}, topics={})
    assert not [*find(group.all_unexplained())]


def test_two_groups_that_stop_on_one_leader_alone_are_likely() -> None:
    (finding,) = find(_group(STOPPED_ON_TWO).all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert finding.explains == {ON_TWO}
    assert "2 groups stopped at the same time on broker 2" in finding.summary
    assert "The group audit stopped on broker 2" in texts_of(finding)


def test_a_group_that_reads_from_the_leader_refutes_it() -> None:
    reading = other_group("web", 1, {2: (2, MOVING)})
    assert not [*find(_group(STOPPED_ON_TWO, reading).all_unexplained())]


def test_one_group_alone_on_a_leader_shows_nothing() -> None:
    assert not [*find(_group().all_unexplained())]


def test_a_group_that_stopped_everywhere_does_not_blame_a_leader() -> None:
    assert not [*find(_group(STOPPED_ON_TWO, first=STILL).all_unexplained())]
    nowhere = other_group("audit", 1, {0: (2, STILL), 1: (3, STILL)})
    assert not [*find(_group(nowhere).all_unexplained())]


def test_a_group_that_stopped_long_ago_is_no_second_one() -> None:
    dead = other_group("audit", 1, {0: (2, [-9000] * 6), 1: (3, MOVING)})
    assert not [*find(_group(dead).all_unexplained())]
