"""Numbers that users write: ASCII digits only, and an error with the number to write."""
# ruff: noqa: RUF001 - digits of other scripts look like letters

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.numerals import parse_decimal, parse_integer, to_ascii


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("+24", 24), ("-24", -24), ("-0", 0), (" 5\t", 5), (str(2**63 - 1), 2**63 - 1)],
)
def test_ascii_digits_with_a_sign_are_a_whole_number(text: str, number: int) -> None:
    assert parse_integer(text) == number


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1_000", "1000"),
        ("1_0_0", "100"),
        ("-1_0", "-10"),
        ("٣", "3"),
        ("٩٠٩٢", "9092"),
        ("१२", "12"),
        ("１２", "12"),
        ("\u221224", "-24"),
        ("\u201324", "-24"),
        ("\uff0b24", "24"),
        ("1,000", "1000"),
        ("1'000'000", "1000000"),
        ("1\u00a0000", "1000"),
        ("1e3", "1000"),
        ("0x10", "16"),
        ("5\u00a0", "5"),
        ("5\n", "5"),
    ],
)
def test_another_spelling_of_a_whole_number_is_an_error_with_the_number_to_write(text: str, plain: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number; write") as caught:
        parse_integer(text)
    assert str(caught.value) == f"{text!r} is not a whole number; write {plain}"


@pytest.mark.parametrize(
    "text", ["", " ", "+", "--5", "+-5", "1__0", "_1", "1_", "1.5", "1.", "x", "½", "²", "1,00", "1e99", "0b1", "1 0"]
)
def test_text_that_is_no_whole_number_is_an_error_without_a_number(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number") as caught:
        parse_integer(text)
    assert str(caught.value) == f"{text!r} is not a whole number"


@pytest.mark.parametrize("text", ["9" * 5_000, "-" + "9" * 5_000])
def test_thousands_of_digits_are_too_large(text: str) -> None:
    with pytest.raises(ValueError, match=r"…' is too large$"):
        parse_integer(text)


def test_thousands_of_characters_are_shortened_in_the_error() -> None:
    with pytest.raises(ValueError, match="is not a whole number") as caught:
        parse_integer("1_" * 5_000)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(("text", "number"), [("0.5", 0.5), (".5", 0.5), ("1", 1.0), ("1.", 1.0), ("+0.25", 0.25)])
def test_ascii_digits_with_a_point_are_a_number(text: str, number: float) -> None:
    assert parse_decimal(text) == number


@pytest.mark.parametrize(
    ("text", "hint"),
    [("1_0.5", "; write 10.5"), ("٠.٥", "; write 0.5"), ("nan", ""), ("inf", ""), ("1e-1", ""), ("", ""), (".", "")],
)
def test_other_numbers_of_python_are_no_numbers(text: str, hint: str) -> None:
    with pytest.raises(ValueError, match="is not a number") as caught:
        parse_decimal(text)
    assert str(caught.value) == f"{text!r} is not a number{hint}"


@given(st.text(st.sampled_from("0123456789٣１_+-−., \u00a0exX"), max_size=8))
def test_the_number_of_an_error_can_be_written(text: str) -> None:
    try:
        parse_integer(text)
    except ValueError as error:
        _, has_hint, plain = str(error).partition("; write ")
        assert not has_hint or str(parse_integer(plain)) == plain
        return
    assert text.isascii()
    assert "_" not in text


def test_underscores_in_names_stay() -> None:
    assert to_ascii("kafka_1_a:٩") == "kafka_1_a:9"
