"""Counts as people read them."""

from __future__ import annotations


def count_of(number: int, one: str, many: str | None = None) -> str:
    """Return the number with its noun: 1 group, 1,234 groups."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def show_count(number: int | None) -> str | None:
    """Return the number with separators of thousands; None if it is unknown."""
    return None if number is None else f"{number:,}"
