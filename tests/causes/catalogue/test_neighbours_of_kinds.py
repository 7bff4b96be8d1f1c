"""Causes of clusters and kinds of group beside each other: which of them explains a partition, and what is silent."""

from kafka_groups.causes.diagnosis import Diagnosis, explain
from kafka_groups.causes.evidence import OpenTransaction, TopicPoll
from kafka_groups.model import TopicPartition
from tests.causes.connect_group import connect_group, polls_of, rebalancing, worker
from tests.causes.observed_group import START_MS, ObservedGroup, description, line, member, time_of
from tests.causes.share_group import share_group
from tests.causes.streams_group import streams_group, streams_member

KEY = TopicPartition("orders", 0)


def _names(diagnosis: Diagnosis) -> list[str]:
    return [each.cause.name for each in diagnosis.found]


def test_a_transaction_that_holds_a_partition_is_not_a_stuck_partition() -> None:
    group = ObservedGroup(*[description(member("app", {"orders": [0, 1]}))] * 6)
    group.partition("orders", 0, committed=[100] * 6, ends=line(200, 10), stable_end=[100] * 6)
    group.partition("orders", 1, committed=line(200, 10), ends=line(200, 10), stable_end=line(200, 10))
    group.with_evidence(transactions={KEY: (OpenTransaction(4001, 3, 100, START_MS - 60_000),)})
    assert _names(explain(group.evidence)) == ["hanging_transaction"]


def test_a_leader_that_does_not_respond_is_not_a_stuck_partition() -> None:
    group = ObservedGroup(*[description(member("app", {"orders": [0, 1]}))] * 6)
    group.partition("orders", 0, committed=[100] * 6, ends=line(200, 10), leader=[2] * 6)
    group.partition("orders", 1, committed=line(200, 10), ends=line(200, 10))
    group.with_evidence(unanswering_brokers={2: "no response"})
    assert _names(explain(group.evidence)) == ["broker_trouble"]


def test_a_recreated_topic_ranks_before_other_causes_of_its_partitions() -> None:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    group.partition("orders", 0, committed=[500] * 6, ends=line(1, 1), log_start=[0] * 6)
    ids = ["a", "a", "b", "b", "b", "b"]
    group.with_evidence(topics={"orders": tuple(TopicPoll(time_of(at), each, 1) for at, each in enumerate(ids))})
    assert _names(explain(group.evidence)) == ["topic_recreated"]


def test_a_locked_record_of_a_slow_share_group_is_found_before_its_speed() -> None:
    group = share_group(starts=[100] * 6, ends=line(1000, 100), lags=line(700, 50))
    group.log_times("orders", 0, (300, 50), (60, 900))
    assert _names(explain(group.evidence))[0] == "share_locked_record"


def test_healthy_groups_of_each_kind_have_no_trouble() -> None:
    share = share_group(starts=line(90, 10), ends=line(100, 10), lags=[10] * 6)
    streams = ObservedGroup(*[streams_group(streams_member("app"), streams_member("other"))] * 6)
    streams.partition("orders", 0, committed=line(90, 10), ends=line(100, 10), stable_end=line(100, 10))
    connect = polls_of(*[connect_group(worker("w1", {"sink": [0, 1]}), worker("w2", {"source": [0]}))] * 6)
    for evidence in (share.evidence, streams.evidence, connect):
        assert not explain(evidence).has_trouble


def test_groups_of_which_nothing_is_known_have_no_trouble() -> None:
    share = share_group(starts=[None] * 6, ends=[None] * 6, lags=[None] * 6)
    streams = ObservedGroup(*[streams_group()._replace(state=None, topology=None, is_described=False)] * 6)
    streams.partition("orders", 0, committed=[None] * 6, ends=[None] * 6, leader=[None] * 6)
    connect = polls_of(*[connect_group(rebalancing("w1"), rebalancing("w2"))] * 6)
    for evidence in (share.evidence, streams.evidence, connect):
        assert not explain(evidence).found
