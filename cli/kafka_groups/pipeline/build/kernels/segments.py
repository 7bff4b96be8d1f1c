"""Operations on many segments of rows at once: window functions, as in SQL, for numpy arrays.

- A *segment* is a run of successive rows that are equal in some columns, the *codes*. If rows are sorted by key, for
  example, the rows of each key are a segment of the code `key`.
- An *index* is the number of a row; the index -1 stands for "no row". `start_index` is the index of the first row of
  each row's segment; `is_start` marks these first rows.
- An *owner* is the number of a partition, a key or a group, from 0.

Five rows of two keys, sorted by key:

    >>> key = np.array([0, 0, 0, 1, 1])
    >>> offset = np.array([10, 20, 15, 7, 9])
    >>> segment_starts(key)
    array([0, 0, 0, 3, 3])
    >>> last_index_before(offset > 12, segment_starts(key))
    array([-1, -1,  1, -1, -1])
    >>> reduce_segments(np.add, offset, is_segment_start(key))
    array([45, 16])
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np

from kafka_groups.pipeline.frames.arrays import LARGEST, NULL, Array, Flags, Floats, Ints

DAY_US: Final = 86_400_000_000
# `last_index_at` and `first_index_at` search one array of numbers: the owner in the high bits, the time in the low 38
# bits. These hold the microseconds of three days; all times before that count as equal.
_TIME_BITS: Final = 38
_TIME_MASK: Final = (1 << _TIME_BITS) - 1
# `running_maximum` puts the number of a segment in the bits above its values, so that a block has 20 bits of segments.
_VALUE_BITS: Final = 42
_SEGMENTS_PER_BLOCK: Final = 1 << 20


def is_segment_start(*codes: Array) -> Flags:
    """Return for each row whether it is the first one of its segment. `codes` are not empty."""
    is_start = np.ones(len(codes[0]), np.bool_)
    is_start[1:] = np.logical_or.reduce([code[1:] != code[:-1] for code in codes])
    return is_start


def is_segment_end(*codes: Array) -> Flags:
    """Return for each row whether it is the last one of its segment."""
    return np.append(is_segment_start(*codes)[1:], True)[: len(codes[0])]


def segment_starts(*codes: Array) -> Ints:
    """Return for each row the index of the first row of its segment."""
    return np.maximum.accumulate(np.where(is_segment_start(*codes), np.arange(len(codes[0])), 0))


def previous_indices(*codes: Array) -> Ints:
    """Return for each row the index of the previous row in its segment, -1 for the first one."""
    return np.where(is_segment_start(*codes), -1, np.arange(len(codes[0])) - 1)


def last_index_until(condition: Flags, start_index: Ints) -> Ints:
    """Return for each row the index of the last row that meets the condition, from its segment's start to itself.

    It is -1 where there is none. `start_index` is what `segment_starts` returned.
    """
    indices = np.maximum.accumulate(np.where(condition, np.arange(len(condition)), -1))
    return np.where(indices >= start_index, indices, -1)


def last_index_before(condition: Flags, start_index: Ints) -> Ints:
    """Return for each row the index of the last earlier row of its segment that meets the condition; else -1."""
    indices = np.arange(len(start_index))
    return np.where(indices > start_index, last_index_until(condition, start_index)[indices - 1], -1)


def next_index_after(condition: Flags, *codes: Array) -> Ints:
    """Return for each row the index of the next row of its segment, after itself, that meets the condition; else -1."""
    reversed_starts = segment_starts(*(code[::-1] for code in codes))
    indices = last_index_before(condition[::-1], reversed_starts)[::-1]
    return np.where(indices >= 0, len(condition) - 1 - indices, -1)


def last_values(owner: Ints, condition: Flags, values: Array, defaults: Array) -> Array:
    """Return for each owner the value of its last row that meets the condition, else its value in `defaults`.

    `owner` is the owner of each row, in any order; `defaults` has a value for each owner.
    """
    last_value_of_owner = defaults.copy()
    # If numpy assigns several values to one index, the last one stays.
    last_value_of_owner[owner[condition]] = values[condition]
    return last_value_of_owner


def is_among_last(condition: Flags, owner: Ints, count: int | Ints = 1) -> Flags:
    """Return for each row whether it is one of the last `count` rows of its owner that meet the condition.

    `owner` ascends. `count` is one number, or one for each row.
    """
    condition_indices = np.flatnonzero(condition)
    index_from_end = np.searchsorted(owner[condition_indices], owner[condition_indices], "right") - np.arange(
        len(condition_indices)
    )
    is_chosen = np.zeros(len(condition), np.bool_)
    is_chosen[condition_indices[index_from_end <= np.broadcast_to(count, len(condition))[condition_indices]]] = True
    return is_chosen


def take(values: Array, indices: Ints, missing: Any = NULL) -> Array:
    """Return the values at the indices, with `missing` where the index is -1."""
    return np.append(values, missing)[indices]


def place_where(mask: Flags, values: Array) -> Floats:
    """Return an array that has the values, in their order, where the mask is true, and NaN elsewhere."""
    column = np.full(len(mask), np.nan)
    column[mask] = values
    return column


def expand_ranges(first: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the integers of many ranges; range i has the `counts[i]` integers from `first[i]` on.

    The first array has the range of each integer, the second one the integers.

        >>> expand_ranges(np.array([5, 100]), np.array([2, 3]))
        (array([0, 0, 1, 1, 1]), array([  5,   6, 100, 101, 102]))
    """
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) + np.repeat(first - np.cumsum(counts) + counts, counts)


def running_count(flags: Flags, start_index: Ints) -> Ints:
    """Return for each row how many rows of its segment, up to and including itself, have the flag."""
    running_total = np.cumsum(flags, dtype=np.int64)
    return running_total - (running_total - flags)[start_index]


def running_maximum(values: Ints, start_index: Ints) -> Ints:
    """Return for each row the highest value of its segment, up to and including itself.

    Values are from 0 to 2^42: times in ms since 1970, or numbers of that size.
    """
    segment = np.cumsum(start_index == np.arange(len(start_index))) - 1
    blocks = np.arange(0, segment.max(initial=-1) + 1, _SEGMENTS_PER_BLOCK)
    highest = np.empty_like(values)
    for first, end in pairwise([*np.searchsorted(segment, blocks), len(values)]):
        # Each segment has numbers above those of the one before.
        base = (segment[first:end] - segment[first]) << _VALUE_BITS
        highest[first:end] = np.maximum.accumulate(base + values[first:end]) - base
    return highest


def running_maximum_of_offsets(offset: Ints, start_index: Ints) -> Ints:
    """Return for each row the highest offset from the row at `start_index` to itself.

    Unlike `running_maximum`, this works for all values of 64 bits.
    """
    indices = np.arange(len(offset))
    highest = offset.copy()
    longest = int((indices - start_index).max(initial=0)) + 1
    distance = 1
    while distance < longest:
        earlier = np.concatenate([np.zeros(distance, np.int64), highest[:-distance]])
        highest = np.where(indices - distance >= start_index, np.maximum(highest, earlier), highest)
        distance *= 2
    return highest


def reduce_segments(ufunc: Any, values: Array, is_start: Flags) -> Array:
    """Return one value for each segment: the result of a ufunc such as `np.add` on its values.

    `is_start` is what `is_segment_start` returned.
    """
    return ufunc.reduceat(values, np.flatnonzero(is_start)) if len(values) else values


def segment_maximum(values: Ints, *codes: Array) -> Ints:
    """Return for each row the highest value of its segment."""
    is_start = is_segment_start(*codes)
    maximum: Ints = reduce_segments(np.maximum, values, is_start)[np.cumsum(is_start) - 1]
    return maximum


def sum_segments(values: Ints, is_start: Flags) -> Ints:
    """Return the sum of each segment; a sum that 64 bits cannot hold becomes the nearest number that they can."""
    sums = reduce_segments(np.add, values, is_start)
    approximate_sums = reduce_segments(np.add, values.astype(np.float64), is_start)
    nearest_limit = np.where(approximate_sums > 0, LARGEST, NULL + 1)
    return np.where(np.abs(approximate_sums) >= 2.0**63, nearest_limit, sums)


# Each row has an owner and a time (µs since 1970).
OwnedTimes = tuple[Ints, Ints]


def last_index_at(row_times: OwnedTimes, wanted_times: OwnedTimes) -> Ints:
    """Return for each wanted owner and time the index of the owner's last row at or before that time, else -1.

    `row_times` are sorted by owner and time.
    """
    indices = np.searchsorted(*_merge_keys(row_times, wanted_times), "right") - 1
    is_same_owner = take(row_times[0], indices, -1) == wanted_times[0]
    return np.where(is_same_owner & (take(row_times[1], indices) <= wanted_times[1]), indices, -1)


def first_index_at(row_times: OwnedTimes, wanted_times: OwnedTimes) -> Ints:
    """Return for each wanted owner and time the index of the owner's first row at or after that time, else -1.

    `row_times` are sorted by owner and time.
    """
    # For an index past the last row, `take` returns its default, which is not an owner.
    indices = np.searchsorted(*_merge_keys(row_times, wanted_times), "left")
    is_same_owner = take(row_times[0], indices, -1) == wanted_times[0]
    return np.where(is_same_owner & (take(row_times[1], indices) >= wanted_times[1]), indices, -1)


def merge_key(owner: Ints, at_us: Ints, base_us: int) -> Ints:
    """Return numbers that are ordered by owner, then by time (µs since 1970); times before `base_us` are equal."""
    return (owner << _TIME_BITS) | (np.clip(at_us, base_us, base_us + _TIME_MASK) - base_us)


def _merge_keys(row_times: OwnedTimes, wanted_times: OwnedTimes) -> tuple[Ints, Ints]:
    base_us = int(wanted_times[1].max(initial=0)) - _TIME_MASK + 1
    return merge_key(*row_times, base_us), merge_key(*wanted_times, base_us)
