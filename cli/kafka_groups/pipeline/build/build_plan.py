"""The plan of a build: which dates get rows, and which facts are read for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from kafka_groups.pipeline.build.fact_state import FactState
from kafka_groups.pipeline.store import DataFile, Storage
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    GROUP_STATE,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    PARTITION_STATE,
    SHARE_OFFSETS,
    Table,
)
from kafka_groups.verdicts import Limits

LOOKBACK_DAYS: Final = 7
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DateRange:
    """A range of selected dates (UTC), both ends included."""

    first: date = date.min
    last: date = date.max

    def __contains__(self, day: date) -> bool:
        """Return whether the date is selected."""
        return self.first <= day <= self.last


ALL_DATES: Final = DateRange()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """The dates of a build, each list ascending.

    - `changed_dates` are the dates whose rows are out of date. This build writes `dates_to_write`, a part of them.
    - `dates_to_read` are the dates whose facts are read: changed dates up to the last selected one, and earlier dates
      whose facts no state includes.
    """

    state: FactState
    changed_dates: Sequence[date]
    dates_to_write: Sequence[date]
    dates_to_read: Sequence[date]

    @property
    def days_before_ranges(self) -> list[date]:
        """The days just before ranges of dates to read: a rebalance that ended in a range may have begun there."""
        return sorted({day - _DAY for day in self.dates_to_read} - {*self.dates_to_read})

    @property
    def first_state_date(self) -> date:
        """The date of the oldest state that a later build may need.

        Facts may arrive up to `lookback_days` late. A build of their day needs the state at the end of the day before.
        Rebuilding that day's rebalances needs the state one day earlier still. If a date has no state, the newest
        earlier state counts.
        """
        oldest_needed = self.dates_to_read[-1] - (self.state.lookback_days + 2) * _DAY
        return max(
            (day for day in (*self.state.state_dates, *self.dates_to_read) if day <= oldest_needed),
            default=oldest_needed,
        )

    def files_to_read(self, storage: Storage) -> list[DataFile]:
        """Return the files of facts and of states for this build; their paths are addresses that tasks can open.

        `dates_to_read` must not be empty. Raises StorageError.
        """
        days_before = self.days_before_ranges
        tables = (OFFSET_COMMITS, PARTITION_OFFSETS, SHARE_OFFSETS)
        files = [file for table in tables for file in self._select_fact_files(table, self.dates_to_read)]
        files += _select_files(storage.files(PARTITION_STATE), [self.state.newest_state_before(self.dates_to_read[0])])
        if self.state.has_old_events:
            # Members of events that are older than the retention may still be in their groups.
            files += self._select_fact_files(GROUP_EVENTS, self.state.dates)
        else:
            files += self._select_fact_files(GROUP_EVENTS, [*days_before, *self.dates_to_read])
            files += _select_files(storage.files(GROUP_STATE), [self.state.newest_state_before(days_before[0])])
        return [replace(file, path=storage.directory.address(file.path)) for file in files]

    def estimate_facts(self) -> int:
        """Return an estimate of how many facts this build reads: the number of rows of all files of the dates to read.

        Events of `days_before_ranges` are not counted.
        """
        reads_all_dates = bool(self.dates_to_write) and self.state.has_old_events
        date_names = {*map(str, self.state.dates if reads_all_dates else self.dates_to_read)}
        return sum(file.rows for file in self.state.files if file.date in date_names)

    def _select_fact_files(self, table: Table, days: Iterable[date]) -> list[DataFile]:
        return _select_files([file for file in self.state.files if file.table == table.name], days)


def _select_files(files: Iterable[DataFile], days: Iterable[date | None]) -> list[DataFile]:
    """Return the files of some dates; None among the dates is ignored."""
    date_names = {str(day) for day in days if day is not None}
    return [file for file in files if file.date in date_names]


def plan_build(
    storage: Storage, limits: Limits | None, lookback_days: int, selection: DateRange, *, full: bool
) -> BuildPlan:
    """Return the plan of a build of the selected dates; nothing is written.

    Without `limits`, the default limits are used. With `full`, the plan ignores earlier builds, provided that a
    selected date has facts. Raises StorageError.
    """
    fact_state = FactState(storage, limits or Limits(), lookback_days)
    # This forgets in memory only. A build without a date must not make the next one a full build.
    if full and any(day in selection for day in fact_state.dates):
        fact_state.forget_last_build()
    changed_dates = fact_state.dates_to_build()
    # A changed date before the selected ones gets a new state, but no new rows.
    dates_until_last = [day for day in changed_dates if day <= selection.last]
    dates_to_write = [day for day in dates_until_last if day in selection]
    dates_to_read = fact_state.dates_to_read(dates_until_last) if dates_to_write else ()
    return BuildPlan(
        state=fact_state, changed_dates=changed_dates, dates_to_write=dates_to_write, dates_to_read=dates_to_read
    )


def estimate_facts(
    storage: Storage,
    *,
    limits: Limits | None = None,
    lookback_days: int = LOOKBACK_DAYS,
    selection: DateRange = ALL_DATES,
    full: bool = False,
) -> int:
    """Return an estimate of how many facts a build with these arguments reads (`plan_build`). Raises StorageError."""
    return plan_build(storage, limits, lookback_days, selection, full=full).estimate_facts()
