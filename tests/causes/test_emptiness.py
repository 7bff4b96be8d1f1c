"""How long nobody has read a group without members."""

from kafka_groups.causes.emptiness import empty_since, had_read_all, is_abandoned, pauses_ms, unread_ms
from kafka_groups.causes.finding import Since
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

_READER = description(member("app", {"orders": [0]}))
_EMPTY = description()


def test_pauses_are_the_times_between_runs() -> None:
    evidence = ObservedGroup(_READER, _EMPTY, _EMPTY, _READER, _READER, _EMPTY).evidence
    assert pauses_ms(evidence) == [15_000]
    assert empty_since(evidence) == Since(time_of(4), time_of(5))


def test_the_age_of_an_unread_record_comes_from_polls_and_the_log() -> None:
    group = ObservedGroup(*[_EMPTY] * 6).partition("orders", 0, committed=[20] * 6, ends=[20, 20, 30, 30, 30, 30])
    assert unread_ms(group.all_unexplained()) == 15_000
    group.partition("orders", 0, committed=[20] * 6, ends=line(30, 10)).log_times("orders", 0, (60, 25))
    assert unread_ms(group.all_unexplained()) == 85_000


def test_a_marker_of_a_transaction_is_not_unread() -> None:
    group = ObservedGroup(*[_EMPTY] * 6).partition("orders", 0, committed=[20] * 6, ends=[21, 21, 21, 21, 21, 30])
    assert had_read_all(group.all_unexplained(), time_of(0))
    assert not had_read_all(group.all_unexplained(), time_of(5))


def test_a_member_that_commits_as_it_leaves_has_not_died() -> None:
    group = ObservedGroup(*[_READER] * 3, *[_EMPTY] * 3)
    group.partition("orders", 0, committed=[100, 110, 112, 115, 115, 115], ends=line(100, 10))
    assert not is_abandoned(group.all_unexplained())
    group.partition("orders", 0, committed=[100, 110, 112, 112, 112, 112], ends=line(100, 10))
    assert is_abandoned(group.all_unexplained())


def test_a_member_that_leaves_old_records_unread_has_not_ended_its_run() -> None:
    group = ObservedGroup(*[_READER] * 3, *[_EMPTY] * 3).log_times("orders", 0, (300, 90))
    group.partition("orders", 0, committed=[50, 60, 70, 75, 75, 75], ends=line(100, 10))
    assert is_abandoned(group.all_unexplained())


def test_a_pause_longer_than_those_before_is_no_pause() -> None:
    polls = [_READER, _EMPTY, _READER, *[_EMPTY] * 7]
    group = ObservedGroup(*polls).partition("orders", 0, committed=[100, 100, *[120] * 8], ends=line(100, 10, 10))
    assert is_abandoned(group.all_unexplained())
    longer = [_READER, *[_EMPTY] * 5, _READER, *[_EMPTY] * 7]
    group = ObservedGroup(*longer).partition("orders", 0, committed=[*[100] * 6, *[160] * 8], ends=line(100, 10, 14))
    assert not is_abandoned(group.all_unexplained())
