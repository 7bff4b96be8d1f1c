"""Partitions that were added to a topic, and that no member owns."""

from kafka_groups.causes.catalogue.new_partitions import find
from kafka_groups.causes.evidence import TopicPoll
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import GroupDescription, TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

OWNER = member("app", {"orders": [0, 1]})


def _group(counts: list[int], *groups: GroupDescription) -> ObservedGroup:
    group = ObservedGroup(*(groups or [description(OWNER)] * 6))
    for number in (0, 1):
        group.partition("orders", number, committed=line(10, 10), ends=line(10, 10))
    return group.with_evidence(
        topics={"orders": tuple(TopicPoll(time_of(poll), "id", count) for poll, count in enumerate(counts))}
    )


def test_partitions_that_were_added_while_polls_watched_are_certain() -> None:
    (finding,) = find(_group([2, 2, 4, 4, 4, 4]).all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.explains == {TopicPartition("orders", 2), TopicPartition("orders", 3)}
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.summary.startswith("Nobody reads orders-2, orders-3")


def test_partitions_that_were_added_before_are_strong() -> None:
    (finding,) = find(_group([3] * 6).all_unexplained())
    assert finding.certainty is Certainty.STRONG


def test_partitions_that_appear_in_the_last_poll_are_not_judged_yet() -> None:
    assert not [*find(_group([2, 2, 2, 2, 2, 3]).all_unexplained())]


def test_a_partition_with_a_commit_is_not_new() -> None:
    group = _group([3] * 6).partition("orders", 2, committed=[5] * 6, ends=[5] * 6)
    assert not [*find(group.all_unexplained())]


def test_a_rebalance_or_an_unreadable_assignment_proves_nothing() -> None:
    unreadable = description(OWNER, member("other", assignment=None))
    for state in (description(OWNER, state="PreparingRebalance"), unreadable):
        assert not [*find(_group([3] * 6, *[state] * 6).all_unexplained())]


def test_an_unknown_number_of_partitions_proves_nothing() -> None:
    assert not [*find(_group([]).all_unexplained())]
