"""A group without members."""

from kafka_groups.causes.catalogue.group_empty import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of, time_of


def test_an_empty_group_with_a_lag_names_who_left_last_and_when() -> None:
    owner = member("app", {"orders": [0]})
    group = ObservedGroup(*[description(owner)] * 2, *[description()] * 4)
    group.partition("orders", 0, committed=[10, 20, 20, 20, 20, 20], ends=line(20, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.facts[0].host == "/app"
    assert "50 records" in finding.summary
    assert "app on app left between" in texts_of(finding)


def test_the_last_of_two_members_to_leave_is_named() -> None:
    first, second = member("a", {"orders": [0]}), member("b", {"orders": [1]})
    group = ObservedGroup(description(first, second), description(second), *[description()] * 4)
    group.partition("orders", 0, committed=[10] * 6, ends=line(100, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.summary.endswith("The last member to leave was b on /b.")
    assert [fact.client_id for fact in finding.facts] == ["a", "b", None]


def test_nobody_saw_who_left_a_group_that_was_always_empty() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=line(30, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.since == Since(None, time_of(0))
    assert finding.certainty is Certainty.CERTAIN


def test_a_member_killed_a_minute_ago_is_found_by_two_polls_and_the_log() -> None:
    group = ObservedGroup(*[description()] * 2).partition("orders", 0, committed=[20, 20], ends=[80, 85])
    group.log_times("orders", 0, (60, 20), (30, 50))
    assert [*find(group.all_unexplained())]


def test_an_empty_group_that_has_read_everything_is_no_trouble() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=[20] * 6)
    assert not [*find(group.all_unexplained())]


def test_one_unread_marker_of_a_transaction_is_no_trouble() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=[21] * 6)
    assert not [*find(group.all_unexplained())]


def test_a_batch_reader_that_read_everything_and_left_is_no_trouble() -> None:
    reader = member("batch", {"orders": [0]})
    group = ObservedGroup(*[description(reader)] * 3, *[description()] * 3)
    group.partition("orders", 0, committed=[100, 110, 125, 125, 125, 125], ends=line(100, 10))
    assert not [*find(group.all_unexplained())]


def test_a_batch_reader_between_its_runs_is_no_trouble() -> None:
    reader = member("batch", {"orders": [0]})
    runs = [description(), description(reader), description(), description(), description(reader), description()]
    group = ObservedGroup(*runs)
    group.partition("orders", 0, committed=[50, 110, 110, 110, 135, 135], ends=line(100, 10))
    assert not [*find(group.all_unexplained())]


def test_a_lag_that_is_younger_than_the_window_is_no_trouble_yet() -> None:
    group = ObservedGroup(*[description()] * 6).partition(
        "orders", 0, committed=[20] * 6, ends=[20, 20, 30, 40, 50, 60]
    )
    assert not [*find(group.all_unexplained())]


def test_a_group_that_never_had_members_is_another_cause() -> None:
    group = ObservedGroup(*[description(protocol_type="")] * 6)
    group.partition("orders", 0, committed=[20] * 6, ends=line(100, 10))
    assert not [*find(group.all_unexplained())]


def test_unknown_members_and_unknown_log_ends_hold_for_nothing() -> None:
    unknown = description(state=None)._replace(state=None, is_described=False)
    group = ObservedGroup(*[unknown] * 6).partition("orders", 0, committed=[20] * 6, ends=line(100, 10))
    assert not [*find(group.all_unexplained())]
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=[None] * 6)
    assert not [*find(group.all_unexplained())]
