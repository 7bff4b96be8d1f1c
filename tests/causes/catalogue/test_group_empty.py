"""A group without members."""

from kafka_groups.causes.catalogue.group_empty import find
from kafka_groups.causes.finding import Since
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


def test_nobody_saw_who_left_a_group_that_was_always_empty() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=line(20, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.since == Since(None, time_of(0))


def test_an_empty_group_that_has_read_everything_is_no_trouble() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[20] * 6, ends=[20] * 6)
    assert not [*find(group.all_unexplained())]
