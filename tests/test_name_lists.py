"""Messages show the first names of a long list."""

from __future__ import annotations

from kafka_groups.name_lists import first_names


def test_a_short_list_is_shown_whole() -> None:
    assert first_names([], 3) == ""
    assert first_names(["a"], 3) == "a"
    assert first_names(["a", "b", "c"], 3) == "a, b, c"


def test_a_sign_stands_for_the_names_that_are_not_shown() -> None:
    assert first_names(["a", "b", "c", "d"], 3) == "a, b, c, …"


def test_a_message_may_count_the_names_that_are_not_shown() -> None:
    names = (f"'{number}'" for number in range(1_003))
    assert first_names(names, 3, more=" and {:,} more") == "'0', '1', '2' and 1,000 more"


def test_braces_in_names_stay() -> None:
    assert first_names(["{0}", "{}"], 1) == "{0}, …"
