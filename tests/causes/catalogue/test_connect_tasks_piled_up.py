"""Tasks that are on few workers."""

from kafka_groups.causes.catalogue.connect_tasks_piled_up import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.connect_group import connect_group, polls_of, rebalancing, worker
from tests.causes.observed_group import texts_of, time_of

EVEN = connect_group(worker("w1", {"sink": [0, 1]}), worker("w2", {"source": [0]}))
PILED = connect_group(worker("w1", {"sink": [0, 1], "source": [0]}), worker("w2"))


def test_tasks_on_one_worker_beside_one_without_any_are_piled_up() -> None:
    (finding,) = find(polls_of(*[EVEN] * 2, *[PILED] * 4))
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.summary == "http://w1:8083/ runs 3 of 3 tasks, and http://w2:8083/ runs 0."
    assert "http://w2:8083/ runs 0 connectors with 0 tasks" in texts_of(finding)


def test_numbers_of_tasks_that_differ_by_one_are_even() -> None:
    assert not [*find(polls_of(*[EVEN] * 6))]


def test_work_that_moves_for_a_poll_or_two_is_not_piled_up() -> None:
    assert not [*find(polls_of(*[EVEN] * 4, *[PILED] * 2))]


def test_work_that_the_leader_withholds_is_another_cause() -> None:
    delayed = connect_group(worker("w1", {"sink": [0, 1]}, scheduled_delay_ms=1000), worker("w2"))
    assert not [*find(polls_of(*[delayed] * 6))]


def test_a_single_worker_and_unknown_work_are_not_piled_up() -> None:
    alone = connect_group(worker("w1", {"sink": [0, 1, 2]}))
    unknown = connect_group(worker("w1", {"sink": [0, 1, 2]}), rebalancing("w2"))
    assert not [*find(polls_of(*[alone] * 6))]
    assert not [*find(polls_of(*[unknown] * 6))]
