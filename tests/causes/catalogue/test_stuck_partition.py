"""A partition that stands still beside others of the same member."""

from kafka_groups.causes.catalogue.stuck_partition import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member


def _group(*, still: list[int], other: list[int]) -> ObservedGroup:
    owner = member("app", {"orders": [0, 1]})
    return (
        ObservedGroup(*[description(owner)] * 6)
        .partition("orders", 0, committed=still, ends=line(100, 10))
        .partition("orders", 1, committed=other, ends=line(100, 10))
    )


def test_a_partition_that_stays_while_its_member_reads_others_is_stuck() -> None:
    evidence = _group(still=[70] * 6, other=line(90, 10)).all_unexplained()
    (finding,) = find(evidence)
    assert finding.explains == {TopicPartition("orders", 0)}
    assert finding.certainty is Certainty.STRONG
    assert finding.lag == 80
    assert finding.next_command == (
        "kafka-console-consumer.sh --bootstrap-server b1:9092 --topic orders --partition 0 --offset 70 --max-messages 1"
    )


def test_a_member_that_reads_nothing_has_no_stuck_partition() -> None:
    evidence = _group(still=[70] * 6, other=[90] * 6).all_unexplained()
    assert not [*find(evidence)]


def test_a_partition_without_a_lag_is_not_stuck() -> None:
    owner = member("app", {"orders": [0, 1]})
    group = ObservedGroup(*[description(owner)] * 6)
    group.partition("orders", 0, committed=[70] * 6, ends=[70] * 6)
    group.partition("orders", 1, committed=line(0, 10), ends=line(9, 10))
    assert not [*find(group.all_unexplained())]
