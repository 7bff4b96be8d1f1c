"""The first names of a list, for messages: sentences are not for long lists."""

from __future__ import annotations

from collections.abc import Iterable


def first_names(names: Iterable[str], most: int, *, more: str = ", …") -> str:
    """Return the first names, joined by commas, and `more` if there are others; `{:,}` in it is their number."""
    listed = list(names)
    return ", ".join(listed[:most]) + (more.format(len(listed) - most) if len(listed) > most else "")
