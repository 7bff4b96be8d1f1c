"""A build: the dates whose facts changed since the last one, and all dates after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from kafka_groups.pipeline.coverage import describe_missing
from kafka_groups.pipeline.stale_groups import left_out
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.transform.engine import Engine
from kafka_groups.pipeline.transform.fact_state import FactState, forget_fact_state, read_fact_state, save_fact_state
from kafka_groups.pipeline.transform.run import Progress, transform
from kafka_groups.verdicts import Rules

LOOKBACK_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class DateRange:
    """The selected dates, both ends included (UTC)."""

    first: date = date.min
    last: date = date.max

    def __contains__(self, day: date) -> bool:
        """Return whether the date is selected."""
        return self.first <= day <= self.last


ALL_DATES: Final = DateRange()


@dataclass(frozen=True, slots=True)
class Built:
    """The dates that were made, the number of rows of each derived table on them, and sentences on what is unknown."""

    dates: tuple[date, ...]
    rows: Mapping[str, int]
    missing: tuple[str, ...]


def build(
    storage: Storage,
    engine: Engine,
    *,
    rules: Rules | None = None,
    lookback_days: int = LOOKBACK_DAYS,
    selection: DateRange = ALL_DATES,
    full: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Make the derived tables of all dates that changed since the last build, and of all dates after them.

    The rows do not depend on when and in which order the facts came: a date is made from its own facts and from the
    state at the end of the date before. Commits and log ends count for `lookback_days`, members until they leave. A
    rebalance that ends after midnight changes the date before, too. A compaction changes nothing, nor do facts that
    retention removed, or that are older than what it keeps. Rows are made only of the selected dates; the others are
    left to a later build. A full build makes all dates, whether or not they changed. `progress` gets a label, the
    number of finished steps, and their total. Raises StorageError, also if another build is running.
    """
    with storage.lock("build"):
        plan = _plan(storage, rules, lookback_days, selection, full=full)
        state, dates, rows = plan.state, list[date](), dict[str, int]()
        if plan.wanted:
            if not state.has_last_build:
                forget_fact_state(storage)
            report = progress or (lambda *_: None)
            state, dates, rows = transform(engine, storage, state, plan.read, plan.wanted[0], report)
            save_fact_state(storage, state, pending={*plan.changed} - {*plan.wanted})
        stale = left_out(storage, lookback_days, dates=dates) if dates else ()
        return Built(tuple(dates), rows, (*describe_missing(state.reach()), *stale))


def count_facts(
    storage: Storage,
    *,
    rules: Rules | None = None,
    lookback_days: int = LOOKBACK_DAYS,
    selection: DateRange = ALL_DATES,
    full: bool = False,
) -> int:
    """Return how many facts the next build would read."""
    plan = _plan(storage, rules, lookback_days, selection, full=full)
    if not plan.wanted:
        return 0
    return plan.state.count_rows(plan.state.known_dates() if plan.state.has_old_events else plan.read)


class _Plan(NamedTuple):
    """The dates that changed, those of them that get rows, and those that are read: their states are made again."""

    state: FactState
    changed: Sequence[date]
    wanted: Sequence[date]
    read: Sequence[date]


def _plan(storage: Storage, rules: Rules | None, lookback_days: int, selection: DateRange, *, full: bool) -> _Plan:
    state = read_fact_state(storage, rules or Rules(), lookback_days)
    # A build without a date must not make the next one a full build.
    if full and any(day in selection for day in state.known_dates()):
        state = state.without_last_build()
    changed = state.dates_to_build()
    # The state at the end of a changed date before the selected ones is made again, its rows are not.
    dates = [day for day in changed if day <= selection.last]
    wanted = [day for day in dates if day in selection]
    return _Plan(state, changed, wanted, state.dates_to_read(dates) if wanted else ())
