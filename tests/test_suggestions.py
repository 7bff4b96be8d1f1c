"""Suggestions for names that do not exist."""

from __future__ import annotations

import pytest

from kafka_groups.suggestions import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chekout", "checkout"),
        ("checkotu", "checkout"),
        ("CHECKOUT", "checkout"),
        ("lga", "lag"),
        ("Emtpy", "Empty"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_known_one(name: str, expected: str) -> None:
    assert nearest(name, ["billing", "checkout", "lag", "Empty"]) == expected


@pytest.mark.parametrize("name", ["", "x", "payments", "lagoon-of-orders"])
def test_a_name_that_is_near_to_none_gets_no_suggestion(name: str) -> None:
    assert nearest(name, ["billing", "checkout", "lag"]) is None
    assert did_you_mean(name, ["billing", "checkout", "lag"]) == ""


def test_the_suggestion_is_the_end_of_an_error() -> None:
    assert did_you_mean("chekout", ["checkout"]) == "; did you mean 'checkout'?"


def test_a_known_name_suggests_nothing() -> None:
    assert did_you_mean("checkout", ["checkout"]) == ""
