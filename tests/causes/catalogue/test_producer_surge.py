"""Producers that write far more than before."""

from kafka_groups.causes.catalogue.producer_surge import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import START_MS, ObservedGroup, description, line, member

BEFORE = ((300, 6_500), (900, 6_000), (3_600, 3_000), (21_600, 0))


def _group(*, reads: int, earlier: tuple[tuple[int, int], ...] = BEFORE) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    group.partition("orders", 0, committed=line(6_600, reads), ends=line(10_000, 100))
    return group.log_times("orders", 0, (60, 8_800), (120, 7_600), *earlier)


def test_a_rate_far_above_that_of_hours_is_a_surge() -> None:
    (finding,) = find(_group(reads=50).all_unexplained())
    assert (
        "Producers write 20 records/s to 1 partition, 18.0 times as much as before (1.1 records/s)" in finding.summary
    )
    assert finding.certainty is Certainty.STRONG
    assert finding.since == Since(START_MS - 300_000, START_MS - 120_000)


def test_the_usual_rate_is_no_surge() -> None:
    usual = ((300, 4_000), (900, -8_000), (3_600, -60_000))
    assert not [*find(_group(reads=50, earlier=usual).all_unexplained())]


def test_a_group_that_reads_less_than_before_is_slow_itself() -> None:
    before = ((300, 6_500), (900, 2_000))
    assert not [*find(_group(reads=1, earlier=before).all_unexplained())]


def test_a_topic_that_is_younger_than_the_surge_has_no_rate_before() -> None:
    new = ((300, 6_500), (900, 6_500), (3_600, 6_500))
    assert not [*find(_group(reads=50, earlier=new).all_unexplained())]


def test_without_earlier_log_ends_no_surge_is_known() -> None:
    assert not [*find(_group(reads=50).with_evidence(log_times={}).all_unexplained())]
