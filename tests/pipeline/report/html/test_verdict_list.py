from __future__ import annotations

from kafka_groups.pipeline.report.html.verdict_list import render_verdict_list
from kafka_groups.verdicts import MEANINGS, VERDICT_OF
from tests.pipeline.report.example_histories import group


def test_every_rule_has_a_meaning_and_the_worst_comes_first() -> None:
    found = render_verdict_list([group(rule, rule=rule) for rule in VERDICT_OF])
    places = [found.index(f"{VERDICT_OF[rule]}, {rule}</dt><dd>{MEANINGS[rule]}") for rule in VERDICT_OF]
    assert places == sorted(places, reverse=True)
    assert MEANINGS.keys() == VERDICT_OF.keys()


def test_only_the_rules_of_the_groups_are_in_the_list() -> None:
    found = render_verdict_list([group("a", rule="no_lag"), group("b", rule="stopped"), group("c", rule="no_lag")])
    assert found.count("<dt>") == 2
    assert found.index("STOP, stopped") < found.index("OK, no_lag")
    assert render_verdict_list([group("a", rule=None)]) == ""
