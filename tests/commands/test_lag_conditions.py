"""`kafka-groups lag --fail-if`: what a condition compares, and the exit code."""

from __future__ import annotations

import pytest

from tests.commands.lag_groups import NOTE, add_lag_groups, document_of
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    add_lag_groups(cluster)


@pytest.mark.parametrize(
    ("condition", "exit_code"),
    [
        ("lag>99", 4),
        ("lag>100", 0),
        ("lag > 50 and state == stable", 4),
        ("lag > 50 and state==Empty", 0),
        ("note==data_loss or lag>1000", 4),
        ("messages_lost>0", 4),
        ("retention_margin_percent<1", 4),
        ("isolation==committed", 0),
        ("note==incomplete", 0),
    ],
)
def test_a_condition_that_holds_is_exit_code_4(condition: str, exit_code: int) -> None:
    outcome = run("lag", "--fail-if", condition)
    assert outcome.exit_code == exit_code
    # The rows are there in both cases.
    assert len(outcome.stdout.splitlines()) == 4
    assert ("Error: the condition of --fail-if holds for " in outcome.stderr) == (exit_code == 4)


def test_the_error_names_the_groups_for_which_it_holds(cluster: FakeCluster) -> None:
    for number in range(4):
        cluster.add(f"g{number}", commits={("t", 0): 0, ("t", 1): 100, ("t", 2): 100})
    message = "Error: the condition of --fail-if holds for 'behind', 'g0', 'g1' and 2 more\n"
    assert run("lag", "--fail-if", "lag>=100").stderr == NOTE + message


def test_a_condition_is_judged_for_rows_that_top_does_not_show() -> None:
    outcome = run("lag", "--top", "1", "--fail-if", "group==beyond")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (4, 2)


def test_a_condition_is_judged_for_the_rows_of_by() -> None:
    assert run("lag", "--by", "partition", "--fail-if", "lag>90").exit_code == 0
    assert run("lag", "--by", "partition", "--fail-if", "partition==0 and topic==t and lag>=90").exit_code == 4


@pytest.mark.parametrize("key", ["topic", "member", "partition"])
def test_a_condition_on_parts_may_compare_the_state_of_their_group(key: str) -> None:
    assert run("lag", "--by", key, "--fail-if", "lag>50 and state==Stable and members==2").exit_code == 4
    assert run("lag", "--by", key, "--fail-if", "lag>50 and state==Empty").exit_code == 0


def test_verdicts_are_no_fields_of_parts() -> None:
    outcome = run("lag", "--by", "topic", "--fail-if", "verdict==OK")
    assert outcome.exit_code == 2
    fields = outcome.stderr.partition("the fields are ")[2]
    assert fields.startswith("group, ")
    assert "verdict" not in fields


def test_one_of_several_notes_is_enough(cluster: FakeCluster) -> None:
    cluster.add("both", commits={("u", 0): 3, ("t", 0): 200})
    (row,) = document_of("both")["groups"]
    assert row["note"] == ["data_loss", "beyond_end"]
    for condition, code in (("note==beyond_end", 4), ("note!=beyond_end", 0), ("note!=incomplete", 4)):
        assert run("lag", "both", "--fail-if", condition).exit_code == code


def test_a_row_without_notes_has_none_of_them() -> None:
    assert run("lag", "behind", "--fail-if", "note!=data_loss").exit_code == 4
    assert run("lag", "behind", "--fail-if", "note==data_loss").exit_code == 0


@pytest.mark.parametrize("sign", ["==", "!="])
@pytest.mark.parametrize(
    ("field", "misspelt", "right"),
    [
        ("note", "dataloss", "data_loss"),
        ("note", "Beyond-End", "beyond_end"),
        ("note", "cought_up", "caught_up"),
        ("state", "Stabel", "Stable"),
        ("isolation", "commited", "committed"),
        ("time_lag_quality", "exakt", "exact"),
        ("verdict", "STOPPED", "STOP"),
        ("rule", "stoped", "stopped"),
    ],
)
def test_a_value_that_a_key_never_has_is_refused(field: str, sign: str, misspelt: str, right: str) -> None:
    outcome = run("lag", "--watch", "1s", "--samples", "1", "--fail-if", f"{field}{sign}{misspelt}")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert f"{field} is never '{misspelt}'; write one of " in outcome.stderr
    assert f"; did you mean '{right}'?" in outcome.stderr


@pytest.mark.parametrize("field", ["note", "state", "isolation", "time_lag_quality", "verdict", "rule"])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_a_word_is_neither_smaller_nor_larger(field: str, sign: str) -> None:
    outcome = run("lag", "--watch", "1s", "--samples", "1", "--fail-if", f"{field}{sign}exact")
    assert outcome.exit_code == 2
    assert f"{field} is a text, which is compared only with == and !=" in outcome.stderr


@pytest.mark.parametrize("value", ["data_loss", "DATA_LOSS", "'Data_Loss'"])
def test_a_word_is_accepted_in_any_case(value: str) -> None:
    assert run("lag", "--fail-if", f"note=={value}").exit_code == 4


def test_wait_refuses_the_same_values() -> None:
    outcome = run("wait", "behind", "--until", "note!=dataloss", "--for", "1ms")
    assert outcome.exit_code == 2
    assert "did you mean 'data_loss'?" in outcome.stderr


def test_a_condition_that_holds_beats_a_failed_group() -> None:
    outcome = run("lag", "behind", "nope", "--fail-if", "lag>0")
    assert outcome.exit_code == 4
    assert outcome.stderr.splitlines() == [
        "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)",
        "Error: the condition of --fail-if holds for 'behind'",
    ]
    assert run("lag", "behind", "nope", "--fail-if", "lag>1000").exit_code == 3


@pytest.mark.parametrize("arguments", [("--match", "nope.*"), ("nope",)])
def test_a_condition_without_a_row_to_judge_is_exit_code_1(arguments: tuple[str, ...]) -> None:
    assert run("lag", *arguments, "--fail-if", "lag>0").exit_code == 1


def test_a_comparison_with_an_unknown_value_is_never_true(cluster: FakeCluster) -> None:
    cluster.add("fresh", state="Stable", members=[member("m", {"t": (0,)})])
    assert run("lag", "fresh", "--fail-if", "lag>=0 or lag<0 or lag!=7").exit_code == 0


@pytest.mark.parametrize(
    ("condition", "is_refused"),
    [("verdict==STALL", True), ("verdict==stall", True), ("lag>5 or rule==Stalled", True), ("verdict!=STALL", False)],
)
def test_a_condition_on_stall_is_refused_because_polls_do_not_see_it(condition: str, is_refused: bool) -> None:
    outcome = run("lag", "--watch", "1s", "--samples", "1", "--fail-if", condition)
    assert ("so only pipeline report gives STALL" in outcome.stderr) == is_refused
    assert (outcome.exit_code == 2) == is_refused
