"""The order and the ranks of causes."""

from collections.abc import Iterable

import pytest

from kafka_groups.causes.catalogue import CAUSES
from kafka_groups.causes.diagnosis import explain
from kafka_groups.causes.evidence import Evidence, Need, OpenTransaction, PartitionPoll, TopicPoll
from kafka_groups.causes.finding import Certainty, Finding
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of


def _find_each(evidence: Evidence) -> list[Finding]:
    """Return one finding for all partitions that are not explained yet."""
    keys = evidence.open_partitions().keys()
    finding = Finding("It is behind.", Certainty.LIKELY, (), "Nothing.", "Nothing.", explains=frozenset(keys))
    return [finding] if keys else []


@pytest.mark.parametrize("is_consequence", [False, True])
def test_a_partition_that_an_earlier_cause_explains_is_not_judged_again(is_consequence: bool) -> None:
    def find_first(evidence: Evidence) -> list[Finding]:
        return [each._replace(is_consequence=is_consequence) for each in _find_each(evidence)]

    template = CAUSES[0]._replace(needs=(), applies_to=lambda _kind: True)
    causes = [template._replace(name="first", find=find_first), template._replace(name="second", find=_find_each)]
    group = ObservedGroup(*[description()] * 6).partition("orders", 0, committed=[10] * 6, ends=line(100, 10))
    found = [each.cause.name for each in explain(group.evidence, causes).found]
    assert found == (["first", "second"] if is_consequence else ["first"])


def test_a_cause_whose_evidence_is_denied_is_untested_with_the_reason() -> None:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    group.partition("orders", 0, committed=line(100, 10), ends=line(100, 10))
    group.with_evidence(unseen={Need.LOG_STARTS: "DESCRIBE on the topic is denied"})
    untested = {each.cause.name: each.reason for each in explain(group.evidence).untested}
    assert untested["retention_overrun"] == "DESCRIBE on the topic is denied"


def test_the_names_of_causes_are_their_modules_and_differ() -> None:
    names = [cause.name for cause in CAUSES]
    assert len(set(names)) == len(names)
    assert [cause.find.__module__.rpartition(".")[2] for cause in CAUSES] == names


def test_no_two_causes_have_the_same_place_in_the_order() -> None:
    places = [(cause.order, cause.place) for cause in CAUSES]
    assert len(set(places)) == len(places)


_WORKER = member("app", {"orders": [0, 1]})


def _stuck_group() -> ObservedGroup:
    group = ObservedGroup(*[description(_WORKER)] * 6)
    group.partition("orders", 0, committed=[70] * 6, ends=line(100, 10), log_start=[75] * 6)
    group.partition("orders", 1, committed=line(90, 10), ends=line(100, 10))
    return group.log_times("orders", 0, (300, 80), (360, 60)).log_times("orders", 1, (60, 50), (300, 20))


def test_lost_records_do_not_hide_why_the_group_stopped() -> None:
    diagnosis = explain(_stuck_group().evidence)
    assert [each.cause.name for each in diagnosis.found][:2] == ["retention_overrun", "stuck_partition"]
    assert diagnosis.found[1].finding.next_command is None


def test_lost_records_explain_a_lag_that_has_no_other_cause() -> None:
    group = ObservedGroup(description(_WORKER)).partition("orders", 0, committed=[70], ends=[100], log_start=[75])
    assert explain(group.evidence).unexplained == frozenset()


def _crash_loop() -> ObservedGroup:
    """Return a group with a process that starts again and again, and a member that reads."""
    others = [member("c", {"orders": [1]}, member_id=f"c-{number}") for number in (0, 1, 1, 2, 2, 3)]
    group = ObservedGroup(*[description(member("app", {"orders": [0]}), each) for each in others])
    group.partition("orders", 0, committed=line(95, 10), ends=line(100, 10))
    group.partition("orders", 1, committed=[0] * 6, ends=line(100, 10))
    return group.with_evidence(topics={"orders": tuple(TopicPoll(time_of(poll), "id", 2) for poll in range(6))})


def _with_polls(group: ObservedGroup, polls: Iterable[PartitionPoll]) -> Evidence:
    key = TopicPartition("orders", 0)
    return group.evidence._replace(partitions={**group.evidence.partitions, key: tuple(polls)})


def test_members_that_come_and_go_do_not_hide_a_lost_leader() -> None:
    polls = [PartitionPoll(time_of(poll), 95, None) for poll in range(6)]
    diagnosis = explain(_with_polls(_crash_loop(), polls))
    assert diagnosis.found[0].cause.name == "broker_trouble"
    assert len(diagnosis.found) > 1


def test_members_that_come_and_go_do_not_hide_an_open_transaction() -> None:
    group = _crash_loop()
    ends = line(100, 10)
    polls = [PartitionPoll(time_of(at), 50, end, lag=end - 50, stable_end=50, leader=1) for at, end in enumerate(ends)]
    transaction = OpenTransaction(7, 0, 50, time_of(0) - 900_000)
    group.with_evidence(transactions={TopicPartition("orders", 0): (transaction,)})
    assert explain(_with_polls(group, polls)).found[0].cause.name == "hanging_transaction"


def test_members_that_come_and_go_do_not_hide_a_deleted_topic() -> None:
    topics = {"orders": tuple(TopicPoll(time_of(poll), None, 0, exists=False) for poll in range(6))}
    assert explain(_crash_loop().with_evidence(topics=topics).evidence).found[0].cause.name == "topic_deleted"
