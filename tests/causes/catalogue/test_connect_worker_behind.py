"""Workers that have not read the newest configuration."""

from kafka_groups.causes.catalogue.connect_worker_behind import find
from kafka_groups.causes.finding import Certainty, Since
from tests.causes.connect_group import connect_group, polls_of, rebalancing, worker
from tests.causes.observed_group import texts_of, time_of

SAME = connect_group(worker("w1"), worker("w2"))
BEHIND = connect_group(worker("w1", {"sink": [0]}), worker("w2", config_offset=12))
MISMATCH = connect_group(
    worker("w1", config_offset=12, has_config_mismatch=True), worker("w2", has_config_mismatch=True)
)


def test_a_leader_that_is_behind_assigns_nothing_which_is_certain() -> None:
    (finding,) = find(polls_of(*[SAME] * 3, *[MISMATCH] * 3))
    assert finding.certainty is Certainty.CERTAIN
    assert finding.since == Since(time_of(2), time_of(3))
    assert "http://w1:8083/ had not read" in finding.summary
    assert "nothing is assigned" in finding.summary


def test_a_worker_whose_offset_is_below_that_of_the_leader_is_likely() -> None:
    (finding,) = find(polls_of(*[BEHIND] * 6))
    assert finding.certainty is Certainty.LIKELY
    assert "http://w2:8083/ joined with config offset 12." in texts_of(finding)
    assert "http://w2:8083/ had not read" in finding.summary


def test_a_worker_that_joined_again_with_the_same_offset_is_not_behind() -> None:
    assert not [*find(polls_of(*[MISMATCH] * 5, SAME))]
    assert not [*find(polls_of(*[SAME] * 5, BEHIND))]
    assert not [*find(polls_of(BEHIND))]


def test_without_a_known_leader_no_worker_is_behind() -> None:
    unknown = connect_group(rebalancing("w1"), rebalancing("w2"))
    assert not [*find(polls_of(*[unknown] * 6))]
