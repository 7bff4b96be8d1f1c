"""Suggestions for names that do not exist."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import suggestions
from kafka_groups.suggestions import did_you_mean, nearest, nearest_names

GROUPS = ("billing", "checkout", "lag", "Empty")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chekout", "checkout"),
        ("checkotu", "checkout"),
        ("checkouts", "checkout"),
        ("checkaut", "checkout"),
        ("chckot", "checkout"),
        ("CHECKOUT", "checkout"),
        ("lga", "lag"),
        ("Emtpy", "Empty"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_known_one(name: str, expected: str) -> None:
    assert nearest(name, GROUPS) == expected


@pytest.mark.parametrize("name", ["", "x", "la", "payments", "lagoon-of-orders", "check" * 100])
def test_a_name_that_is_near_to_none_gets_no_suggestion(name: str) -> None:
    assert nearest(name, GROUPS) is None
    assert did_you_mean(name, GROUPS) == ""


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("execute", "exclude"),
        ("reset-offsets", "delete-offsets"),
        ("reset-offsets", "offsets"),
        ("all-topics", "all-groups"),
        ("all-groups", "all"),
        ("topic", "top"),
        ("version", "verbose"),
        ("strat", "status"),
    ],
)
def test_another_word_with_many_equal_letters_is_not_near(name: str, known: str) -> None:
    assert nearest(name, [known]) is None


def test_of_several_near_names_the_one_with_the_fewest_edits_is_suggested() -> None:
    assert nearest("ordrs", ["borders", "orders", "order"]) == "orders"
    assert nearest("topi", ["top", "topic"]) == "topic"
    assert nearest("lga", ["lgb", "lag", "lgz"]) == "lag"


def test_a_long_name_may_have_three_wrong_letters() -> None:
    assert nearest("paymnt-servce-consumr", ["payment-service-consumer"]) == "payment-service-consumer"
    assert nearest("paymnt-servc-consumr", ["payment-service-consumer"]) is None


def test_the_beginning_of_a_name_is_near_if_only_one_name_has_it() -> None:
    assert nearest("bootstrap", ["bootstrap-server", "boot"]) == "bootstrap-server"
    assert nearest("group-id", ["group", "match"]) == "group"
    assert nearest("orders", ["orders-eu", "orders-us"]) is None


def test_a_name_with_another_number_is_another_name() -> None:
    workers = ["worker-7", "worker-13"]
    assert nearest("worker-12", workers) is None
    assert nearest("worker-1", workers) is None
    assert nearest("worker-0013", workers) == "worker-13"
    assert nearest("wroker-13", workers) == "worker-13"
    assert nearest("orders-1", ["orders-12"]) is None


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("wroker-12", "worker-13"),
        ("payments-2024-01", "payment-2024-02"),
        ("order-v1", "orders-v2"),
        ("2024-01-ordrs", "2024-02-orders"),
        ("order-1", "orders-12"),
        ("Order-1", "orders-2-eu"),
    ],
)
def test_a_misspelt_name_with_another_number_is_another_name(name: str, known: str) -> None:
    assert nearest(name, [known]) is None
    assert nearest(name, [known, "worker-12", "payment-2024-01", "orders-v1", "2024-1-orders", "orders-1"]) not in {
        None,
        known,
    }


def test_a_number_that_is_missing_or_added_is_a_typing_error() -> None:
    assert nearest("orders-v", ["orders-v2"]) == "orders-v2"
    assert nearest("checkout3", ["checkout"]) == "checkout"


def test_names_that_differ_only_in_case_keep_their_own_spelling() -> None:
    assert nearest("checkoUt", ["CHECKOUT", "checkout", "Checkout"]) == "checkout"
    assert did_you_mean("checkout", ["Checkout", "checkout"]) == ""


def test_the_suggestion_is_the_end_of_an_error() -> None:
    assert did_you_mean("chekout", ["checkout"]) == "; did you mean 'checkout'?"


def test_a_known_name_suggests_nothing() -> None:
    assert did_you_mean("checkout", ["checkout"]) == ""


def test_only_the_first_ten_names_get_a_suggestion() -> None:
    known = [f"group-{letter * 9}" for letter in "abcdefghijkl"]
    names = [f"{name}x" for name in known]
    assert nearest_names(names, known) == dict(zip(names[:10], known, strict=False))


def edits(one: str, other: str) -> int:
    """Return the number of edits between two texts (optimal string alignment), from a table of all beginnings."""
    table = {(row, 0): row for row in range(len(one) + 1)} | {(0, column): column for column in range(len(other) + 1)}
    for row in range(1, len(one) + 1):
        for column in range(1, len(other) + 1):
            ways = [
                table[row - 1, column] + 1,
                table[row, column - 1] + 1,
                table[row - 1, column - 1] + (one[row - 1] != other[column - 1]),
            ]
            if row > 1 and column > 1 and one[row - 2 : row] == other[column - 2 : column][::-1]:
                ways.append(table[row - 2, column - 2] + 1)
            table[row, column] = min(ways)
    return table[len(one), len(other)]


@given(st.lists(st.text("abc", max_size=9), max_size=12), st.text("abc", min_size=6, max_size=9))
def test_the_suggestion_has_as_few_edits_as_a_comparison_with_every_name_finds(known: list[str], name: str) -> None:
    fewest = min((edits(name, other) for other in known), default=99)
    found = nearest(name, known)
    if fewest <= 2:
        assert found is not None
        assert edits(name, found) == fewest
    else:
        assert found is None or found.startswith(name) or name.startswith(found)


def test_a_search_that_takes_too_long_ends_without_a_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [f"{letter}{other}-checkout" for letter in "abcdefgh" for other in "abcdefgh"]
    assert nearest("zz-chekcout", known[:1]) is None
    assert nearest("ah-chekcout", known) == "ah-checkout"
    monkeypatch.setattr(suggestions, "_MOST_ROWS", 20)
    assert nearest("ah-chekcout", known) is None


def names_of_a_family() -> list[str]:
    """Return 60,000 names that differ in a number."""
    return [f"order-service-{number:05}" for number in range(60_000)]


def names_without_a_pattern() -> list[str]:
    """Return 60,000 random names."""
    draw = random.Random(1)
    return ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20)) for _ in range(60_000)]


@pytest.mark.timed
@pytest.mark.parametrize("make_names", [names_of_a_family, names_without_a_pattern])
def test_ten_suggestions_among_60_000_names_take_at_most_a_second(make_names: object) -> None:
    assert callable(make_names)
    known: list[str] = make_names()
    misspelt = [f"{name[:4]}{name[5:]}" for name in known[::6_000]]
    for names in (misspelt, [f"{name[:-4]}zzzz" for name in known[:10]], [str(number) * 20 for number in range(10)]):
        started = time.process_time()
        found = nearest_names(names, known)
        assert time.process_time() - started <= 1
        assert names is not misspelt or len(found) == 10
