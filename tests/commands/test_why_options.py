"""The options of `why`: the schedule of polls, conditions on findings, and the connection of the next command."""

from __future__ import annotations

import click
import pytest

from kafka_groups.causes.finding import CauseKind, Certainty
from kafka_groups.commands.why_options import (
    Schedule,
    WhyOptions,
    holds_for,
    read_finding_condition,
    read_schedule,
)
from kafka_groups.options.connection import Connection, connection_words
from kafka_groups.rendering.views.judgement import FindingRow


def options(**values: str | int) -> WhyOptions:
    known = {"samples": 6, "interval": None, "watch": None, "fail_if": None, **values}
    return WhyOptions(**known)  # type: ignore[arg-type]


def row(certainty: Certainty, kind: CauseKind = CauseKind.TROUBLE) -> FindingRow:
    return FindingRow(0, "g", 1, "group_empty", kind, certainty, 5, None, "", "", "", None, (), ())


@pytest.mark.parametrize(
    ("given", "schedule"),
    [
        (options(), Schedule(6, 6.0, None)),
        (options(samples=3, interval="500ms"), Schedule(3, 0.5, None)),
        (options(watch="30s"), Schedule(6, 6.0, 5)),
        (options(watch="10m"), Schedule(6, 120.0, 5)),
        (options(watch="30s", samples=1), Schedule(2, 30.0, 1)),
        (options(watch="30s", interval="1s"), Schedule(31, 1.0, 30)),
        (options(watch="30s", samples=60, interval="1s"), Schedule(60, 1.0, 30)),
    ],
)
def test_a_watch_keeps_the_polls_of_its_interval_at_least(given: WhyOptions, schedule: Schedule) -> None:
    assert read_schedule(given, "table") == schedule


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        ("certainty>=strong", [Certainty.STRONG, Certainty.CERTAIN]),
        ("certainty<strong", [Certainty.LIKELY]),
        ("certainty!=Likely", [Certainty.STRONG, Certainty.CERTAIN]),
        ("cause==group_empty", [*Certainty]),
    ],
)
def test_certainties_have_an_order(text: str, holding: list[Certainty]) -> None:
    condition = read_finding_condition(text)
    assert condition is not None
    assert [each for each in Certainty if holds_for(condition, row(each))] == holding


def test_a_condition_on_an_explanation_is_refused_with_the_reason() -> None:
    with pytest.raises(click.UsageError, match="commit_interval explains a lag that is no trouble"):
        read_finding_condition("cause==commit_interval")


def test_no_condition_holds_for_an_explanation() -> None:
    condition = read_finding_condition("certainty>=likely")
    assert condition is not None
    assert not holds_for(condition, row(Certainty.CERTAIN, CauseKind.EXPLANATION))


def test_the_next_command_has_the_connection_without_properties() -> None:
    known = Connection(
        bootstrap_server="b1:9092", config="c.properties", properties=("sasl.password=x",), profile=None, timeout="5s"
    )
    assert connection_words(known, None) == ["--config", "c.properties", "-b", "b1:9092"]


def test_the_next_command_on_one_of_several_clusters_has_its_profile() -> None:
    several = Connection(
        bootstrap_server=None, config=None, properties=(), profile=None, timeout=None, profiles=("a", "b")
    )
    assert connection_words(several, "b") == ["--profile", "b"]
