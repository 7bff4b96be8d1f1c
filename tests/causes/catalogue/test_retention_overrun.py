"""Records that were deleted before the group read them."""

from kafka_groups.causes.catalogue.retention_overrun import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of


def _group(topic: str, starts: list[int | None], committed: list[int]) -> ObservedGroup:
    group = ObservedGroup(*[description(member("app", {topic: [0]}))] * 6)
    return group.partition(topic, 0, committed=committed, ends=line(1000, 10), log_start=starts)


def test_a_log_start_above_the_commit_counts_what_is_lost_and_since_when() -> None:
    (finding,) = find(_group("orders", [0, 0, 500, 500, 500, 500], [100] * 6).all_unexplained())
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert "400 records of orders-0 were deleted" in finding.summary


def test_a_commit_at_the_log_start_lost_nothing() -> None:
    assert not [*find(_group("orders", [100] * 6, [100] * 6).all_unexplained())]


def test_an_unknown_log_start_proves_nothing() -> None:
    assert not [*find(_group("orders", [None] * 6, [100] * 6).all_unexplained())]


def test_one_poll_of_a_repartition_topic_may_be_between_commit_and_purge() -> None:
    group = _group("app-store-repartition", [100, 100, 300, 300, 300, 300], [100, 100, 100, 300, 300, 300])
    assert not [*find(group.all_unexplained())]
