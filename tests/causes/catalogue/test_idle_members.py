"""Members without partitions."""

from kafka_groups.causes.catalogue.idle_members import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.members import StreamsMember, SubtopologyTasks, TaskAssignment
from kafka_groups.model import Assignment
from tests.causes.observed_group import ObservedGroup, description, member

_READER = member("app", {"orders": [0]})
_IDLE = member("spare")


def test_members_without_a_partition_are_named_and_explain_no_lag() -> None:
    (finding,) = find(ObservedGroup(*[description(_READER, _IDLE)] * 6).all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.summary == "1 of 2 members have no partition: the group reads 1 partition."
    assert finding.facts[0].host == "/spare"
    assert not finding.explains


def test_a_member_that_will_get_a_partition_is_not_idle() -> None:
    waiting = member("spare", target_assignment=(Assignment("orders", (0,)),))
    assert not [*find(ObservedGroup(*[description(_READER, waiting)] * 6).all_unexplained())]


def test_a_member_that_restores_tasks_is_not_idle() -> None:
    standby = TaskAssignment(standby=(SubtopologyTasks("0", (0,)),))
    streams = StreamsMember("p", 1, standby, standby)
    group = ObservedGroup(*[description(_READER, member("spare", streams=streams))] * 6)
    assert not [*find(group.all_unexplained())]


def test_a_member_that_just_joined_or_whose_assignment_is_unknown_is_not_idle() -> None:
    joined = ObservedGroup(*[description(_READER)] * 5, description(_READER, _IDLE))
    assert not [*find(joined.all_unexplained())]
    unreadable = description(_READER, member("spare", assignment=None))
    assert not [*find(ObservedGroup(*[unreadable] * 6).all_unexplained())]
    rebalance = description(_READER, _IDLE, state="PreparingRebalance")
    assert not [*find(ObservedGroup(*[rebalance] * 6).all_unexplained())]


def test_one_poll_shows_no_idle_member() -> None:
    assert not [*find(ObservedGroup(description(_READER, _IDLE)).all_unexplained())]
