"""The view of `why`: commands with a connection, and the text of times."""

from __future__ import annotations

import io
import subprocess

import pytest

from kafka_groups.causes.cause import Cause, Due, Order
from kafka_groups.causes.diagnosis import explain
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.command_lines import group_command
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.judgement import ONLY_HISTORY, Judgement, judgement_of
from kafka_groups.rendering.views.judgement import with_connection as complete
from kafka_groups.rendering.views.why_text import why_lines
from kafka_groups.rendering.writers.text import TextWriter
from tests.causes.observed_group import ObservedGroup, description, line, member, time_of

DAY_MS = 86_400_000


def screen(*, width: int = 0) -> Screen:
    return Screen(io.StringIO(), io.StringIO(), bool(width), False, False, width)


def texts(found: Judgement, on: Screen) -> list[str]:
    return [line.text for line in why_lines(found, on)]


def judgement(
    command: str | None = None,
    *,
    since: Since | None = None,
    kind: CauseKind = CauseKind.TROUBLE,
    due: Due = Due.LIVE,
    holds: bool = True,
) -> Judgement:
    """Return the judgement of a group with one cause."""
    finding = Finding(
        summary="The group does not move.",
        certainty=Certainty.STRONG,
        facts=(Fact("It stays at 5."), Fact("The log grows.")),
        refuted_by="A move.",
        next_step="Run this.",
        next_command=command,
        since=since,
    )

    def find(_evidence: Evidence) -> list[Finding]:
        return [finding] if holds else []

    cause = Cause("stopped", "it stopped", kind, Order.GROUP, (), find, due)
    group = ObservedGroup(*[description(member("m", {"t": [0]}))] * 6)
    group.partition("t", 0, committed=[5] * 6, ends=line(5, 1))
    return judgement_of(explain(group.evidence, [cause]), ["-b", "b1:9092"])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("kafka-groups describe 'a b'", "kafka-groups describe 'a b' -b b1:9092"),
        ("kafka-groups why -- -g", "kafka-groups why -b b1:9092 -- -g"),
        ("kafka-configs.sh --describe", "kafka-configs.sh --describe"),
    ],
)
def test_only_a_command_of_this_tool_gets_the_connection(command: str, expected: str) -> None:
    assert complete(command, ["-b", "b1:9092"]) == expected
    assert complete(command, []) == command


def test_a_pipe_folds_no_line_and_a_command_has_its_own() -> None:
    lines = [*texts(judgement("kafka-groups lag g"), screen())]
    assert lines[2:8] == [
        "1. STRONG  stopped  The group does not move.",
        "    evidence    It stays at 5.",
        "                The log grows.",
        "    refuted by  A move.",
        "    next        Run this.",
        "    kafka-groups lag g -b b1:9092",
    ]


def test_a_narrow_terminal_folds_sentences_and_no_command() -> None:
    command = f"kafka-groups lag {'g' * 60}"
    lines = [*texts(judgement(command), screen(width=40))]
    assert f"    {command} -b b1:9092" in lines
    assert [text for text in lines if len(text) > 40 and command not in text] == lines[:1]


@pytest.mark.parametrize(
    ("since", "text"),
    [
        (Since(None, time_of(1)), "14:13:25 UTC or earlier"),
        (Since(time_of(0), time_of(1)), "between 14:13:20 UTC and 14:13:25 UTC"),
        (Since(time_of(0) - DAY_MS, time_of(1)), "between 2026-09-20 14:13:20 UTC and 14:13:25 UTC"),
    ],
)
def test_a_beginning_has_its_bounds(since: Since, text: str) -> None:
    assert f"    since       {text}" in [*texts(judgement(since=since), screen())]


def test_a_long_evidence_is_cut_after_ten_facts() -> None:
    found = judgement()
    (row,) = found.rows
    many = found._replace(rows=[row._replace(evidence=[Fact(f"Fact {number}.") for number in range(1_012)])])
    lines = [*texts(many, screen())]
    assert [line.strip() for line in lines if "Fact 9." in line or "more" in line] == [
        "Fact 9.",
        "… and 1,002 more, which --format json has.",
    ]


def test_trouble_has_a_colour_where_output_has_some() -> None:
    coloured = screen()._replace(colour=True)
    TextWriter(coloured, why_lines).add(Entry((), [judgement()], dict))
    text = coloured.out.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[1;31m1. STRONG  stopped  The group does not move.\x1b[0m" in text


def test_an_explanation_is_no_trouble() -> None:
    lines = [*texts(judgement(kind=CauseKind.EXPLANATION), screen())]
    assert "1. STRONG  stopped  (no trouble) The group does not move." in lines


def test_a_cause_that_only_history_shows_was_not_tested() -> None:
    found = judgement(due=Due.HISTORY, holds=False)
    assert (found.checked, found.untested) == ([], [("stopped", ONLY_HISTORY)])
    assert [*texts(found, screen())][-1] == f"Could not be tested: stopped ({ONLY_HISTORY})."


def test_evidence_that_was_denied_limits_what_is_called_right() -> None:
    group = ObservedGroup(*[description(member("m", {"t": [0]}))] * 6)
    assert "Nothing wrong was found." in texts(judgement_of(explain(group.evidence), ()), screen())
    denied = group.with_evidence(unseen={Need.LOG_ENDS: "denied"})
    lines = texts(judgement_of(explain(denied.evidence), ()), screen())
    assert "Nothing wrong was found in what could be observed." in lines


def test_a_cause_with_many_findings_shows_the_first_five() -> None:
    one = judgement()
    rows = [one.rows[0]._replace(rank=rank) for rank in range(1, 3_001)]
    lines = texts(one._replace(rows=rows), screen())
    assert sum("STRONG  stopped" in line for line in lines) == 5
    assert "… and 2,995 more findings of stopped, which --format json has." in lines


def test_a_command_with_a_newline_in_a_group_is_one_line_for_a_shell() -> None:
    group = "a\nb'c\\d\x1b\u0085"
    (line,) = [text for text in texts(judgement(group_command("reset", group)), screen()) if "kafka-groups" in text]
    assert line.isprintable()
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert words.stdout.decode().split("\0")[2] == group
