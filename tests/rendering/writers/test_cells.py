"""How a value becomes the text of a cell: in a table, in CSV, and in the format of Kafka's tool."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.cells import cell_texts, column_texts, csv_cell, kafka_texts

MakeScreen = Callable[..., Screen]
ESCAPE = "\x1b[2J"


def rows(*values: Any) -> list[SimpleNamespace]:
    return [SimpleNamespace(value=value) for value in values]


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_value_and_an_empty_text_are_a_dash_in_a_table_and_zero_is_not(value: str | None) -> None:
    assert cell_texts([value, 0, -3, "a"], escaped=False) == ["-", "0", "-3", "a"]


def test_a_table_has_what_the_column_shows_of_a_value() -> None:
    column = Column("VALUE", "value", show=lambda value: None if value is None else value * 2)
    assert column_texts(column, rows(2, None, "ab")) == ["4", "-", "abab"]


def test_kafkas_format_leaves_the_cell_of_an_empty_text_empty() -> None:
    assert kafka_texts(Column("VALUE", "value"), rows("", None, 3)) == ["", "-", "3"]


def test_kafkas_format_has_the_columns_own_text_for_a_missing_value() -> None:
    assert kafka_texts(Column("VALUE", "value", kafka_missing="Unknown"), rows(None)) == ["Unknown"]


def test_control_characters_are_visible_where_a_terminal_would_obey_them() -> None:
    column = Column("VALUE", "value")
    assert cell_texts([ESCAPE], escaped=True) == [r"\x1b[2J"]
    assert column_texts(column, rows(ESCAPE), escaped=True) == [r"\x1b[2J"]
    assert kafka_texts(column, rows(ESCAPE), escaped=True) == [r"\x1b[2J"]


def test_control_characters_are_unchanged_in_a_pipe() -> None:
    column = Column("VALUE", "value")
    assert cell_texts([ESCAPE], escaped=False) == [ESCAPE]
    assert column_texts(column, rows(ESCAPE)) == [ESCAPE]
    assert kafka_texts(column, rows(ESCAPE)) == [ESCAPE]


def test_csv_keeps_numbers_and_missing_values_and_escapes_texts_on_a_terminal_only(make_screen: MakeScreen) -> None:
    values = [1, None, 2.5, ESCAPE]
    assert list(map(csv_cell(make_screen()), values)) == values
    on_terminal = csv_cell(make_screen(out_is_terminal=True))
    assert list(map(on_terminal, values)) == [1, None, 2.5, r"\x1b[2J"]
