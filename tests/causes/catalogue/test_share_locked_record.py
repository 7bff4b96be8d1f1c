"""A record of a share group that nobody acknowledges."""

from kafka_groups.causes.catalogue.share_locked_record import find
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import line, texts_of
from tests.causes.share_group import share_group


def test_a_start_offset_that_stays_while_later_records_become_final_is_likely() -> None:
    group = share_group(starts=[10] * 6, ends=line(20, 10), lags=[5] * 6)
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert finding.explains == {TopicPartition("orders", 0)}
    assert "record at offset 10 of orders-0" in finding.summary
    assert "Now 55 records beyond it are final" in texts_of(finding)
    assert finding.next_command == (
        "kafka-console-consumer.sh --bootstrap-server b1:9092 --topic orders --partition 0 --offset 10 --max-messages 1"
    )


def test_many_records_ahead_of_a_start_that_stays_are_strong() -> None:
    group = share_group(starts=[10] * 6, ends=line(2100, 10), lags=line(90, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.lag == 140


def test_a_start_offset_that_moves_is_not_locked() -> None:
    group = share_group(starts=line(10, 10), ends=line(400, 10), lags=[100] * 6)
    assert not [*find(group.all_unexplained())]


def test_a_group_that_acknowledges_nothing_has_no_locked_record() -> None:
    group = share_group(starts=[10] * 6, ends=line(20, 10), lags=line(10, 10))
    assert not [*find(group.all_unexplained())]


def test_a_start_offset_behind_final_records_without_a_lag_is_no_trouble() -> None:
    group = share_group(starts=[10] * 6, ends=line(400, 10), lags=[0] * 6)
    assert not [*find(group.all_unexplained())]


def test_without_members_nothing_is_locked() -> None:
    group = share_group(starts=[10] * 6, ends=line(400, 10), lags=[5] * 6, members=(0,) * 6)
    assert not [*find(group.all_unexplained())]


def test_unknown_lags_and_start_offsets_show_no_locked_record() -> None:
    without_lag = share_group(starts=[10] * 6, ends=line(400, 10), lags=[None] * 6)
    without_start = share_group(starts=[None] * 6, ends=line(400, 10), lags=[5] * 6)
    assert not [*find(without_lag.all_unexplained())]
    assert not [*find(without_start.all_unexplained())]
