"""A row of bars."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.rendering.sparkline import BLOCKS, DIGITS, draw_sparkline


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], None),
        ([None, None], None),
        ([0], "▁"),
        ([0, 0], "▁▁"),
        ([5], "█"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([1, 1_000_000], "▂█"),
        ([3, None, 7], "▄·█"),
        ([-5, 0, 5], "▁▁█"),
        ([-5], "▁"),
    ],
)
def test_a_value_is_a_bar_on_a_scale_from_zero(values: Sequence[int | None], line: str | None) -> None:
    assert draw_sparkline(values) == line


def test_digits_are_for_terminals_without_blocks() -> None:
    assert draw_sparkline([0, 7, None, 14], blocks=DIGITS) == "04.7"


@given(st.lists(st.integers(0, 2**63), min_size=1))
def test_a_larger_value_never_has_a_lower_bar(values: list[int]) -> None:
    line = draw_sparkline(values)
    assert line is not None
    levels = [BLOCKS.index(bar) for bar in line]
    assert sorted(values) == [value for _, value in sorted(zip(levels, values, strict=True))]
    assert [level == 0 for level in levels] == [value == 0 for value in values]
