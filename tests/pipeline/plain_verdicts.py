"""Verdicts on a partition worked out plainly: the evidence at each observation, from all observations until then.

The kernels of the pipeline and the polls of `lag` keep what they need of earlier observations in little space. Here,
nothing is kept: each number is computed as `kafka_groups.verdicts.Evidence` and `Growth` define it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final

from kafka_groups.verdicts import (
    HOUR_MS,
    LONG_THIRDS_MS,
    MINUTE_MS,
    SHORT_THIRDS_MS,
    START_MOVES,
    VERDICT_OF,
    Evidence,
    Growth,
    Limits,
    Verdict,
    judge,
)

_HALF_LIFE_MS: Final = 12 * HOUR_MS
_PERIODS_MS: Final = dict.fromkeys(SHORT_THIRDS_MS, 5 * MINUTE_MS) | dict.fromkeys(LONG_THIRDS_MS, HOUR_MS)


@dataclass(frozen=True, slots=True)
class Seen:
    """What an observation saw of a group on a partition. Times are in ms since 1970.

    `log` differs between two logs, and between commits before and after a removal. `commit_ms` is the time of the last
    commit, and `repeated` the number of commits that repeated its offset, both None if no record shows the commit.
    `highest_offset` is the highest offset that records show since the observation before; None if they show none.
    """

    at_ms: int
    offset: int
    end: int
    start: int
    log: Hashable = None
    members: int | None = None
    commit_ms: int | None = None
    repeated: int | None = None
    highest_offset: int | None = None

    @property
    def top(self) -> int:
        """The highest offset since the observation before, from records or from this observation, that the log has."""
        return min(self.end, self.offset if self.highest_offset is None else max(self.offset, self.highest_offset))

    @property
    def lag(self) -> int | None:
        """Return the number of records that can still be read; None if the commit is above the log end."""
        return None if self.offset > self.end else self.end - max(self.offset, self.start)

    def moved_ms(self, before: Seen | None) -> int:
        """Return when the group committed the offset that this observation is the first one to see."""
        if self.commit_ms is None:
            return self.at_ms
        return min(self.at_ms, max(self.commit_ms, 0 if before is None else before.at_ms))


def judge_all(seen: Sequence[Seen], limits: Limits) -> Iterator[Verdict]:
    """Yield the verdict at each observation of a group on a partition, in the order of time."""
    given: list[Verdict] = []
    for count, now in enumerate(seen, 1):
        own = [one for one in seen[:count] if one.log == now.log]
        rule = judge(gather_evidence(own, limits), limits)
        verdict = Verdict(VERDICT_OF[rule], rule, now.at_ms)
        if given and given[-1].verdict == verdict.verdict:
            verdict = verdict._replace(since_ms=given[-1].since_ms)
        given.append(verdict)
        yield verdict


def gather_evidence(own: Sequence[Seen], limits: Limits) -> Evidence:
    """Return the evidence at the last one of the observations of one log."""
    now = own[-1]
    changes = [(before, after) for before, after in pairwise(own) if before.offset != after.offset]
    since_ms = waits_since(own, limits)
    steps = [after.at_ms - before.at_ms for before, after in pairwise(own)]
    waits = [
        (max(1, min(after.moved_ms(before), before.at_ms + min(step, last_step * 3 // 2)) - since), after.at_ms)
        for since, (before, after), step, last_step in zip(
            since_ms, pairwise(own), steps, [*steps[:1], *steps], strict=False
        )
        if before.offset != after.offset
    ]
    waiting_ms = now.at_ms - since_ms[-1]
    usual_wait_ms = usual_wait(waits, now.at_ms)
    since_empty_ms = empty_since(own)
    return Evidence(
        lag=now.lag,
        members=now.members,
        offset_changes=len(changes),
        waiting_ms=waiting_ms,
        silent_ms=waiting_ms if now.commit_ms is None else max(0, min(waiting_ms, now.at_ms - now.commit_ms)),
        usual_wait_ms=usual_wait_ms,
        empty_ms=None if since_empty_ms is None else now.at_ms - since_empty_ms,
        repeated_commits=now.repeated,
        to_reach=max(0, highest_since_reset(own) - now.offset),
        lost_records=max(0, now.start - now.offset),
        **measure_deletion(own),
        unread_at_last_change=max(0, changes[-1][0].end - changes[-1][1].offset) if changes else None,
        growths={third_ms: growth for third_ms in _PERIODS_MS if (growth := grow(own, third_ms, usual_wait_ms))},
    )


def measure_deletion(own: Sequence[Seen]) -> dict[str, Any]:
    """Return what the moves of the log start show, by the names of Evidence."""
    now = own[-1]
    moves: list[Seen] = []
    highest = own[0].start
    for before, after in pairwise(own):
        if after.start > highest:
            highest = after.start
            follows_commit = before.offset <= after.start <= after.offset
            moves = [] if follows_commit else [*moves, after]
    if len(moves) < START_MOVES:
        return {"start_moves": len(moves)}
    first, _, last = moves[-START_MOVES:]
    span_ms = last.at_ms - first.at_ms
    ms_per_record = span_ms / (last.start - first.start)
    elapsed_ms = min(now.at_ms - last.at_ms, span_ms / 2)
    return {
        "start_moves": START_MOVES,
        "loss_ms": max(0.0, (now.offset - last.start) * ms_per_record - elapsed_ms),
        "kept_ms": (now.end - last.start) * ms_per_record,
        "unread_at_deletion": max(0, last.end - now.offset),
    }


def waits_since(own: Sequence[Seen], limits: Limits) -> list[int]:
    """Return since when the group waits at each observation: its last move, or when it had no lag, if later."""
    return [*accumulate((last_progress(before, now, limits) for before, now in pairwise([None, *own])), max)]


def last_progress(before: Seen | None, now: Seen | None, limits: Limits) -> int:
    """Return when an observation saw the group move or without a lag, whichever is later; 0 if it saw neither."""
    assert now is not None
    times = [0]
    if before is None or before.offset != now.offset:
        times.append(now.moved_ms(before))
    if now.lag is not None and now.lag <= limits.allowed_lag:
        times.append(now.at_ms)
    return max(times)


def usual_wait(waits: Sequence[tuple[int, int]], now_ms: int) -> int:
    """Return the second longest of waits, each with the time of its end, or the only one; 0 without any."""
    counted = sorted(
        (wait_ms * 2 ** ((ended_ms - now_ms) / _HALF_LIFE_MS) for wait_ms, ended_ms in waits), reverse=True
    )
    return round(counted[min(1, len(counted) - 1)]) if counted else 0


def empty_since(own: Sequence[Seen]) -> int | None:
    """Return since when no observation saw a member; None if the last one saw some, or does not know."""
    if own[-1].members != 0:
        return None
    known = [one for one in own if one.members is not None]
    last_present = max((place for place, one in enumerate(known) if one.members), default=-1)
    return known[last_present + 1].at_ms


def highest_since_reset(own: Sequence[Seen]) -> int:
    """Return the highest offset since the last known reset."""
    highest = 0
    for before, after in pairwise([None, *own]):
        assert after is not None
        is_reset = offset_before_reset(before, after) is not None
        highest = min(after.offset, after.end) if is_reset else max(highest, after.top)
    return highest


def offset_before_reset(before: Seen | None, after: Seen) -> int | None:
    """Return the highest offset before a known reset that an observation of a log is the first one to see; else None.

    A known reset is a lower offset next to which an observation saw the group without members. `before` is the
    observation before it; None for the first one of the log.
    """
    known = [] if before is None else [before]
    offsets = [seen.offset for seen in known] + ([] if after.highest_offset is None else [after.highest_offset])
    has_fallen = bool(offsets) and after.offset < max(offsets)
    return max(offsets) if has_fallen and 0 in [seen.members for seen in (*known, after)] else None


def grow(own: Sequence[Seen], third_ms: int, usual_wait_ms: int) -> Growth | None:
    """Return the growth of the lag over three thirds before the current period; None if one of them has no floor."""
    period_ms = _PERIODS_MS[third_ms]
    now_ms = own[-1].at_ms
    current_ms = now_ms // period_ms * period_ms
    if own[-1].lag is None:
        return None
    first, second, third, current = (
        floor(own, current_ms - 3 * third_ms, current_ms - 2 * third_ms),
        floor(own, current_ms - 2 * third_ms, current_ms - third_ms),
        floor(own, current_ms - third_ms, current_ms),
        floor(own, current_ms, now_ms + 1),
    )
    if first is None or second is None or third is None or current is None:
        return None
    last = current if lag_of(current) < lag_of(third) else third
    produced = float(last.end - first.end)
    intervals = [(after.at_ms - before.at_ms, after.at_ms) for before, after in pairwise(own)]
    interval_ms = min(usual_wait_ms, usual_wait(intervals, now_ms))
    records_per_poll = interval_ms * produced / (last.at_ms - first.at_ms)
    return Growth(
        grown=lag_of(last) - lag_of(first),
        grown_early=lag_of(second) - lag_of(first),
        grown_late=lag_of(last) - lag_of(second),
        produced=produced,
        records_per_poll=records_per_poll,
        records_per_poll_share=records_per_poll * usual_wait_ms / third_ms,
        chance_records=math.sqrt(max(0.0, produced)),
        previous_floor=lag_of(third),
        third_ms=third_ms,
    )


def floor(own: Sequence[Seen], from_ms: int, until_ms: int) -> Seen | None:
    """Return the first observation with the lowest lag from one time until before another one; None without any."""
    return min(
        (one for one in own if from_ms <= one.at_ms < until_ms and one.lag is not None), key=lag_of, default=None
    )


def lag_of(seen: Seen) -> int:
    """Return the lag of an observation, which is known."""
    assert seen.lag is not None
    return seen.lag
