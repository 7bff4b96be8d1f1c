"""A group that has had no members for a short time."""

from kafka_groups.causes.catalogue.group_empty import find as find_empty
from kafka_groups.causes.catalogue.recently_empty import find
from kafka_groups.causes.finding import Since
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of


def test_a_reader_that_left_after_it_had_read_everything_explains_the_rest() -> None:
    reader = member("batch", {"orders": [0]})
    group = ObservedGroup(*[description(reader)] * 3, *[description()] * 3)
    group.partition("orders", 0, committed=[100, 110, 125, 125, 125, 125], ends=line(100, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.since == Since(time_of(2), time_of(3))
    assert finding.facts[0].client_id == "batch"
    assert (
        finding.summary
        == "The group is Empty with 25 records unread, the oldest for 10 seconds: its next run may be due."
    )


def test_the_remainder_of_a_run_that_ended_at_its_regular_end_is_explained() -> None:
    reader = member("batch", {"orders": [0]})
    group = ObservedGroup(*[description(reader)] * 3, *[description()] * 3)
    group.partition("orders", 0, committed=[90, 95, 100, 105, 105, 105], ends=line(100, 10))
    assert [*find(group.all_unexplained())]
    assert not [*find_empty(group.all_unexplained())]


def test_an_empty_group_whose_lag_is_young_is_explained() -> None:
    group = ObservedGroup(*[description()] * 6).partition(
        "orders", 0, committed=[20] * 6, ends=[20, 20, 30, 40, 50, 60]
    )
    assert [*find(group.all_unexplained())]


def test_an_empty_group_is_either_trouble_or_explained() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=line(30, 10))
    assert [*find_empty(group.all_unexplained())]
    assert not [*find(group.all_unexplained())]


def test_a_member_that_left_records_unread_is_not_explained() -> None:
    owner = member("app", {"orders": [0]})
    group = ObservedGroup(*[description(owner)] * 4, *[description()] * 2)
    group.partition("orders", 0, committed=[20] * 6, ends=line(30, 10))
    assert not [*find(group.all_unexplained())]


def test_a_group_with_members_or_without_a_lag_needs_no_explanation() -> None:
    owner = member("app", {"orders": [0]})
    group = ObservedGroup(*[description(owner)] * 6).partition("orders", 0, committed=[20] * 6, ends=line(30, 10))
    assert not [*find(group.all_unexplained())]
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=[20] * 6)
    assert not [*find(group.all_unexplained())]
