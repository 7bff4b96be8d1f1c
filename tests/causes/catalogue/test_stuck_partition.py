"""A partition that stands still beside others that keep up."""

import pytest

from kafka_groups.causes import other_partitions
from kafka_groups.causes.catalogue.stuck_partition import find
from kafka_groups.causes.evidence import PartitionPolls
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of


def _group(*, still: list[int], other: list[int], waits_s: int = 300) -> ObservedGroup:
    owner = member("app", {"orders": [0, 1]})
    return (
        ObservedGroup(*[description(owner)] * 6)
        .partition("orders", 0, committed=still, ends=line(100, 10))
        .log_times("orders", 0, (waits_s, 80), (waits_s + 60, 60))
        .partition("orders", 1, committed=other, ends=line(100, 10))
        .log_times("orders", 1, (60, 50), (300, 20))
    )


def test_a_partition_that_stays_while_its_member_reads_others_is_stuck() -> None:
    (finding,) = find(_group(still=[70] * 6, other=line(90, 10)).all_unexplained())
    assert finding.explains == {TopicPartition("orders", 0)}
    assert finding.certainty is Certainty.STRONG
    assert finding.lag == 80
    assert "waited for 5 min or longer" in texts_of(finding)
    assert finding.next_command == (
        "kafka-console-consumer.sh --bootstrap-server b1:9092 --topic orders --partition 0 --offset 70 --max-messages 1"
    )


def test_a_member_that_reads_nothing_has_no_stuck_partition() -> None:
    assert not [*find(_group(still=[70] * 6, other=[90] * 6).all_unexplained())]


def test_a_partition_whose_record_is_young_is_not_stuck() -> None:
    assert not [*find(_group(still=[70] * 6, other=[90, 90, 110, 110, 140, 140], waits_s=20).all_unexplained())]


def test_a_partition_with_its_first_record_in_the_last_poll_is_not_stuck() -> None:
    owner = member("app", {"orders": [0, 1]})
    group = ObservedGroup(*[description(owner)] * 6)
    group.partition("orders", 0, committed=[70] * 6, ends=[70] * 5 + [71]).log_times("orders", 0, (3600, 70))
    group.partition("orders", 1, committed=line(90, 10), ends=line(100, 10))
    assert not [*find(group.all_unexplained())]


def test_a_partition_beside_one_that_is_behind_may_only_wait_for_its_turn() -> None:
    group = _group(still=[70] * 6, other=line(20, 5))
    assert not [*find(group.all_unexplained())]


def test_a_partition_without_a_lag_is_not_stuck() -> None:
    owner = member("app", {"orders": [0, 1]})
    group = ObservedGroup(*[description(owner)] * 6)
    group.partition("orders", 0, committed=[70] * 6, ends=[70] * 6)
    group.partition("orders", 1, committed=line(0, 10), ends=line(9, 10))
    assert not [*find(group.all_unexplained())]


def test_the_only_partition_of_a_member_is_stuck_if_others_move() -> None:
    group = ObservedGroup(*[description(member("a", {"orders": [0]}), member("b", {"orders": [1]}))] * 6)
    group.partition("orders", 0, committed=[70] * 6, ends=line(100, 10)).log_times("orders", 0, (300, 80))
    group.partition("orders", 1, committed=line(90, 10), ends=line(100, 10))
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert "it may hang" in finding.summary


def test_a_slow_member_does_not_hide_a_stuck_partition_of_another() -> None:
    group = _group(still=[70] * 6, other=line(90, 10))
    group.with_evidence(
        polls=tuple(
            poll._replace(group=description(*poll.group.members, member("b", {"orders": [2]})))
            for poll in group.evidence.polls
        )
    )
    group.partition("orders", 2, committed=line(10, 5), ends=line(100, 10)).log_times("orders", 2, (300, 90))
    (finding,) = find(group.all_unexplained())
    assert finding.explains == {TopicPartition("orders", 0)}


def test_beside_a_partition_that_moves_now_and_then_30_seconds_are_too_short() -> None:
    group = _group(still=[70] * 6, other=[90, 90, 110, 110, 140, 140]).with_evidence(log_times={})
    assert not [*find(group.all_unexplained())]


def test_a_partition_that_stands_still_for_half_a_minute_is_stuck_beside_one_that_moves_often() -> None:
    owner = member("app", {"orders": [0, 1]})
    ends = line(170, 100)
    group = ObservedGroup(*[description(owner)] * 6)
    group.partition("orders", 0, committed=line(160, 100), ends=ends).partition(
        "orders", 1, committed=[7] * 6, ends=ends
    )
    for partition in (0, 1):
        group.log_times("orders", partition, (60, 0), (120, 0))
    (finding,) = find(group.all_unexplained())
    assert finding.explains == {TopicPartition("orders", 1)}
    assert finding.certainty is Certainty.LIKELY


def test_many_stuck_partitions_judge_the_others_of_a_member_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, others = range(50), range(50, 100)
    group = ObservedGroup(*[description(member("app", {"orders": range(100)}))] * 6)
    for number in (*stuck, *others):
        committed = [70] * 6 if number in stuck else line(90, 10)
        group.partition("orders", number, committed=committed, ends=line(100, 10))
        group.log_times("orders", number, (300, 80), (360, 60))
    judged: list[PartitionPolls] = []

    def keep_up(polls: PartitionPolls, _times: object) -> bool:
        judged.append(polls)
        return True

    monkeypatch.setattr(other_partitions, "keeps_up", keep_up)
    assert len([*find(group.all_unexplained())]) == len(stuck)
    assert len(judged) <= 2 * len(others)
