"""Operations on arrays that hold many segments, one after another: what a window function does, for all segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

NULL: Final = int(np.iinfo(np.int64).min)
DAY_US: Final = 86_400_000_000
# Times within a day and a bit, in microseconds, take fewer bits than this; segments have the others.
_TIME_BITS: Final = 38


def first_rows(*codes: Ints) -> Flags:
    """Return a flag for each row: whether one of the codes differs from the row before, so that a segment begins."""
    size = len(codes[0])
    begins = np.ones(size, np.bool_)
    if size:
        begins[1:] = np.logical_or.reduce([code[1:] != code[:-1] for code in codes])
    return begins


def last_rows(*codes: Ints) -> Flags:
    """Return a flag for each row: whether a segment ends with it."""
    begins = first_rows(*codes)
    return np.append(begins[1:], np.ones(min(1, len(begins)), np.bool_))


def rows_after(*codes: Ints) -> Ints:
    """Return for each row how many rows of its segment follow."""
    places = np.arange(len(codes[0]))
    last = np.flatnonzero(last_rows(*codes))
    return last[np.searchsorted(last, places)] - places if len(places) else places


def starts_of(begins: Flags) -> Ints:
    """Return for each row the place where its segment begins."""
    return np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))


def last_where(condition: Flags, starts: Ints) -> Ints:
    """Return for each row the place of the last row of its segment, up to itself, that meets the condition; else -1."""
    places = np.maximum.accumulate(np.where(condition, np.arange(len(condition)), -1))
    return np.where(places >= starts, places, -1)


def last_before(condition: Flags, starts: Ints) -> Ints:
    """Return the same of the rows before each row."""
    if not len(condition):
        return np.zeros(0, np.int64)
    places = np.concatenate([[-1], np.maximum.accumulate(np.where(condition, np.arange(len(condition)), -1))[:-1]])
    return np.where(places >= starts, places, -1)


def next_after(condition: Flags, begins: Flags) -> Ints:
    """Return for each row the place of the next row of its segment, after itself, that meets the condition; else -1."""
    size = len(condition)
    if not size:
        return np.zeros(0, np.int64)
    ends = np.concatenate([begins[1:], [True]])
    found = last_before(condition[::-1], starts_of(ends[::-1]))[::-1]
    return np.where(found >= 0, size - 1 - found, -1)


def take(values: npt.NDArray[Any], places: Ints, missing: Any = NULL) -> npt.NDArray[Any]:
    """Return the values at the places, and `missing` where the place is -1."""
    if not len(values):
        return np.full(len(places), missing)
    return np.where(places >= 0, values[places], missing)


def running_count(flags: Flags, starts: Ints) -> Ints:
    """Return how many rows of the segment, up to each row, have the flag."""
    total = np.cumsum(flags, dtype=np.int64)
    return total - (total - flags)[starts] if len(flags) else total


def running(best: Callable[..., Any], values: Ints, starts: Ints) -> Ints:
    """Return `np.maximum` or `np.minimum` of the segment's values up to each row, in as many steps as doublings.

    There is one row at least.
    """
    found = values.copy()
    places = np.arange(len(values))
    longest, step = int((places - starts).max()) + 1, 1
    while step < longest:
        inside = np.flatnonzero(places - step >= starts)
        found[inside] = best(found[inside], found[inside - step])
        step *= 2
    return found


def running_back(best: Callable[..., Any], values: Ints, begins: Flags) -> Ints:
    """Return the same of the segment's values from each row on."""
    ends = np.concatenate([begins[1:], [True]])
    return running(best, values[::-1], starts_of(ends[::-1]))[::-1]


def sliding(best: Callable[..., Any], values: Ints, starts: Ints, length: int) -> Ints:
    """Return `np.maximum` or `np.minimum` of each row and the `length` - 1 rows of its segment before it."""
    found = values.copy()
    places = np.arange(len(values))
    for back in range(1, length):
        inside = np.flatnonzero(places - back >= starts)
        found[inside] = best(found[inside], values[inside - back])
    return found


def reduce(best: Any, values: npt.NDArray[Any], begins: Flags) -> npt.NDArray[Any]:
    """Return one value for each segment, by a ufunc such as `np.add`."""
    return best.reduceat(values, np.flatnonzero(begins)) if len(values) else values


def merge_key(segment: Ints, at_us: Ints, base_us: int) -> Ints:
    """Return numbers that order rows by segment, then by time; times before `base_us`, a day's start, are equal."""
    return (segment << _TIME_BITS) | np.clip(at_us - base_us, 0, (1 << _TIME_BITS) - 1)


def least_known(one: Ints, other: Ints) -> Ints:
    """Return the smaller value, where one is NULL the other."""
    return np.where(one == NULL, other, np.where(other == NULL, one, np.minimum(one, other)))


def saturated_sum(values: Ints, begins: Flags) -> Ints:
    """Return sums of segments; those that no 64 bits can hold are the largest number that can be held."""
    sums = reduce(np.add, values, begins)
    exact = reduce(np.add, values.astype(np.float64), begins)
    return np.where(np.abs(exact) >= 2.0**63, np.where(exact > 0, np.iinfo(np.int64).max, NULL + 1), sums)
