"""A static member that keeps its partitions."""

from kafka_groups.causes.catalogue.member_gone import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import GroupDescription, TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of

_STATIC = member("a", {"orders": [0]}, group_instance_id="a-1")
_OTHER = member("b", {"orders": [1]}, group_instance_id="b-1")


def _observe(*descriptions: GroupDescription, static: list[int], other: list[int]) -> ObservedGroup:
    return (
        ObservedGroup(*descriptions)
        .partition("orders", 0, committed=static, ends=line(100, 10))
        .partition("orders", 1, committed=other, ends=line(100, 10))
    )


def test_a_static_member_that_commits_nothing_is_named_by_its_instance_id() -> None:
    group = _observe(*[description(_STATIC, _OTHER)] * 6, static=[90] * 6, other=line(90, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert finding.explains == {TopicPartition("orders", 0)}
    assert "static member a-1 (a on a)" in finding.summary
    assert "session.timeout.ms" in texts_of(finding)


def test_a_static_member_of_epoch_minus_two_has_left() -> None:
    left = _STATIC._replace(epoch=-2)
    group = _observe(*[description(left, _OTHER)] * 6, static=[90] * 6, other=line(90, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert "left without giving up its partitions" in finding.summary


def test_a_dynamic_member_that_commits_nothing_is_another_cause() -> None:
    dynamic = _STATIC._replace(group_instance_id=None)
    group = _observe(*[description(dynamic, _OTHER)] * 6, static=[90] * 6, other=line(90, 10))
    assert not [*find(group.all_unexplained())]


def test_a_group_that_commits_nothing_at_all_is_another_cause() -> None:
    group = _observe(*[description(_STATIC, _OTHER)] * 6, static=[90] * 6, other=[90] * 6)
    assert not [*find(group.all_unexplained())]


def test_a_long_commit_interval_is_no_trouble() -> None:
    group = _observe(*[description(_STATIC, _OTHER)] * 6, static=[90] * 6, other=[90, 90, 120, 120, 120, 120])
    assert not [*find(group.all_unexplained())]


def test_a_restart_of_a_static_member_is_no_trouble() -> None:
    again = _STATIC._replace(member_id="a-again")
    group = _observe(
        *[description(_STATIC, _OTHER)] * 3, *[description(again, _OTHER)] * 3, static=[90] * 6, other=line(90, 10)
    )
    assert not [*find(group.all_unexplained())]


def test_a_static_member_that_has_read_everything_is_no_trouble() -> None:
    group = _observe(*[description(_STATIC, _OTHER)] * 6, static=[200] * 6, other=line(90, 10))
    assert not [*find(group.all_unexplained())]


def test_unreadable_assignments_hold_for_nothing() -> None:
    unreadable = _STATIC._replace(assignment=None)
    group = _observe(*[description(unreadable, _OTHER)] * 6, static=[90] * 6, other=line(90, 10))
    assert not [*find(group.all_unexplained())]
