"""A build: the dates whose facts changed since the last one, and all dates after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.transform.date_range import ALL_DATES, DateRange
from kafka_groups.pipeline.transform.engine import Engine
from kafka_groups.pipeline.transform.fact_state import (
    dates_to_build,
    forget_fact_state,
    has_old_events,
    has_other_settings,
    read_fact_state,
    save_fact_state,
)
from kafka_groups.pipeline.transform.missing_facts import describe_missing
from kafka_groups.pipeline.transform.run import Progress, Scope, dates_to_read, transform
from kafka_groups.pipeline.transform.state_tables import StateTables
from kafka_groups.verdicts import Rules

LOOKBACK_DAYS: Final = 7


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
        known = rules or Rules()
        # A build without a date must not make the next one a full build.
        if full and selection.has_any(read_fact_state(storage, known, lookback_days).known_dates()):
            _forget(storage)
        return _build(storage, engine, known, lookback_days, selection, progress)


def count_facts(
    storage: Storage,
    *,
    rules: Rules | None = None,
    lookback_days: int = LOOKBACK_DAYS,
    selection: DateRange = ALL_DATES,
    full: bool = False,
) -> int:
    """Return how many facts the next build would read."""
    state = read_fact_state(storage, rules or Rules(), lookback_days)
    if full:
        return state.count_rows(state.known_dates()) if selection.has_any(state.known_dates()) else 0
    dates = selection.up_to_last(dates_to_build(storage, state))
    if not dates:
        return 0
    if has_other_settings(storage, state) or has_old_events(storage, state):
        return state.count_rows(state.known_dates())
    return state.count_rows(dates_to_read(storage, dates, state.known_dates()))


def _forget(storage: Storage) -> None:
    """Let the next build be one of all dates. If this one is killed, the next one replaces what it wrote."""
    forget_fact_state(storage)
    StateTables(storage).clear()


def _build(
    storage: Storage,
    engine: Engine,
    rules: Rules,
    lookback_days: int,
    selection: DateRange,
    progress: Progress | None,
) -> Built:
    state = read_fact_state(storage, rules, lookback_days)
    changed = dates_to_build(storage, state)
    # The state at the end of a changed date before the selected ones is made again, its rows are not.
    dates = selection.up_to_last(changed)
    wanted = [day for day in dates if day in selection]
    rows: Mapping[str, int] = {}
    if wanted:
        if has_other_settings(storage, state):
            _forget(storage)
        done = transform(
            engine,
            storage,
            dates_to_read(storage, dates, state.known_dates()),
            rules=rules,
            lookback_days=lookback_days,
            scope=Scope(wanted[0], state.first_date, has_old_events(storage, state)),
            progress=progress,
        )
        rows = done.rows
        save_fact_state(storage, state, pending=set(changed) - set(wanted))
        wanted = list(done.dates)
    return Built(tuple(wanted), rows, describe_missing(storage, state, wanted, lookback_days))
