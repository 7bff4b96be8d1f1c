from __future__ import annotations

from kafka_groups.pipeline.report.html.verdict_list import DEFINITIONS, verdict_list
from kafka_groups.verdicts import VERDICT_OF
from tests.pipeline.report.example_histories import group


def test_every_rule_has_a_definition_the_worst_first() -> None:
    assert list(DEFINITIONS) == [*VERDICT_OF][::-1]
    worst = [*dict.fromkeys(VERDICT_OF[rule] for rule in DEFINITIONS)]
    assert worst == ["STOP", "REWIND", "STALL", "WARN", "UNKNOWN", "OK"]


def test_only_the_rules_of_the_groups_are_defined() -> None:
    found = verdict_list([group("a", rule="no_lag"), group("b", rule="stopped"), group("c", rule="no_lag")])
    assert found.count("<dt>") == 2
    assert found.index("STOP, stopped") < found.index("OK, no_lag")
    assert verdict_list([group("a", rule=None)]) == ""
