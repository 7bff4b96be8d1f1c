"""Rows as arrays, and operations on many segments of them at once: what a window function does, for all segments."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

NULL: Final = int(np.iinfo(np.int64).min)
LARGEST: Final = int(np.iinfo(np.int64).max)
DAY_US: Final = 86_400_000_000
EVERY: Final = slice(None)  # a condition that all rows meet
# Times within a day and a bit, in microseconds, take fewer bits than this; owners have the others.
_TIME_BITS: Final = 38
_MOST_TIME: Final = (1 << _TIME_BITS) - 1


class Rows:
    """The base of dataclasses whose fields are columns: arrays of one length, the first of which has owners."""

    __slots__ = ()

    @classmethod
    def join(cls, *parts: Self) -> Self:
        """Return the rows of all parts, one after another."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.names()))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]  # each subclass is a dataclass

    def columns(self) -> dict[str, Any]:
        """Return the columns by name."""
        return {name: getattr(self, name) for name in self.names()}

    def where(self, rows: Any) -> Self:
        """Return the rows that a mask or an array of places selects."""
        return type(self)(**{name: column[rows] for name, column in self.columns().items()})

    def sorted_by(self, *names: str) -> Self:
        """Return the rows ordered by some columns; rows that agree in them keep their order."""
        return self.where(np.lexsort([getattr(self, name) for name in reversed(names)]))

    def __len__(self) -> int:
        return len(getattr(self, self.names()[0]))


def first_rows(*codes: Ints) -> Flags:
    """Return whether a segment begins with each row: one of the codes differs from the row before."""
    begins = np.ones(len(codes[0]), np.bool_)
    begins[1:] = np.logical_or.reduce([code[1:] != code[:-1] for code in codes])
    return begins


def last_rows(*codes: Ints) -> Flags:
    """Return whether a segment ends with each row."""
    return np.append(first_rows(*codes)[1:], True)[: len(codes[0])]


def starts_of(*codes: Ints) -> Ints:
    """Return for each row the place where its segment begins."""
    return np.maximum.accumulate(np.where(first_rows(*codes), np.arange(len(codes[0])), 0))


def previous_rows(*codes: Ints) -> Ints:
    """Return for each row the place of the row of its segment before it; else -1."""
    return np.where(first_rows(*codes), -1, np.arange(len(codes[0])) - 1)


def last_where(condition: Flags, starts: Ints) -> Ints:
    """Return for each row the place of the last row of its segment, up to itself, that meets the condition; else -1."""
    places = np.maximum.accumulate(np.where(condition, np.arange(len(condition)), -1))
    return np.where(places >= starts, places, -1)


def last_before(condition: Flags, starts: Ints) -> Ints:
    """Return the same of the rows before each row."""
    places = np.arange(len(starts))
    return np.where(places > starts, last_where(condition, starts)[places - 1], -1)


def next_after(condition: Flags, *codes: Ints) -> Ints:
    """Return for each row the place of the next row of its segment, after itself, that meets the condition; else -1."""
    found = last_before(condition[::-1], starts_of(*(code[::-1] for code in codes)))[::-1]
    return np.where(found >= 0, len(condition) - 1 - found, -1)


def last_of(owner: Ints, condition: Flags | slice, values: Array, before: Array) -> Array:
    """Return for each owner the value of its last row that meets the condition, else its value in `before`."""
    found = before.copy()
    found[owner[condition]] = values[condition]  # the last one of several stays
    return found


def last_some(condition: Flags, owner: Ints, count: int | Ints = 1) -> Flags:
    """Return whether each row is one of its owner's last `count` rows that meet the condition; owners ascend."""
    places = np.flatnonzero(condition)
    from_end = np.searchsorted(owner[places], owner[places], "right") - np.arange(len(places))
    found = np.zeros(len(condition), np.bool_)
    found[places[from_end <= np.broadcast_to(count, len(condition))[places]]] = True
    return found


def take(values: Array, places: Ints, missing: Any = NULL) -> Array:
    """Return the values at the places, and `missing` where the place is -1."""
    return np.append(values, missing)[places]


def chain(places: Ints, previous: Ints, count: int) -> Ints:
    """Return a matrix: each place after the `count` - 1 before it, as `previous` (of each row) says; -1 where none."""
    found, before = np.empty((len(places), count), np.int64), np.append(previous, -1)
    for column in reversed(range(count)):
        found[:, column] = places
        places = before[places]
    return found


def expand(first: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the rows of many ranges, `counts` from `first` on: the number of the range, and the place."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) + np.repeat(first - np.cumsum(counts) + counts, counts)


def running_count(flags: Flags, starts: Ints) -> Ints:
    """Return how many rows of the segment, up to each row, have the flag."""
    total = np.cumsum(flags, dtype=np.int64)
    return total - (total - flags)[starts]


def reduce(best: Any, values: Array, begins: Flags) -> Array:
    """Return one value for each segment, by a ufunc such as `np.add`."""
    return best.reduceat(values, np.flatnonzero(begins)) if len(values) else values


def highest(values: Ints, *codes: Ints) -> Ints:
    """Return for each row the highest value of its segment."""
    begins = first_rows(*codes)
    found: Ints = reduce(np.maximum, values, begins)[np.cumsum(begins) - 1]
    return found


def saturated_sum(values: Ints, begins: Flags) -> Ints:
    """Return sums of segments; those that no 64 bits can hold are the largest number that can be held."""
    sums = reduce(np.add, values, begins)
    exact = reduce(np.add, values.astype(np.float64), begins)
    return np.where(np.abs(exact) >= 2.0**63, np.where(exact > 0, LARGEST, NULL + 1), sums)


# Owners and times: of rows in their order, or of what is searched in them.
OwnedTimes = tuple[Ints, Ints]


def last_at(rows: OwnedTimes, wanted: OwnedTimes) -> Ints:
    """Return the place of the owner's last row at or before each time, -1 where there is none."""
    found = np.searchsorted(*_merge_keys(rows, wanted), "right") - 1
    return np.where((take(rows[0], found, -1) == wanted[0]) & (take(rows[1], found) <= wanted[1]), found, -1)


def first_at(rows: OwnedTimes, wanted: OwnedTimes) -> Ints:
    """Return the place of the owner's first row at or after each time, -1 where there is none."""
    found = np.searchsorted(*_merge_keys(rows, wanted), "left")
    return np.where((take(rows[0], found, -1) == wanted[0]) & (take(rows[1], found) >= wanted[1]), found, -1)


def merge_key(owner: Ints, at_us: Ints, base_us: int) -> Ints:
    """Return numbers that order by owner, then by time; times before `base_us` are equal."""
    return (owner << _TIME_BITS) | (np.clip(at_us, base_us, base_us + _MOST_TIME) - base_us)


def _merge_keys(rows: OwnedTimes, wanted: OwnedTimes) -> tuple[Ints, Ints]:
    base_us = int(wanted[1].max(initial=0)) - _MOST_TIME + 1
    return merge_key(*rows, base_us), merge_key(*wanted, base_us)
