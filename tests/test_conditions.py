"""Conditions on rows: how they are read, when they hold, and where their errors are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.conditions import Comparison, Condition, ConditionError, FieldType, parse_condition
from kafka_groups.settings import parse_duration

FIELDS = {"lag": FieldType.NUMBER, "members": FieldType.NUMBER, "state": FieldType.TEXT, "time_lag": FieldType.DURATION}
ROW: dict[str, Any] = {"lag": 5, "members": 0, "state": "Empty", "time_lag": 60_000}


def parse(text: str) -> Condition:
    """Parse a condition on these fields."""
    return parse_condition(text, FIELDS, parse_duration=parse_duration)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lag<=5", True),
        ("lag<5", False),
        ("lag>4.5", True),
        ("lag>=-5", True),
        ("lag != 5", False),
        ("state==Empty", True),
        ("state == 'empty'", True),
        ('state!="Stable"', True),
        ("time_lag>=1m", True),
        ("time_lag>PT1M", False),
        ("time_lag<1.5m", True),
        ("lag>9 or members==0", True),
        ("lag>9 and members==0", False),
        ("lag>9 AND members==0 or state==Empty", True),
        ("lag==5 or lag>9 and members>3", True),
        ("(lag==5 or lag>9) and members>3", False),
        ("((lag==5))", True),
    ],
)
def test_a_condition_holds_for_a_row(text: str, expected: bool) -> None:
    assert parse(text).holds(ROW) is expected


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
def test_a_comparison_with_a_missing_value_is_never_true(sign: str) -> None:
    assert not parse(f"lag{sign}0").holds({**ROW, "lag": None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "→: expected a field, such as lag"),
        ("lag", "lag→: expected one of < <= > >= == !="),
        ("lag>", "lag>→: expected a value"),
        ("lag>5 state==x", "lag>5 →state==x: expected 'and', 'or' or the end"),
        ("lag>5 and", "lag>5 and→: expected a field, such as lag"),
        ("lag=5", "lag→=5: write == to compare"),
        ("lag>x", "lag>→x: lag is a number, and 'x' is none"),
        ("lag>1_000", "lag>→1_000: lag is a number, and '1_000' is none"),
        ("state>Empty", "state→>Empty: state is a text, which is compared only with == and !="),
        ("(lag>5", "(lag>5→: expected 'and', 'or' or ')'"),
        ("lag>5)", "lag>5→): expected 'and', 'or' or the end"),
        ("  lagg>5", "  →lagg>5: there is no field 'lagg'; the fields are lag, members, state, time_lag"),
        ("time_lag>5", "time_lag>→5: '5' is not a duration (a number needs a unit); write for example 30s or 500ms"),
        ("state=='x", "state==→'x: this is not part of a condition"),
        ("__import__('os')", "→__import__('os'): there is no field '__import__'"),
    ],
)
def test_an_error_marks_its_place(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as raised:
        parse(text)
    assert str(raised.value).startswith(message)


def test_parentheses_that_are_nested_too_deeply_are_an_error() -> None:
    with pytest.raises(ConditionError, match="nested too deeply"):
        parse("(" * 100_000 + "lag>5" + ")" * 100_000)


def test_the_fields_of_a_condition_are_known() -> None:
    assert parse("lag>5 and (state==x or lag<9)").fields() == {"lag", "state"}


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_an_error_that_shows_it(text: str) -> None:
    try:
        shown = str(parse(text).fields())
    except ConditionError as error:
        shown = str(error)
    assert shown.startswith("frozenset") or shown.replace("→", "").startswith(text.replace("→", ""))


_COMPARISONS = st.builds(Comparison, st.just("lag"), st.sampled_from(["<", ">=", "=="]), st.integers(-9, 9))
_TREES = st.recursive(
    _COMPARISONS.map(lambda each: (f"{each.field}{each.operator}{each.value}", each.holds(ROW))),
    lambda inner: st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
        lambda parts: (
            f"({parts[0][0]}) {parts[1]} ({parts[2][0]})",
            (parts[0][1] and parts[2][1]) if parts[1] == "and" else (parts[0][1] or parts[2][1]),
        )
    ),
    max_leaves=8,
)


@given(_TREES)
def test_a_condition_in_parentheses_holds_as_its_parts_do(tree: tuple[str, bool]) -> None:
    assert parse(tree[0]).holds(ROW) is tree[1]


def test_a_word_that_a_field_never_has_is_refused() -> None:
    words = {"state": ("Stable", "Empty")}
    condition = parse_condition("state==stable", FIELDS, parse_duration=parse_duration, words=words)
    assert condition.holds({"state": "Stable"})
    for sign in ("==", "!="):
        with pytest.raises(ConditionError) as raised:
            parse_condition(f"state{sign}Stabel", FIELDS, parse_duration=parse_duration, words=words)
        message = f"state{sign}→Stabel: state is never 'Stabel'; write one of Stable, Empty; did you mean 'Stable'?"
        assert str(raised.value) == message


def test_an_unknown_field_has_a_suggestion() -> None:
    with pytest.raises(ConditionError, match=r"state, time_lag; did you mean 'members'\?$"):
        parse("member==1")


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        (("data_loss", "incomplete"), "note==incomplete", True),
        (("data_loss", "incomplete"), "note==INCOMPLETE", True),
        (("data_loss", "incomplete"), "note==beyond_end", False),
        (("data_loss", "incomplete"), "note!=incomplete", False),
        (("data_loss", "incomplete"), "note!=beyond_end", True),
        ((), "note==incomplete", False),
        ((), "note!=incomplete", True),
    ],
)
def test_a_value_of_words_equals_each_of_them_and_differs_from_all_others(
    words: tuple[str, ...], text: str, expected: bool
) -> None:
    condition = parse_condition(text, {"note": FieldType.TEXT}, parse_duration=parse_duration)
    assert condition.holds({"note": words}) is expected


def test_the_comparisons_of_a_condition_are_those_of_its_parts() -> None:
    found = [comparison.field for comparison in parse("lag>5 and (state==x or members<9)").comparisons()]
    assert found == ["lag", "state", "members"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("size>=medium", True), ("size>medium", False), ("size<Large", True), ("size!=small", True)],
)
def test_words_with_a_rank_are_compared_by_it(text: str, expected: bool) -> None:
    sizes = ("small", "medium", "large")
    condition = parse_condition(text, {"size": FieldType.RANK}, parse_duration=parse_duration, words={"size": sizes})
    assert condition.holds({"size": sizes.index("medium")}) is expected
