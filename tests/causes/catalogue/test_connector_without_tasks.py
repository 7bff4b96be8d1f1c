"""Connectors that run without a task."""

from kafka_groups.causes.catalogue.connector_without_tasks import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.connect_group import connect_group, polls_of, rebalancing, worker
from tests.causes.observed_group import texts_of, time_of

WITH_TASKS = connect_group(worker("w1", {"sink": [0]}), worker("w2", {"source": [0]}))
WITHOUT = connect_group(worker("w1", {"sink": []}), worker("w2", {"source": [0]}))
ELSEWHERE = connect_group(worker("w1", {"sink": []}), worker("w2", {"sink": [0]}))


def test_a_connector_without_any_task_is_likely() -> None:
    (finding,) = find(polls_of(*[WITH_TASKS] * 2, *[WITHOUT] * 4))
    assert finding.certainty is Certainty.LIKELY
    assert finding.since == Since(time_of(1), time_of(2))
    assert "The connector sink runs without a task" in finding.summary
    assert "http://w1:8083/ runs the connector sink." in texts_of(finding)


def test_a_connector_whose_tasks_are_on_other_workers_has_tasks() -> None:
    assert not [*find(polls_of(*[ELSEWHERE] * 6))]


def test_a_new_connector_gets_its_tasks_a_rebalance_later() -> None:
    assert not [*find(polls_of(*[WITH_TASKS] * 4, *[WITHOUT] * 2))]


def test_withheld_and_unknown_work_shows_no_connector_without_tasks() -> None:
    delayed = connect_group(worker("w1", {"sink": []}, scheduled_delay_ms=1000))
    unknown = connect_group(worker("w1", {"sink": []}), rebalancing("w2"))
    assert not [*find(polls_of(*[delayed] * 6))]
    assert not [*find(polls_of(*[unknown] * 6))]
