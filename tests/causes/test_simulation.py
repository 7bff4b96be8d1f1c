"""Simulated incidents rank their cause first, and healthy groups have no trouble."""

from dataclasses import replace
from random import Random

import pytest

from kafka_groups.causes.diagnosis import Diagnosis, explain
from kafka_groups.causes.finding import CauseKind
from tests.causes.incidents import HEALTHY, INCIDENTS, LONG_PAUSES, Shape

SEEDS = 20
HEALTHY_SEEDS = 10
# Right in 95 % of the seeds.
MOST_WRONG = 1
POLLS_OF_3_MINUTES = 36


def _diagnose(name: str, shape: Shape, seed: int, polls: int = 6) -> Diagnosis:
    random = Random(f"{name} {seed}")
    return explain(replace(shape(random), polls=polls).evidence(random))


def _troubles(diagnosis: Diagnosis) -> list[str]:
    return [each.cause.name for each in diagnosis.found if each.cause.kind is CauseKind.TROUBLE]


@pytest.mark.parametrize("name", INCIDENTS)
def test_the_cause_of_a_simulated_incident_ranks_first(name: str) -> None:
    first = [(_troubles(_diagnose(name, INCIDENTS[name], seed)) or ["-"])[0] for seed in range(SEEDS)]
    assert sum(each != name for each in first) <= MOST_WRONG, first


@pytest.mark.parametrize("name", HEALTHY)
def test_a_simulated_healthy_group_has_no_trouble(name: str) -> None:
    troubles = {seed: _troubles(_diagnose(name, HEALTHY[name], seed)) for seed in range(HEALTHY_SEEDS)}
    assert not {seed: names for seed, names in troubles.items() if names}


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_a_healthy_group_has_no_trouble_in_a_longer_watch(name: str) -> None:
    troubles = [_troubles(_diagnose(name, HEALTHY[name], seed, POLLS_OF_3_MINUTES)) for seed in range(2)]
    assert not [names for names in troubles if names]


@pytest.mark.parametrize("name", LONG_PAUSES)
def test_a_pause_that_looks_like_a_stop_is_at_most_likely(name: str) -> None:
    for seed in range(HEALTHY_SEEDS):
        diagnosis = _diagnose(name, LONG_PAUSES[name], seed)
        assert {*_troubles(diagnosis)} <= {"all_stopped"}
        assert all(each.finding.certainty.word == "likely" for each in diagnosis.found if _is_trouble(each.cause.kind))


def _is_trouble(kind: CauseKind) -> bool:
    return kind is CauseKind.TROUBLE
