"""Padded text: columns that only widen, and numbers that are aligned to the right."""

from __future__ import annotations

from textwrap import dedent
from typing import NamedTuple

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.writers.table import Grid


class Row(NamedTuple):
    """A row of two cells."""

    name: str | None
    size: int | str | None


COLUMNS = (Column("NAME", "name"), Column("SIZE", "size", is_number=True))


def test_columns_have_the_width_of_their_widest_cell_and_numbers_are_right_aligned() -> None:
    text = Grid(COLUMNS).text_of([Row("a", 5), Row("longer", 12345)])
    assert text == dedent("""\
        NAME     SIZE
        a           5
        longer  12345
        """)


def test_a_number_with_a_sign_in_front_is_as_wide_as_its_text() -> None:
    # Numbers and texts have no common order, so both are tried as the widest cell.
    both: tuple[list[int | str | None], ...] = (["≥1234", 5, None], ["9", "≥1234", "-"])
    for sizes in both:
        lines = Grid(COLUMNS).text_of([Row("a", size) for size in sizes]).splitlines()
        assert {len(line) for line in lines} == {len("NAME  ≥1234")}


def test_the_last_column_is_not_padded() -> None:
    text = Grid(COLUMNS[::-1]).text_of([Row("a", 5), Row("longer", 5)])
    assert text == "SIZE  NAME\n   5  a\n   5  longer\n"


def test_the_header_is_printed_once_and_widths_only_grow() -> None:
    grid = Grid(COLUMNS)
    assert grid.text_of([Row("long-name", 1)]) == "NAME       SIZE\nlong-name     1\n"
    assert grid.text_of([Row("a", 1)]) == "a             1\n"
    assert grid.text_of([Row("longer-name", 123456)]) == "longer-name  123456\n"
    assert grid.text_of([Row("a", 1)]) == "a                 1\n"


def test_without_rows_only_the_header_is_printed() -> None:
    assert Grid(COLUMNS).text_of([]) == "NAME  SIZE\n"


def test_cells_can_be_measured_by_their_width_on_a_terminal() -> None:
    text = Grid(COLUMNS, width_of=lambda text: 2 * len(text) if text == "注文" else len(text)).text_of(
        [Row("注文", 1), Row("abcdef", 1)]
    )
    assert text == "NAME    SIZE\n注文       1\nabcdef     1\n"


def test_a_cell_beyond_the_maximum_width_moves_only_its_own_row() -> None:
    text = Grid(COLUMNS, max_width=6).text_of([Row("a" * 9, 1), Row("b", 1)])
    assert text == "NAME    SIZE\naaaaaaaaa     1\nb          1\n"


def test_escaped_cells_are_measured_after_the_escape() -> None:
    assert Grid(COLUMNS, escaped=True).text_of([Row("a\nb", 1)]) == "NAME  SIZE\na\\nb     1\n"
