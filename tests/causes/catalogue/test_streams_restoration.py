"""Members of a streams group that restore the state of tasks."""

from kafka_groups.causes.catalogue.streams_restoration import find
from kafka_groups.causes.finding import Certainty, Since
from kafka_groups.model import GroupDescription, TopicPartition
from tests.causes.observed_group import ObservedGroup, line, texts_of, time_of
from tests.causes.streams_group import streams_group, streams_member


def _restoring(lag: int | None) -> GroupDescription:
    return streams_group(streams_member("app"), streams_member("new", warmup=(1,), restoration_lag=lag))


def _group(*descriptions: GroupDescription) -> ObservedGroup:
    group = ObservedGroup(*descriptions)
    group.partition("orders", 0, committed=line(10, 10), ends=line(10, 10))
    return group.partition("orders", 1, committed=[10] * 6, ends=line(20, 10))


def test_a_restoration_lag_that_falls_from_its_first_poll_on_is_strong() -> None:
    group = _group(streams_group(streams_member("app")), *[_restoring(lag) for lag in line(5000, -900, 5)])
    (finding,) = find(group.all_unexplained())
    assert finding.certainty is Certainty.STRONG
    assert finding.since == Since(time_of(0), time_of(1))


def test_a_restoration_explains_the_partitions_of_the_warm_up_tasks() -> None:
    group = _group(*[_restoring(lag) for lag in line(5000, -900)])
    (finding,) = find(group.all_unexplained())
    assert finding.explains == {TopicPartition("orders", 1)}
    assert finding.lag == 60
    assert "new on new has 1 warm-up task, and 500 records to restore" in texts_of(finding)


def test_an_unknown_restoration_lag_is_likely_and_stays_unknown() -> None:
    (finding,) = find(_group(*[_restoring(None)] * 6).all_unexplained())
    assert finding.certainty is Certainty.LIKELY
    assert "an unknown number of records to restore" in texts_of(finding)


def test_a_restoration_lag_that_does_not_fall_is_likely() -> None:
    (finding,) = find(_group(*[_restoring(500)] * 6).all_unexplained())
    assert finding.certainty is Certainty.LIKELY


def test_standby_tasks_that_lag_behind_explain_nothing() -> None:
    standby = streams_group(streams_member("app", restoration_lag=90_000))
    assert not [*find(_group(*[standby] * 6).all_unexplained())]


def test_a_group_that_has_restored_its_tasks_is_not_restoring() -> None:
    group = _group(*[_restoring(10)] * 5, streams_group(streams_member("app")))
    assert not [*find(group.all_unexplained())]
