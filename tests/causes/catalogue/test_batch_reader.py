"""Readers in bursts."""

from kafka_groups.causes.catalogue.batch_reader import find
from kafka_groups.causes.finding import Certainty
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(bursts: list[int], polls: int = 36, *, left: int = 0) -> ObservedGroup:
    ends = line(1000, 10, polls)
    committed: list[int] = []
    for poll in range(polls):
        committed.append(ends[poll] - left if poll in bursts else committed[-1] if committed else 1000)
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * polls)
    return group.partition("orders", 0, committed=committed, ends=ends)


def test_four_bursts_at_a_regular_period_are_strong() -> None:
    (finding,) = find(_group([2, 10, 18, 26]).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert "in bursts each 40 s" in finding.summary


def test_three_bursts_are_likely() -> None:
    (finding,) = find(_group([6, 18, 30]).all_unexplained())
    assert finding.certainty is Certainty.LIKELY


def test_bursts_without_a_period_are_no_batches() -> None:
    assert not [*find(_group([2, 7, 25, 33]).all_unexplained())]


def test_a_burst_that_is_overdue_is_no_batch() -> None:
    assert not [*find(_group([2, 8, 14], 36).all_unexplained())]


def test_bursts_that_leave_most_unread_are_no_batches() -> None:
    assert not [*find(_group([2, 10, 18, 26], left=500).all_unexplained())]
