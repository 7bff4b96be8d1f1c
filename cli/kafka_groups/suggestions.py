"""Suggestions for a name that does not exist: the nearest one that does.

A name is near if few edits turn it into the other one (a letter that is missing, added or wrong, or two letters in the
wrong order), or if one of both is the beginning of the other. A ratio of equal letters, as that of difflib, would
suggest `--exclude` for `--execute`, and `delete-offsets` for `reset-offsets`. A name with as many numbers, and other
ones, is another name, whatever its letters: `worker-13` is not near to `worker-12`, nor to `wroker-12`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

# Of more names that do not exist, the first ones get a suggestion.
_MOST_NAMES: Final = 10
# The number of edits, and the shortest names that may have this number.
_LENGTHS: Final = {1: 3, 2: 6, 3: 15}
# Longer names are no typing errors, and their tables would be large.
_LONGEST: Final = 255
# The share of equal letters if one name is the beginning of the other: `bootstrap` is near to `bootstrap-server`, and
# `all` is not near to `all-groups`.
_SHARE: Final = 0.65
_SHORTEST_BEGINNING: Final = 4
# The rows of all tables of edits together. They limit the time for 60,000 names to half a second on a slow machine.
_MOST_ROWS: Final = 100_000
_NUMBER: Final = re.compile(r"0*([0-9]+)")
# It sorts behind every letter.
_LAST: Final = "\U0010ffff"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to `name`, whatever its case; None if none is near."""
    return nearest_names([name], known).get(name)


def nearest_names(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return the nearest known name of each of the first ten names; a name without a near one is not in the result."""
    search = _Search(known)
    first = islice(dict.fromkeys(name for name in names if 0 < len(name) <= _LONGEST), _MOST_NAMES)
    wanted = {name: name.lower() for name in first}
    found = {name: lower for name, lower in wanted.items() if lower in search.spellings}
    # Few edits are found at once, and most names that do not exist have few.
    for edits, length in _LENGTHS.items():
        for name, lower in wanted.items():
            if name not in found and len(lower) >= length and (near := search.within(lower, edits)):
                found[name] = near
    for name, lower in wanted.items():
        if name not in found and (near := search.by_beginning(lower)):
            found[name] = near
    return {name: search.spell(name, found[name]) for name in wanted if name in found}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'checkout'?` for the end of an error; an empty text if no known name is near."""
    return suggest(name, nearest(name, known))


def suggest(name: str, near: str | None) -> str:
    """Return the end of an error that suggests `near`; an empty text if there is none, or if it is the name itself."""
    return "" if near is None or near == name else f"; did you mean '{near}'?"


class _Search:
    """A search of known names in lower case. It ends without a result when it has used its rows."""

    def __init__(self, known: Iterable[str]) -> None:
        self.spellings: dict[str, list[str]] = {}
        for name in known:
            self.spellings.setdefault(name.lower(), []).append(name)
        self._ordered = sorted(self.spellings)
        self._rows_left = _MOST_ROWS

    def spell(self, name: str, lower: str) -> str:
        """Return the spelling of a known name that is most like `name`."""
        return max(self.spellings[lower], key=lambda spelling: sum(map(str.__eq__, name, spelling)))

    def by_beginning(self, name: str) -> str | None:
        """Return the only known name that begins with the name, or the longest one with which the name begins."""
        first = bisect_left(self._ordered, name)
        longer = [each for each in self._ordered[first : first + 2] if each.startswith(name)]
        beginnings = (name[:length] for length in range(len(name) - 1, 0, -1))
        shorter = [each for each in beginnings if each in self.spellings]
        candidates = [*(longer if len(longer) == 1 else ()), *shorter[:1]]
        near = (each for each in candidates if _is_beginning(*sorted((name, each), key=len)))
        return next((each for each in near if not _has_other_numbers(name, each)), None)

    def within(self, name: str, edits: int) -> str | None:
        """Return the known name that at most this number of edits turns into `name`; None if there is none.

        Two letters in the wrong order come first, then the name with the longest common beginning.
        """

        def order(known: str) -> tuple[bool, int]:
            return sorted(known) != sorted(name), -_common_letters(known, name)

        near = (known for known in self._all_within(name, edits) if not _has_other_numbers(name, known))
        return min(near, key=order, default=None)

    def _all_within(self, name: str, edits: int) -> list[str]:
        """Return all known names within the edits.

        The table of edits (optimal string alignment) has a row for each letter of a known name. Names in order share
        the rows of their common beginning, and a beginning with too many edits excludes all names that have it.
        """
        found: list[str] = []
        rows = [list(range(len(name) + 1))]
        last = ""
        place = 0
        while place < len(self._ordered) and self._rows_left > 0:
            known = self._ordered[place]
            place += 1
            common = _common_letters(known, last[: len(rows) - 1])
            del rows[common + 1 :]
            last = known
            for at in range(common, len(known)):
                self._rows_left -= 1
                row, fewest = _next_row(rows, known, at, name, edits)
                rows.append(row)
                if fewest > edits:
                    place = bisect_left(self._ordered, known[: at + 1] + _LAST, place)
                    break
            else:
                if rows[-1][-1] <= edits:
                    found.append(known)
        return found if self._rows_left > 0 else []


def _next_row(rows: Sequence[Sequence[int]], known: str, at: int, name: str, most: int) -> tuple[list[int], int]:
    """Return the edits between the known name until its letter `at` and each beginning of the name, and the fewest."""
    above = rows[-1]
    letter = known[at]
    row = [most + 1] * len(above)
    row[0] = at + 1
    # Beginnings whose lengths differ by more have too many edits.
    first = max(1, at + 1 - most)
    last = min(len(name), at + 1 + most)
    for end in range(first, last + 1):
        edits = min(above[end - 1] + (letter != name[end - 1]), above[end] + 1, row[end - 1] + 1)
        if at and end > 1 and letter == name[end - 2] and known[at - 1] == name[end - 1]:
            edits = min(edits, rows[-2][end - 2] + 1)
        row[end] = edits
    return row, min(row[first - 1 : last + 1])


def _has_other_numbers(name: str, other: str) -> bool:
    """Return whether two names have equally many numbers, and other ones; leading zeros are a matter of spelling."""
    numbers = _NUMBER.findall(name)
    others = _NUMBER.findall(other)
    return len(numbers) == len(others) and numbers != others


def _common_letters(one: str, other: str) -> int:
    """Return how many letters at the beginning of two names are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _is_beginning(short: str, long: str) -> bool:
    """Return whether a short name, with which the long one begins, is a large part of it."""
    return len(short) >= _SHORTEST_BEGINNING and 2 * len(short) / (len(short) + len(long)) >= _SHARE
