"""Markers of transactions at the end of a log."""

from kafka_groups.causes.catalogue.transaction_marker import find
from kafka_groups.causes.finding import Certainty
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(*ends: list[int], age_s: int = 600) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": range(len(ends))}))] * 6)
    for number, end in enumerate(ends):
        group.partition("orders", number, committed=[100] * 6, ends=end).log_times("orders", number, (age_s, 102))
    return group


def test_a_small_lag_that_stays_may_be_markers() -> None:
    (finding,) = find(_group([101] * 6).all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert finding.next_command is not None
    assert "--offset 100" in finding.next_command


def test_the_same_on_two_partitions_is_strong() -> None:
    (finding,) = find(_group([101] * 6, [102] * 6).all_unexplained())
    assert finding.certainty is Certainty.STRONG


def test_a_lag_that_grows_or_is_larger_or_young_is_no_marker() -> None:
    assert not [*find(_group(line(101, 1)).all_unexplained())]
    assert not [*find(_group([104] * 6).all_unexplained())]
    assert not [*find(_group([101] * 6, age_s=10).all_unexplained())]


def test_a_partition_that_nobody_owns_is_not_explained() -> None:
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[100] * 6, ends=[101] * 6)
    assert not [*find(group.log_times("orders", 0, (600, 101)).all_unexplained())]
