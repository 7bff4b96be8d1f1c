"""The partition that has the records of a group, as Kafka computes it."""

from __future__ import annotations

from kafka_groups.pipeline.facts.decode.partitioner import partition_for
from tests.pipeline.facts.decode.golden_records import ROUTED


def test_the_partition_of_a_group_is_that_of_kafka() -> None:
    assert [partition_for(routed.group, routed.of) for routed in ROUTED] == [routed.partition for routed in ROUTED]


def test_the_smallest_hash_gives_the_first_partition() -> None:
    # String.hashCode of this word is Integer.MIN_VALUE, which Math.abs leaves negative.
    assert partition_for("polygenelubricants", 50) == 0
