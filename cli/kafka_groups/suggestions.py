"""Suggestions for a name that does not exist: the nearest one that does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# Shares of equal letters. `chekcout` and `checkout` have 0.88, `lga` and `lag` 0.67, `orders` and `payments` 0.29.
_NEAR: Final = 0.7
_NEAR_IF_SHORT: Final = 0.6
_SHORT: Final = 4


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to `name`, whatever its case; None if none is near."""
    # Commands without a typing error need no difflib.
    from difflib import get_close_matches

    spellings: dict[str, str] = {}
    for each in known:
        spellings.setdefault(each.lower(), each)
    cutoff = _NEAR_IF_SHORT if len(name) <= _SHORT else _NEAR
    matches = get_close_matches(name.lower(), spellings, n=1, cutoff=cutoff)
    return spellings[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'checkout'?` for the end of an error; an empty text if no known name is near."""
    found = nearest(name, known)
    return "" if found is None or found == name else f"; did you mean '{found}'?"
