"""Wait until a condition holds for the lag of groups: polls, with a growing interval between them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from kafka_groups.conditions import Comparison, Condition
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.groups.lag.lag_row import BEYOND_END, INCOMPLETE, LagRow
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.progress import StepProgress, ignore_step_progress

_FIRST_INTERVAL_S: Final = 1.0
_LONGEST_INTERVAL_S: Final = 10.0
_GROWTH: Final = 1.5
# Totals of the partitions whose log ends are known.
_SUMS: Final = ("lag", "readable_lag", "partitions_behind")
# Totals of the partitions whose log starts are known, too.
_RETENTION: Final = ("messages_lost", "retention_margin", "retention_margin_percent")
# What nobody knows of a group with a commit above the log end, which may have read nothing of a recreated topic.
_PROGRESS: Final = (*_SUMS, "time_lag", "time_lag_ms")


class WaitOutcome(NamedTuple):
    """The last reading of a wait, and the groups that do not fulfil the condition.

    `is_fulfilled` says that it holds for all. It is false, too, while a broker does not list its groups. `beyond_end`
    are the groups that would fulfil the condition if they had no commit above the log end.
    """

    reading: LagReading
    unfulfilled: tuple[str, ...]
    is_fulfilled: bool
    beyond_end: tuple[str, ...] = ()
    last_error: AdminError | None = None


def wait_until(
    read: Callable[[float | None], LagReading],
    condition: Condition,
    *,
    named: Collection[str],
    limit_s: float | None,
    clock: Callable[[], float],
    pause: Callable[[float], None],
    report: StepProgress = ignore_step_progress,
) -> WaitOutcome:
    """Read until the condition holds for every group, or until `limit_s` seconds have passed; None is no limit.

    `read` receives the seconds that are left, None without a limit.
    A group that cannot be read, or that does not exist, does not fulfil the condition. A reading that fails as a whole
    is repeated, except the first one, which raises its AdminError. `report` receives the number of groups that fulfil
    the condition, and of all.
    """
    outcome: WaitOutcome | None = None

    def poll(remaining_s: float | None) -> bool:
        nonlocal outcome
        try:
            outcome = judge_reading(read(remaining_s), condition, named)
        except AuthenticationFailedError:
            raise
        except AdminError as error:
            if outcome is None:
                raise
            # A cluster that restarts is not at the end of a wait.
            outcome = outcome._replace(last_error=error)
        report(*count_fulfilled(outcome, named))
        return outcome.is_fulfilled

    poll_until_done(poll, limit_s=limit_s, clock=clock, pause=pause)
    assert outcome is not None
    return outcome


def poll_until_done(
    poll: Callable[[float | None], bool],
    *,
    limit_s: float | None,
    clock: Callable[[], float],
    pause: Callable[[float], None],
) -> None:
    """Poll in growing intervals until `poll` returns true, or until `limit_s` seconds have passed; None is no limit.

    `poll` receives the seconds that are left, None without a limit.
    """
    end = None if limit_s is None else clock() + limit_s
    interval = _FIRST_INTERVAL_S
    remaining = limit_s
    while True:
        is_done = poll(remaining)
        remaining = None if end is None else end - clock()
        if is_done or (remaining is not None and remaining <= 0):
            return
        pause(interval if remaining is None else min(interval, remaining))
        interval = min(interval * _GROWTH, _LONGEST_INTERVAL_S)
        remaining = None if end is None else end - clock()


def count_fulfilled(outcome: WaitOutcome, named: Collection[str]) -> tuple[int, int]:
    """Return the number of groups that fulfil the condition, and of all."""
    total = len(outcome.reading.groups) + len(_unread(outcome.reading, named))
    return total - len(outcome.unfulfilled), total


def judge_reading(reading: LagReading, condition: Condition, named: Collection[str]) -> WaitOutcome:
    """Return the groups of a reading that do not fulfil the condition."""
    late = [group.total for group in reading.groups if not _fulfils(group.total, condition)]
    unfulfilled = (*(total.group for total in late), *_unread(reading, named))
    beyond = (total for total in late if BEYOND_END in total.note)
    beyond_end = tuple(total.group for total in beyond if condition.holds(total.condition_values()))
    # Groups of a broker that failed are missing from the listing.
    is_listed = all(failure.broker is None or failure.group or failure.topic for failure in reading.failures)
    return WaitOutcome(reading, unfulfilled, is_fulfilled=is_listed and not unfulfilled, beyond_end=beyond_end)


def _fulfils(total: LagRow, condition: Condition) -> bool:
    """Return whether the condition holds; totals that lack a partition whose log is unknown are unknown, too.

    So is the progress of a group with a commit above the log end, unless the condition compares that note.
    """
    notes = total.note
    unknown: tuple[str, ...] = (*_SUMS, *_RETENTION) if INCOMPLETE in notes else ()
    if BEYOND_END in notes and not any(map(_compares_beyond_end, condition.comparisons())):
        unknown = (*unknown, *_PROGRESS)
    return condition.holds({**total.condition_values(), **dict.fromkeys(unknown)})


def _compares_beyond_end(comparison: Comparison) -> bool:
    return comparison.field == "note" and str(comparison.value).lower() == BEYOND_END


def _unread(reading: LagReading, named: Collection[str]) -> tuple[str, ...]:
    """Return the groups without a result: named ones, and those that failed."""
    read = {group.total.group for group in reading.groups}
    failed = (failure.group for failure in reading.failures if failure.group is not None)
    return tuple(dict.fromkeys(group for group in (*named, *failed) if group not in read))
