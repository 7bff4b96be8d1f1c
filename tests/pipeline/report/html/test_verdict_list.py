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


def test_the_first_group_with_trouble_has_the_command_that_shows_why() -> None:
    groups = [group("gone", verdict="STOP", deleted_ms=1), group("<b> x", verdict="WARN"), group("y", verdict="STALL")]
    found = render_verdict_list(groups)
    assert "<code><bdi>kafka-groups why &#x27;&lt;b&gt; x&#x27;</bdi></code>, with the options of its cluster." in found
    assert found.count("kafka-groups why") == 1
    assert "kafka-groups why" not in render_verdict_list([group("z", verdict="OK", rule="no_lag")])
