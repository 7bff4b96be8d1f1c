"""The work of a lost worker that the leader withholds."""

from kafka_groups.causes.catalogue.connect_rebalance_delay import CAUSE, find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.connect_group import connect_group, polls_of, rebalancing, worker
from tests.causes.observed_group import description, texts_of, time_of

BOTH = connect_group(worker("w1", {"sink": [0]}), worker("w2", {"source": [0]}))
DELAYED = connect_group(worker("w1", {"sink": [0]}, scheduled_delay_ms=300_000))


def test_a_delay_names_the_lost_worker_and_for_how_long() -> None:
    evidence = polls_of(*[BOTH] * 2, *[DELAYED] * 4)
    (finding,) = find(evidence)
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(1), time_of(2))
    assert finding.summary == ("The tasks of http://w2:8083/ do not run: the leader withholds them for 300 s.")
    assert "http://w2:8083/ left the group" in texts_of(finding)
    assert finding.next_command == "curl -s 'http://w1:8083/connectors?expand=status'"
    assert not finding.explains
    assert finding.lag is None
    assert CAUSE.applies_to(evidence.kind)
    assert not CAUSE.applies_to(polls_of(description()).kind)


def test_a_delay_whose_lost_worker_no_poll_saw_is_certain_all_the_same() -> None:
    (finding,) = find(polls_of(*[DELAYED] * 6))
    assert "The tasks of a lost worker do not run" in finding.summary


def test_a_group_without_a_delay_withholds_nothing() -> None:
    assert not [*find(polls_of(*[DELAYED] * 5, BOTH))]


def test_a_group_that_rebalances_has_no_known_delay() -> None:
    assert not [*find(polls_of(*[connect_group(rebalancing("w1"))] * 6))]
