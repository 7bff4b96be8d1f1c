"""Transactions that stay open, and those in progress."""

from kafka_groups.causes.catalogue import hanging_transaction, transaction_in_progress
from kafka_groups.causes.evidence import OpenTransaction, OtherGroup, PartitionPoll
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import START_MS, ObservedGroup, description, line, member, texts_of, time_of

KEY = TopicPartition("orders", 0)
BEGUN_MS = START_MS - 60_000


def _group(*, committed: list[int] | None = None, stable: list[int | None] | None = None) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    return group.partition(
        "orders", 0, committed=committed or [100] * 6, ends=line(200, 10), stable_end=stable or [100] * 6
    ).log_times("orders", 0, (300, 40), (60, 150))


def _with_transaction(group: ObservedGroup, *, updated_ms: int, start: int = 100) -> ObservedGroup:
    return group.with_evidence(transactions={KEY: (OpenTransaction(4001, 3, start, updated_ms),)})


def test_a_transaction_whose_producer_is_known_is_certain() -> None:
    evidence = _with_transaction(_group(), updated_ms=BEGUN_MS).all_unexplained()
    (finding,) = hanging_transaction.find(evidence)
    assert finding.certainty is Certainty.CERTAIN
    assert "Producer 4001 with epoch 3" in texts_of(finding)
    assert finding.since == Since(START_MS - 300_000, START_MS - 60_000)
    assert finding.next_command == (
        "kafka-transactions.sh --bootstrap-server b1:9092 abort --topic orders --partition 0 --start-offset 100"
    )
    assert finding.lag == 150
    assert finding.explains == {KEY}
    assert not [*transaction_in_progress.find(evidence)]


def test_a_last_stable_offset_at_the_commit_is_likely_without_the_producer() -> None:
    (finding,) = hanging_transaction.find(_group().all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert finding.next_command == (
        "kafka-transactions.sh --bootstrap-server b1:9092 find-hanging --topic orders --partition 0"
    )


def test_a_second_group_that_stops_at_the_same_offset_makes_it_strong() -> None:
    polls = tuple(PartitionPoll(time_of(poll), 98, 200 + poll) for poll in range(6))
    evidence = _group().with_evidence(others=(OtherGroup("audit", 1, {KEY: polls}),)).all_unexplained()
    (finding,) = hanging_transaction.find(evidence)
    assert finding.certainty is Certainty.STRONG
    assert "audit stops at the same offset" in texts_of(finding)


def test_a_transaction_whose_producer_still_writes_is_in_progress() -> None:
    evidence = _with_transaction(_group(), updated_ms=time_of(3)).all_unexplained()
    assert not [*hanging_transaction.find(evidence)]
    (finding,) = transaction_in_progress.find(evidence)
    assert finding.explains == {KEY}
    assert not [*transaction_in_progress.find(_group().all_unexplained())]


def test_a_stable_offset_that_moves_is_no_open_transaction() -> None:
    evidence = _group(stable=[90, *[100] * 5]).all_unexplained()
    assert not [*hanging_transaction.find(evidence)]


def test_a_stuck_commit_below_or_beyond_the_stable_offset_is_not_held_by_it() -> None:
    for committed in (70, 120):
        evidence = _group(committed=[committed] * 6).all_unexplained()
        assert not [*hanging_transaction.find(evidence)]


def test_a_poison_record_with_a_stable_offset_at_the_log_end_is_not_a_transaction() -> None:
    evidence = _group(stable=[*line(200, 10)]).all_unexplained()
    assert not [*hanging_transaction.find(evidence)]


def test_unknown_stable_offsets_show_no_transaction() -> None:
    evidence = _group(stable=[None] * 6).all_unexplained()
    assert not [*hanging_transaction.find(evidence)]


def test_few_polls_show_no_transaction_without_its_producer() -> None:
    group = _group()
    short = {KEY: group.evidence.partitions[KEY][-3:]}
    assert not [*hanging_transaction.find(group.with_evidence(partitions=short).all_unexplained())]
