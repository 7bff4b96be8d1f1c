"""A partition to which far more is written than to the others."""

from kafka_groups.causes.catalogue.hot_partition import find
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(*, hot: list[int], committed: list[int]) -> ObservedGroup:
    group = ObservedGroup(*[description(*(member(f"m{n}", {"orders": [n]}) for n in range(4)))] * 6)
    group.partition("orders", 0, committed=committed, ends=hot).log_times("orders", 0, (60, hot[0] - 6000))
    for number in (1, 2, 3):
        group.partition("orders", number, committed=line(990, 50), ends=line(1000, 50))
        group.log_times("orders", number, (60, 400))
    return group


def test_a_partition_with_ten_times_the_records_is_hot() -> None:
    (finding,) = find(_group(hot=line(50_000, 500), committed=line(20_000, 100)).all_unexplained())
    assert finding.explains == {TopicPartition("orders", 0)}
    assert "100 records/s to each of orders-0, 10.0 times the median of the topic (10 records/s)" in finding.summary


def test_a_partition_that_is_read_less_than_others_is_not_hot() -> None:
    assert not [*find(_group(hot=line(50_000, 500), committed=line(20_000, 10)).all_unexplained())]


def test_a_hot_partition_that_is_read_in_time_is_no_trouble() -> None:
    assert not [*find(_group(hot=line(50_000, 500), committed=line(49_900, 500)).all_unexplained())]


def test_a_partition_with_the_records_of_others_is_not_hot() -> None:
    assert not [*find(_group(hot=line(50_000, 60), committed=line(20_000, 60)).all_unexplained())]


def test_a_lag_that_grows_at_each_commit_shows_a_hot_partition_at_once() -> None:
    group = _group(hot=line(50_000, 500), committed=line(48_000, 100)).with_evidence(log_times={})
    assert [*find(group.all_unexplained())]
