"""A short pause of a whole group."""

from kafka_groups.causes.catalogue.quiet import find
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(*pairs: tuple[int, int]) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    return group.partition("orders", 0, committed=[1000] * 6, ends=line(1100, 10)).log_times("orders", 0, *pairs)


def test_a_pause_of_a_minute_is_quiet() -> None:
    (finding,) = find(_group((60, 900), (20, 1001)).all_unexplained())
    assert "have waited for at most 85 s" in finding.summary
    assert finding.lag == 150


def test_a_record_that_waited_for_minutes_is_not_quiet() -> None:
    assert not [*find(_group((180, 1010), (600, 900)).all_unexplained())]


def test_a_wait_that_nothing_bounds_is_not_called_short() -> None:
    assert not [*find(_group().all_unexplained())]
