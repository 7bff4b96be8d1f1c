"""A lag that shrinks."""

from kafka_groups.causes.catalogue.catching_up import find
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(reads: int) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    group.partition("orders", 0, committed=line(5_000, reads), ends=line(10_000, 100))
    return group.log_times("orders", 0, (60, 8_800), (300, 4_000))


def test_a_reader_at_twice_the_rate_of_writing_says_when_it_is_done() -> None:
    (finding,) = find(_group(200).all_unexplained())
    assert "caught up in 4 min" in finding.summary
    assert "40 records/s read, 20 records/s written" in finding.facts[0].text


def test_a_reader_that_is_slower_or_hardly_faster_is_not_explained() -> None:
    assert not [*find(_group(80).all_unexplained())]
    assert not [*find(_group(105).all_unexplained())]


def test_without_earlier_log_ends_nothing_is_behind() -> None:
    assert not [*find(_group(200).with_evidence(log_times={}).all_unexplained())]


def test_a_partition_that_stands_still_beside_it_hides_no_reader_that_catches_up() -> None:
    group = ObservedGroup(*[description(member("app", {"orders": [0, 1]}))] * 6)
    group.partition("orders", 0, committed=line(5_000, 150), ends=line(10_000, 100))
    group.partition("orders", 1, committed=line(5_000, 0), ends=line(10_000, 100))
    group.log_times("orders", 0, (60, 8_800), (300, 4_000)).log_times("orders", 1, (60, 8_800), (300, 4_000))
    evidence = group.all_unexplained()
    assert not [*find(evidence)]
    stuck = TopicPartition("orders", 1)
    (finding,) = find(evidence._replace(unexplained=evidence.unexplained - {stuck}))
    assert finding.explains == {TopicPartition("orders", 0)}
