"""A group with commits that never had members."""

from kafka_groups.causes.catalogue.never_started import find
from kafka_groups.causes.finding import Certainty
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of

_SIMPLE = description(protocol_type="", assignor=None)


def test_commits_without_a_protocol_and_with_a_lag_were_never_read() -> None:
    group = ObservedGroup(*[_SIMPLE] * 6).partition("orders", 0, committed=[20] * 6, ends=line(100, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.lag == 130
    assert "orders-0 stays at 20" in texts_of(finding)


def test_a_consumer_that_assigns_partitions_itself_is_no_trouble() -> None:
    group = ObservedGroup(*[_SIMPLE] * 6).partition("orders", 0, committed=line(20, 5), ends=line(100, 10))
    assert not [*find(group.all_unexplained())]


def test_a_group_that_had_members_has_another_cause() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=line(100, 10))
    assert not [*find(group.all_unexplained())]
    group = ObservedGroup(description(member("app")), *[_SIMPLE] * 5)
    group.partition("orders", 0, committed=[20] * 6, ends=line(100, 10))
    assert not [*find(group.all_unexplained())]


def test_commits_at_the_log_end_are_no_trouble() -> None:
    group = ObservedGroup(*[_SIMPLE] * 6).partition("orders", 0, committed=[20] * 6, ends=[20] * 6)
    assert not [*find(group.all_unexplained())]


def test_unknown_log_ends_hold_for_nothing() -> None:
    group = ObservedGroup(*[_SIMPLE] * 6).partition("orders", 0, committed=[20] * 6, ends=[None] * 6)
    assert not [*find(group.all_unexplained())]
