"""The progress of a group on a partition, as polls show it: what verdicts need of all polls, in little space.

`observe` adds one poll to it, and `evidence_of` returns the evidence for `verdicts.judge`. The kernel
`pipeline/build/kernels/progress.py` does the same for all observations of a day at once, and tests hold both equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from kafka_groups.groups.lag.retention import UNKNOWN_RETENTION, Retention
from kafka_groups.verdicts import (
    LONG_PERIOD_MS,
    LONG_THIRDS_MS,
    SHORT_PERIOD_MS,
    SHORT_THIRDS_MS,
    STRENGTH_UNIT,
    WAIT_HALF_LIFE_MS,
    WAITS,
    Evidence,
    Growth,
    Limits,
)

# Thirds are multiples of two periods, so the lowest floors of two periods each are enough for all windows.
_BLOCK: Final = 2
_BLOCKS: Final = 3 * SHORT_THIRDS_MS[-1] // SHORT_PERIOD_MS // _BLOCK
_LENGTHS: Final = ((SHORT_PERIOD_MS, SHORT_THIRDS_MS), (LONG_PERIOD_MS, LONG_THIRDS_MS))


class Observation(NamedTuple):
    """What a poll saw of a partition at a time, in ms since 1970.

    `start` is the log start offset if it is above the committed offset, else 0. `members` are those of the group, None
    if unknown. `is_reset` says that a lower committed offset than before is a known reset.
    """

    offset: int
    end: int
    at_ms: int
    start: int = 0
    members: int | None = None
    is_reset: bool = False
    retention: Retention = UNKNOWN_RETENTION

    @property
    def lag(self) -> int | None:
        """Return the number of records that can still be read; None if the commit is above the log end."""
        if self.retention.is_caught_up:
            return 0
        return None if self.offset > self.end else self.end - max(self.offset, self.start)


class Floor(NamedTuple):
    """The lowest lag of a period, and the log end and the time at which it was seen first."""

    period: int  # number of the period: its time divided by its length
    lag: int
    end: int
    at_ms: int


class Progress(NamedTuple):
    """What all observations of a partition show together. Times are in ms since 1970."""

    since_ms: int  # the last change of the offset, or the last observation without lag if that is later
    offset_changes: int
    strengths: tuple[int, ...]  # of the longest waits that ended, at most two, the strongest first
    intervals: tuple[int, ...]  # the same of the longest intervals between two observations
    last_interval_ms: int  # the time between the last two observations; 0 after the first one
    highest_offset: int  # the highest committed offset since the last known reset
    unread_at_last_change: int | None
    empty_since_ms: int | None  # since when no member was seen; None while members are seen
    short_floors: tuple[Floor, ...]  # of the last periods of five minutes, ascending
    long_floors: tuple[Floor, ...]  # of the last hours


def observe(before: Progress | None, previous: Observation, seen: Observation, limits: Limits) -> Progress:
    """Return the progress after an observation; `previous` is the one before it, which is later than none.

    Without progress, `seen` is the first observation, and `previous` is not used. After a gap in the observations the
    group may have moved at any time: its wait counts until an observation that had come in one and a half times the
    last interval.
    """
    lag = seen.lag
    has_lag = lag is None or lag > limits.allowed_lag
    if before is None:
        return Progress(
            since_ms=seen.at_ms,
            offset_changes=0,
            strengths=(),
            intervals=(),
            last_interval_ms=0,
            highest_offset=_highest_of(seen),
            unread_at_last_change=None,
            empty_since_ms=seen.at_ms if seen.members == 0 else None,
            short_floors=_lower((), seen, lag, SHORT_PERIOD_MS, SHORT_THIRDS_MS[-1]),
            long_floors=_lower((), seen, lag, LONG_PERIOD_MS, LONG_THIRDS_MS[-1]),
        )
    has_changed = seen.offset != previous.offset
    is_reset = seen.offset < previous.offset and (seen.is_reset or 0 in (seen.members, previous.members))
    interval_ms = seen.at_ms - previous.at_ms
    changed_ms = previous.at_ms + min(interval_ms, before.last_interval_ms * 3 // 2 or interval_ms)
    empty_since_ms = None if seen.members else before.empty_since_ms
    if seen.members == 0 and empty_since_ms is None:
        empty_since_ms = seen.at_ms
    return Progress(
        since_ms=seen.at_ms if has_changed or not has_lag else before.since_ms,
        offset_changes=before.offset_changes + has_changed,
        strengths=_add_wait(before.strengths, seen.at_ms, changed_ms - before.since_ms)
        if has_changed
        else before.strengths,
        intervals=_add_wait(before.intervals, seen.at_ms, interval_ms),
        last_interval_ms=interval_ms,
        highest_offset=_highest_of(seen) if is_reset else max(before.highest_offset, _highest_of(seen)),
        unread_at_last_change=max(0, previous.end - seen.offset) if has_changed else before.unread_at_last_change,
        empty_since_ms=before.empty_since_ms if seen.members is None else empty_since_ms,
        short_floors=_lower(before.short_floors, seen, lag, SHORT_PERIOD_MS, SHORT_THIRDS_MS[-1]),
        long_floors=_lower(before.long_floors, seen, lag, LONG_PERIOD_MS, LONG_THIRDS_MS[-1]),
    )


def evidence_of(progress: Progress, seen: Observation) -> Evidence:
    """Return the evidence at an observation, which is the last one of the progress."""
    waiting_ms = seen.at_ms - progress.since_ms
    usual_wait_ms = _usual_wait(progress.strengths, seen.at_ms)
    is_empty = seen.members == 0 and progress.empty_since_ms is not None
    lag = seen.lag
    return Evidence(
        lag=lag,
        members=seen.members,
        offset_changes=progress.offset_changes,
        waiting_ms=waiting_ms,
        silent_ms=waiting_ms,
        usual_wait_ms=usual_wait_ms,
        empty_ms=seen.at_ms - progress.empty_since_ms if is_empty and progress.empty_since_ms is not None else None,
        to_reach=max(0, progress.highest_offset - seen.offset),
        lost_records=max(0, seen.start - seen.offset),
        retention_ms=seen.retention.topic_ms,
        retention_left_ms=seen.retention.left_ms,
        unread_at_last_change=progress.unread_at_last_change,
        growths=_growths(progress, seen, usual_wait_ms) if lag else {},
    )


# All partitions of a poll have the same interval.
@lru_cache(maxsize=1_024)
def wait_strength(wait_ms: int, at_ms: int) -> int:
    """Return the strength of a wait that ended at a time; a wait of less than a millisecond counts as one."""
    return math.floor(math.log2(max(1, wait_ms)) * STRENGTH_UNIT) + at_ms * STRENGTH_UNIT // WAIT_HALF_LIFE_MS


def _highest_of(seen: Observation) -> int:
    """Return the committed offset, as far as the log has it: one above the log end belongs to an earlier log."""
    return min(seen.offset, seen.end)


# Partitions of one poll have moved at few different times.
@lru_cache(maxsize=4_096)
def _add_wait(strengths: tuple[int, ...], at_ms: int, wait_ms: int) -> tuple[int, ...]:
    """Return the strongest waits with one that ended now."""
    return tuple(sorted((*strengths, wait_strength(wait_ms, at_ms)), reverse=True)[:WAITS])


@lru_cache(maxsize=4_096)
def _usual_wait(strengths: tuple[int, ...], now_ms: int) -> int:
    """Return the second longest wait, or the only one, as it counts now, in ms; 0 without any."""
    if not strengths:
        return 0
    return round(2 ** ((strengths[-1] - now_ms * STRENGTH_UNIT // WAIT_HALF_LIFE_MS) / STRENGTH_UNIT))


def _lower(
    floors: tuple[Floor, ...], seen: Observation, lag: int | None, period_ms: int, longest_third_ms: int
) -> tuple[Floor, ...]:
    """Return the floors with an observation and its lag: a new period, or a lower floor of the last one.

    Periods that no window reaches any more are left out.
    """
    if lag is None:
        return floors
    period = seen.at_ms // period_ms
    if floors and floors[-1].period == period:
        return (*floors[:-1], Floor(period, lag, seen.end, seen.at_ms)) if lag < floors[-1].lag else floors
    oldest = period - 3 * (longest_third_ms // period_ms)
    return (*(floor for floor in floors if floor.period >= oldest), Floor(period, lag, seen.end, seen.at_ms))


def _growths(progress: Progress, seen: Observation, wait_ms: int) -> Mapping[int, Growth]:
    """Return the growth of the lag by the length of a third, for each length whose three floors are known."""
    growths: dict[int, Growth] = {}
    interval_ms = min(wait_ms, _usual_wait(progress.intervals, seen.at_ms))
    for (period_ms, thirds_ms), floors in zip(_LENGTHS, (progress.short_floors, progress.long_floors), strict=True):
        current = seen.at_ms // period_ms
        sizes = [third_ms // period_ms // _BLOCK for third_ms in thirds_ms]
        oldest = (current - 1 - floors[0].period) // _BLOCK
        if oldest < 2 * sizes[0]:
            # The first third of each window is before the oldest floor.
            continue
        blocks, newest = _lowest_of_blocks(floors, current)
        for third_ms, size in zip(thirds_ms, sizes, strict=True):
            if oldest < 2 * size:
                break
            first = _lowest(blocks[2 * size : 3 * size])
            second = _lowest(blocks[size : 2 * size])
            third = _lowest(blocks[:size])
            if first is not None and second is not None and third is not None:
                growths[third_ms] = _growth((first, second, third), newest, third_ms, wait_ms, interval_ms)
    return growths


def _lowest_of_blocks(floors: Sequence[Floor], current: int) -> tuple[list[Floor | None], Floor]:
    """Return the lowest floor of each two periods before the current one, the latest first, and the current floor.

    Of equal floors the first one counts. There are as many blocks as the longest window has, None without a floor.
    """
    blocks: list[Floor | None] = [None] * _BLOCKS
    for floor in floors:
        block = (current - 1 - floor.period) // _BLOCK
        if 0 <= block < _BLOCKS and ((before := blocks[block]) is None or floor.lag < before.lag):
            blocks[block] = floor
    return blocks, floors[-1]


def _lowest(blocks: Sequence[Floor | None]) -> Floor | None:
    """Return the lowest floor, the earliest of equal ones; None without one. The latest block comes first."""
    # A poll of a large cluster calls this a million times, so that it is a loop.
    lowest: Floor | None = None
    for floor in reversed(blocks):
        if floor is not None and (lowest is None or floor.lag < lowest.lag):
            lowest = floor
    return lowest


def _growth(floors: tuple[Floor, Floor, Floor], newest: Floor, third_ms: int, wait_ms: int, interval_ms: int) -> Growth:
    """Return the growth over the floors of three thirds before the current period.

    The floor of the current period, `newest`, also belongs to the last third. `interval_ms` is the usual interval
    between observations, or the usual wait if that is shorter.
    """
    first, second, third = floors
    last = newest if newest.lag < third.lag else third
    produced = float(last.end - first.end)
    records_per_poll = float(interval_ms) * produced / float(last.at_ms - first.at_ms)
    return Growth(
        grown=last.lag - first.lag,
        grown_early=second.lag - first.lag,
        grown_late=last.lag - second.lag,
        produced=produced,
        records_per_poll=records_per_poll,
        records_per_poll_share=records_per_poll * float(wait_ms) / float(third_ms),
        chance_records=math.sqrt(max(0.0, produced)),
        previous_floor=third.lag,
        third_ms=third_ms,
    )
