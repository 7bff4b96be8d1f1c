"""A topic that no member reads any more."""

from kafka_groups.causes.catalogue.not_subscribed import find
from kafka_groups.causes.evidence import TopicPoll
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import Assignment, GroupDescription, TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

_READER = member("app", {"orders": [0]})


def _group(*descriptions: GroupDescription, old: list[int] | None = None) -> ObservedGroup:
    return (
        ObservedGroup(*descriptions)
        .partition("orders", 0, committed=line(90, 10), ends=line(100, 10))
        .partition("old", 0, committed=old or [20] * 6, ends=line(50, 1))
    )


def test_a_topic_without_an_owner_in_a_stable_group_is_not_subscribed() -> None:
    (finding,) = find(_group(*[description(_READER)] * 6).all_unexplained())
    assert finding.explains == {TopicPartition("old", 0)}
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(None, time_of(0))
    assert finding.next_command == "kafka-groups orphans g"


def test_a_topic_that_lost_its_owner_is_so_since_the_last_poll_with_one() -> None:
    both = member("app", {"orders": [0], "old": [0]})
    (finding,) = find(_group(*[description(both)] * 2, *[description(_READER)] * 4).all_unexplained())
    assert finding.since == Since(time_of(1), time_of(2))


def test_a_moment_without_an_owner_is_a_cooperative_rebalance() -> None:
    both = member("app", {"orders": [0], "old": [0]})
    assert not [*find(_group(*[description(both)] * 4, *[description(_READER)] * 2).all_unexplained())]


def test_a_topic_with_an_owner_is_subscribed_even_for_one_partition() -> None:
    both = member("app", {"orders": [0], "old": [7]})
    assert not [*find(_group(*[description(both)] * 6).all_unexplained())]
    waiting = member("app", {"orders": [0]}, target_assignment=(Assignment("old", (0,)),))
    assert not [*find(_group(*[description(waiting)] * 6).all_unexplained())]


def test_a_topic_whose_commit_moves_has_a_reader() -> None:
    assert not [*find(_group(*[description(_READER)] * 6, old=line(20, 1)).all_unexplained())]


def test_a_deleted_topic_is_another_cause() -> None:
    group = _group(*[description(_READER)] * 6)
    group.with_evidence(topics={"old": (TopicPoll(time_of(5), None, 0, exists=False),)})
    assert not [*find(group.all_unexplained())]


def test_a_rebalance_and_unreadable_assignments_rule_out_no_topic() -> None:
    rebalance = description(_READER, state="PreparingRebalance")
    assert not [*find(_group(*[rebalance] * 6).all_unexplained())]
    unreadable = description(_READER, member("other", assignment=None))
    assert not [*find(_group(*[unreadable] * 6).all_unexplained())]
