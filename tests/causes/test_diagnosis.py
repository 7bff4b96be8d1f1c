"""The order and the ranks of causes."""

from kafka_groups.causes.catalogue import CAUSES
from kafka_groups.causes.diagnosis import explain
from kafka_groups.causes.evidence import Need
from tests.causes.observed_group import ObservedGroup, description, line, member


def test_a_partition_that_an_earlier_cause_explains_is_not_judged_again() -> None:
    owner = member("app", {"orders": [0, 1]})
    group = ObservedGroup(*[description(owner)] * 6)
    group.partition("orders", 0, committed=[10] * 6, ends=line(100, 10), log_start=[50] * 6)
    group.partition("orders", 1, committed=line(100, 10), ends=line(100, 10), log_start=[50] * 6)
    found = [each.cause.name for each in explain(group.evidence).found]
    assert found == ["retention_overrun"]


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
