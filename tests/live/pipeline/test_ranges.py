"""Ranges whose records are deleted. Brokers refuse to delete those of `__consumer_offsets`: another topic lends its."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.decode.data_gaps import DataGap
from kafka_groups.pipeline.facts.source import ranges
from kafka_groups.pipeline.facts.source.brokers import new_consumer
from kafka_groups.pipeline.facts.source.range_plan import Range
from kafka_groups.pipeline.facts.source.ranges import RangeReader
from tests.live.groups.topics import client_properties, make_topic

pytestmark = pytest.mark.live


@pytest.fixture
def cut(broker: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Twenty records, of which the first eight were deleted, where the offsets' topic should be."""
    topic = make_topic(broker, records=20)
    place = TopicPartition(topic, 0, 8)
    client = AdminClient(client_properties(broker))  # dropped before the result, it takes the request back
    client.delete_records([place])[place].result(30)
    monkeypatch.setattr(ranges, "OFFSETS_TOPIC", topic)
    return broker


def _read(broker: str, wanted: Range, timeout_s: float = 20) -> tuple[list[int], list[DataGap]]:
    client = {"bootstrap.servers": broker}
    consumer = new_consumer(client, 30.0)
    try:
        found = list(RangeReader(consumer, wanted, client, timeout_s).read())
    finally:
        consumer.close()
    offsets = [offset for part in found if not isinstance(part, DataGap) for offset in part["offset"].to_pylist()]
    return offsets, [part for part in found if isinstance(part, DataGap)]


def test_deleted_records_are_a_data_gap_and_the_others_are_read(cut: str) -> None:
    assert _read(cut, Range(0, 2, 12)) == ([8, 9, 10, 11], [DataGap(2, 7, 6, "deleted")])


def test_a_range_that_was_deleted_is_one_data_gap(cut: str) -> None:
    assert _read(cut, Range(0, 2, 6)) == ([], [DataGap(2, 5, 4, "deleted")])


def test_a_whole_range_has_no_data_gap(cut: str) -> None:
    assert _read(cut, Range(0, 8, 20)) == (list(range(8, 20)), [])


def test_a_partition_that_ends_before_the_range_is_refused(cut: str) -> None:
    with pytest.raises(SourceError, match="ends at 20, but was read up to offset 30"):
        _read(cut, Range(0, 30, 40))


def test_a_partition_that_was_truncated_below_the_range_is_refused(cut: str) -> None:
    # Its leaders never had an epoch of that number: the records before offset 12 are not those of the checkpoint.
    with pytest.raises(SourceError, match=r"truncated below offset 12 since it was read.*new directory"):
        _read(cut, Range(0, 12, 20, leader_epoch=5))
    with pytest.raises(SourceError, match="ends at 20, but was read up to offset 30"):
        _read(cut, Range(0, 30, 40, leader_epoch=0))


def test_a_range_with_a_known_epoch_is_read(cut: str) -> None:
    assert _read(cut, Range(0, 12, 20, leader_epoch=0)) == (list(range(12, 20)), [])
    assert _read(cut, Range(0, 2, 10, leader_epoch=0)) == ([8, 9], [DataGap(2, 7, 6, "deleted")])


def test_a_range_without_further_records_fails_in_time(cut: str) -> None:
    reason = r"from offset 20 to 25: no record within 1 s \(the partition ends at 20\); check the brokers"
    with pytest.raises(SourceError, match=reason):
        _read(cut, Range(0, 15, 25), timeout_s=1)
