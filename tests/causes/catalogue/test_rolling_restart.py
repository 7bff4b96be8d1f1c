"""Members that were replaced once."""

from kafka_groups.causes.catalogue.rolling_restart import find
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import GroupDescription, TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

_OLD = member("app", {"orders": [0]}, member_id="old")
_NEW = member("app", {"orders": [0]}, member_id="new", host="/elsewhere")
_STEADY = member("steady", {"orders": [1]})
_RESTART = [
    *[description(_OLD, _STEADY)] * 2,
    description(_STEADY, state="PreparingRebalance"),
    *[description(_NEW, _STEADY)] * 3,
]


def _observe(*descriptions: GroupDescription, committed: list[int]) -> ObservedGroup:
    return ObservedGroup(*descriptions).partition("orders", 0, committed=committed, ends=line(100, 10, len(committed)))


def test_a_lag_that_is_younger_than_the_restart_is_explained() -> None:
    group = _observe(*_RESTART, committed=[100, 110, 112, 112, 120, 140])
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.explains == {TopicPartition("orders", 0)}
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.summary.startswith("1 member left and 1 joined between")


def test_a_group_that_does_not_read_again_yet_is_likely_in_a_restart() -> None:
    (finding,) = find(_observe(*_RESTART, committed=[100, 110, 112, 112, 112, 112]).all_unexplained())
    assert finding.certainty is Certainty.LIKELY


def test_a_lag_that_is_older_than_the_restart_is_not_explained() -> None:
    assert not [*find(_observe(*_RESTART, committed=line(20, 10)).all_unexplained())]


def test_a_lag_that_grows_on_after_the_restart_is_not_explained() -> None:
    polls = [*_RESTART, *[_RESTART[-1]] * 2]
    group = _observe(*polls, committed=[100, 110, 112, 115, 118, 121, 124, 127])
    assert not [*find(group.all_unexplained())]


def test_members_that_only_left_or_only_joined_were_not_replaced() -> None:
    both, one = description(_OLD, _STEADY), description(_STEADY)
    committed = [100, 110, 112, 112, 120, 140]
    assert not [*find(_observe(*[both] * 2, *[one] * 4, committed=committed).all_unexplained())]
    assert not [*find(_observe(*[one] * 2, *[both] * 4, committed=committed).all_unexplained())]


def test_a_member_that_joined_and_left_again_is_no_single_restart() -> None:
    third = _NEW._replace(member_id="third")
    polls = [description(each, _STEADY) for each in (_OLD, _OLD, _NEW, third, third, third)]
    assert not [*find(_observe(*polls, committed=[100, 110, 112, 112, 120, 140]).all_unexplained())]
