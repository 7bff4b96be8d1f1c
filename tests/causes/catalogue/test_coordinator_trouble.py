"""Coordinators that do not work, by their failures and by their other groups."""

from kafka_groups.causes.catalogue.coordinator_trouble import find
from kafka_groups.causes.evidence import OtherGroup
from kafka_groups.causes.finding import Certainty
from kafka_groups.model import Failure
from tests.causes.observed_group import ObservedGroup, description, line, member, texts_of
from tests.causes.other_groups import other_group

STILL = [100] * 6
MOVING = line(150, 10)


def _group(*others: OtherGroup, committed: list[int] | None = None) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {"orders": [0]}))] * 6)
    group.partition("orders", 0, committed=committed or STILL, ends=line(200, 10))
    return group.with_evidence(others=others)


STOPPED = (other_group("a", 1, {0: (2, STILL)}), other_group("b", 1, {1: (3, STILL)}))
READING = other_group("c", 2, {2: (2, MOVING)})


def test_a_coordinator_that_is_not_available_is_certain() -> None:
    failure = Failure(15, "COORDINATOR_NOT_AVAILABLE", "the coordinator is not available", group="g")
    (finding,) = find(_group().with_evidence(coordinator_failure=failure).all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert "broker 1 (b1:9092), is not available" in finding.summary
    assert "COORDINATOR_NOT_AVAILABLE" in texts_of(finding)
    assert finding.lag == 150


def test_a_group_whose_coordinator_was_not_reached_is_strong() -> None:
    failure = Failure(None, "TIMEOUT", "no response within 5 s; last: no coordinator is available", group="g")
    (finding,) = find(_group().with_evidence(coordinator_failure=failure).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert "last: no coordinator is available (TIMEOUT)" in texts_of(finding)


def test_the_lag_of_a_group_that_no_poll_saw_is_unknown() -> None:
    failure = Failure(None, "TIMEOUT", "no response within 5 s", group="g")
    group = ObservedGroup(description()).with_evidence(coordinator_failure=failure)
    (finding,) = find(group.all_unexplained())
    assert finding.lag is None


def test_a_denied_request_is_no_trouble_of_the_coordinator() -> None:
    failure = Failure(30, "GROUP_AUTHORIZATION_FAILED", "denied", group="g")
    assert not [*find(_group().with_evidence(coordinator_failure=failure).all_unexplained())]


def test_a_coordinator_that_does_not_respond_is_strong() -> None:
    group = _group().with_evidence(unanswering_brokers={1: "no response within 5 s"})
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert "Broker 1 did not respond: no response within 5 s." in texts_of(finding)


def test_another_broker_that_does_not_respond_is_no_coordinator() -> None:
    assert not [*find(_group().with_evidence(unanswering_brokers={2: "no response"}).all_unexplained())]


def test_groups_of_one_coordinator_that_stop_together_are_strong() -> None:
    (finding,) = find(_group(*STOPPED, READING).all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert "has 3 groups that stopped together" in finding.summary
    assert "The group b stopped, too" in texts_of(finding)


def test_a_group_of_the_same_coordinator_that_reads_refutes_it() -> None:
    reading = other_group("d", 1, {3: (2, MOVING)})
    assert not [*find(_group(*STOPPED, reading, READING).all_unexplained())]


def test_groups_that_stopped_long_ago_are_no_evidence() -> None:
    dead = (other_group("a", 1, {0: (2, [0] * 6)}), other_group("b", 1, {1: (3, [-9000] * 6)}))
    assert not [*find(_group(*dead, READING).all_unexplained())]


def test_groups_that_stopped_a_moment_ago_may_be_batch_readers() -> None:
    stopped = [other_group(name, 1, {number: (2, [150] * 6)}) for number, name in enumerate("ab")]
    assert not [*find(_group(*stopped, READING, committed=[150] * 6).all_unexplained())]


def test_without_a_group_of_another_coordinator_that_reads_nothing_is_known() -> None:
    assert not [*find(_group(*STOPPED).all_unexplained())]
    unknown = other_group("c", None, {2: (2, MOVING)})
    assert not [*find(_group(*STOPPED, unknown).all_unexplained())]


def test_a_group_that_moves_has_no_trouble_with_its_coordinator() -> None:
    assert not [*find(_group(*STOPPED, READING, committed=MOVING).all_unexplained())]


def test_groups_that_a_transaction_holds_do_not_blame_the_coordinator() -> None:
    group = _group(*STOPPED, READING)
    held = {
        key: tuple(poll._replace(stable_end=100) for poll in polls) for key, polls in group.evidence.partitions.items()
    }
    assert not [*find(group.with_evidence(partitions=held).all_unexplained())]
