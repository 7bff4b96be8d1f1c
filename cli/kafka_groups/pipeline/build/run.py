"""A build: the dates whose facts changed since the last one, and all dates after them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline import tables as schemas
from kafka_groups.pipeline.build.arrays import to_batch, to_flags, to_ints
from kafka_groups.pipeline.build.coverage import describe_missing, left_out
from kafka_groups.pipeline.build.engine import Engine, Task
from kafka_groups.pipeline.build.fact_rows import PART, day_number, read_columns, read_parts, summarise
from kafka_groups.pipeline.build.fact_state import FactState, forget_fact_state
from kafka_groups.pipeline.build.group_stage import add_up
from kafka_groups.pipeline.build.kernels.segments import DAY_US, NULL
from kafka_groups.pipeline.build.partition_stage import Settings
from kafka_groups.pipeline.store import DataFile, NewFile, Storage
from kafka_groups.pipeline.store.data_files import BUILD
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.verdicts import Rules

LOOKBACK_DAYS: Final = 7
_DAY: Final = timedelta(days=1)
_MADE: Final = (schemas.LAG_HISTORY, schemas.REBALANCES, schemas.GROUP_STATUS, schemas.TOPIC_DAILY, schemas.GROUP_DAILY)
# Rebalances after group_daily, which counts them: a build that is killed in between leaves them as they were, so that
# the next one finds that they differ.
_WRITTEN: Final = sorted((*_MADE, *schemas.STATE_TABLES), key=lambda table: table == schemas.REBALANCES)
_STEPS: Final = ("summary of the facts", "lag, verdicts and rebalances", "tables")


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
    progress: Progress = ignore_progress,
) -> Built:
    """Make the derived tables of all dates that changed since the last build, and of all dates after them.

    The rows do not depend on when and in which order the facts came: a date is made from its own facts and from the
    state at the end of the date before. Commits and log ends count for `lookback_days`, members until they leave. A
    rebalance that ends after midnight changes the date before, too. Compaction and retention change nothing. Dates that
    are not selected are left to a later build. Raises StorageError, also if another build is running.
    """
    with storage.lock("build"):
        plan = _plan(storage, rules, lookback_days, selection, full=full)
        dates, rows, stale = tuple[date, ...](), dict[str, int](), list[str]()
        if plan.wanted:
            if not plan.state.has_last_build:
                forget_fact_state(storage)
            dates, rows = _derive(engine, storage, plan, progress)
            plan.state.save(storage, pending={*plan.changed} - {*plan.wanted})
            stale = left_out(storage, lookback_days, dates=dates)
        missing = describe_missing(plan.state.reach()) if plan.wanted or not plan.changed else ()
        return Built(dates, rows, (*missing, *stale))


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
    dates = {*map(str, plan.state.dates if plan.wanted and plan.state.has_old_events else plan.read)}
    return sum(file.rows for file in plan.state.files if file.date in dates)


class _Plan(NamedTuple):
    """The dates that changed, those of them that get rows, and those that are read: their states are made again."""

    state: FactState
    changed: Sequence[date]
    wanted: Sequence[date]
    read: Sequence[date]

    def gaps_before(self) -> list[date]:
        """Return the days before those that are read: a rebalance that ended on one of these may have begun there."""
        return sorted({day - _DAY for day in self.read} - {*self.read})

    def first_state_day(self) -> date:
        """Return the day whose state is the oldest that a later build may need.

        Facts may come `lookback_days` late. Their day begins with the state before it, and the rebalances of the day
        before it are found with the state before that one: of a day without facts, with that of the last day before.
        """
        oldest = self.read[-1] - (self.state.lookback_days + 2) * _DAY
        return max((day for day in (*self.state.states, *self.read) if day <= oldest), default=oldest)


def _plan(storage: Storage, rules: Rules | None, lookback_days: int, selection: DateRange, *, full: bool) -> _Plan:
    state = FactState(storage, rules or Rules(), lookback_days)
    # A build without a date must not make the next one a full build.
    if full and any(day in selection for day in state.dates):
        state.forget_last_build()
    changed = state.dates_to_build()
    # The state at the end of a changed date before the selected ones is made again, its rows are not.
    dates = [day for day in changed if day <= selection.last]
    wanted = [day for day in dates if day in selection]
    return _Plan(state, changed, wanted, state.dates_to_read(dates) if wanted else ())


def _derive(engine: Engine, storage: Storage, plan: _Plan, report: Progress) -> tuple[tuple[date, ...], dict[str, int]]:
    """Make the rows of the wanted dates, and the states of all that are read; rebalances also of the day before them.

    Return the dates whose rows changed, and the number of rows of each table.
    """
    # On a disk the lock of builds comes first; an object store has none, so another build may replace tables meanwhile.
    versions = {table: storage.versions_of(table, [BUILD]).get(BUILD) for table in _WRITTEN}
    task, files = _run_stages(engine, storage, plan, report)
    report(_STEPS[2], 2, len(_STEPS))
    state = plan.state
    state.set_last_times(task.summary.last_us)
    first, wanted = plan.wanted[0] - _DAY, {str(day) for day in plan.wanted}
    changed, counted = set[str](), list[NewFile]()
    for day in sorted(str(day) for day in {first, *plan.gaps_before()} if day >= first):
        new = _read(storage, [file for file in files if (file.table, file.date) == (schemas.REBALANCES.name, day)])
        if day >= state.first_date and not new.equals(_read(storage, storage.files(schemas.REBALANCES, [day]))):
            changed.add(day)
            counted += _count_rebalances(storage, state, day, new)
    # A date without rows in a table of states has its state there, too: nothing. Older ones are not needed any more.
    states = {str(day) for day in state.states if day_number(day) < task.first_state_day}.union(map(str, plan.read))
    replaced = dict.fromkeys((table.name for table in _WRITTEN), wanted) | {schemas.REBALANCES.name: wanted | changed}
    replaced |= dict.fromkeys((table.name for table in schemas.STATE_TABLES), states)
    kept = [file for file in files if file.date in replaced[file.table]]
    storage.discard([file for file in files if file.date not in replaced[file.table]])
    replaced[schemas.GROUP_DAILY.name] = wanted.union(file.date for file in counted)
    number = secrets.randbits(62)
    for table in _WRITTEN:
        storage.replace(table, replaced[table.name], [*kept, *counted], {BUILD: number}, {BUILD: versions[table]})
    report(_STEPS[2], len(_STEPS), len(_STEPS))
    rows = {table.name: sum(file.rows for file in kept if file.table == table.name) for table in _MADE}
    return tuple(map(date.fromisoformat, sorted(wanted | changed))), rows


def _run_stages(engine: Engine, storage: Storage, plan: _Plan, report: Progress) -> tuple[Task, list[NewFile]]:
    """Run the stages over the facts; return the files that they wrote."""

    def files_of(table: schemas.Table, days: Iterable[date | None]) -> list[DataFile]:
        found = storage.files(table) if table in schemas.STATE_TABLES else state.files
        chosen = {(table.name, str(day)) for day in days}  # no file has the date None
        return [
            replace(one, path=storage.directory.address(one.path)) for one in found if (one.table, one.date) in chosen
        ]

    state, dates, before = plan.state, plan.read, plan.gaps_before()
    report(_STEPS[0], 0, len(_STEPS))
    of_partitions = [*files_of(schemas.OFFSET_COMMITS, dates), *files_of(schemas.PARTITION_OFFSETS, dates)]
    summary = summarise(engine.collect([*of_partitions, *files_of(schemas.GROUP_EVENTS, dates)], read_parts, PART))
    report(_STEPS[1], 1, len(_STEPS))
    settings = Settings([*map(day_number, dates)], state.rules, state.lookback_days, [*map(day_number, before)])
    task = Task(storage.address, settings, day_number(plan.first_state_day()), summary)
    of_partitions += files_of(schemas.PARTITION_STATE, [state.newest_before(dates[0])])
    # The members of events that are older than what is kept may still be there.
    of_groups = files_of(schemas.GROUP_EVENTS, state.dates if state.has_old_events else (*before, *dates))
    if not state.has_old_events:
        of_groups += files_of(schemas.GROUP_STATE, [state.newest_before(before[0])])
    found = engine.run(task, of_partitions, of_groups)
    made = [NewFile(**json.loads(file)) for file in found["file"].drop_null().to_pylist()]
    return task, made + _write(storage, schemas.TOPIC_DAILY, _topic_rows(task, found))


def _topic_rows(task: Task, found: Any) -> Any:
    """Return the rows of topic_daily from a table of RESULT.

    There is one of each topic that was observed on the day, or has a commit at its end. A topic is unread only if the
    day's last sample saw it, or without samples if records were read that day.
    """
    whole = add_up(found.filter(pc.is_null(found["file"])))
    committed, partitions, day = (to_ints(whole[name]) for name in ("committed", "partitions", "day"))
    read = map(task.summary.clusters.get, zip(whole["cluster_id"].to_pylist(), day.tolist(), strict=True))
    times = [(NULL, NULL) if one is None else (one.record_us, one.sample_us) for one in read]
    record, sample = np.array(times, np.int64).reshape(-1, 2).T
    is_there = np.where(sample != NULL, to_ints(whole["sampled_us"]) == sample, record != NULL)
    has_none = committed <= 0
    # The topic of the offsets is sampled for its coordinators.
    is_internal = np.asarray(pc.equal(whole["topic"], schemas.OFFSETS_TOPIC)) & has_none
    is_chosen = ((partitions != NULL) | ~has_none) & np.isin(day, task.settings.days) & ~is_internal
    columns = {
        **{name: whole[name].combine_chunks() for name in ("cluster_id", "topic")},
        **{name: np.maximum(to_ints(whole[name]), 0) for name in ("partitions", "readers", "committed")},
        "day": day * DAY_US,
        "messages_produced": whole["grown"].combine_chunks(),
        "is_unread": has_none & ~to_flags(whole["is_named"]) & is_there,
        "lookback_days": task.settings.lookback_days,
    }
    return pa.Table.from_batches([to_batch(schemas.TOPIC_DAILY.arrow(), columns).filter(pa.array(is_chosen))])


def _count_rebalances(storage: Storage, state: FactState, day: str, rebalances: Any) -> list[NewFile]:
    """Write the rows of group_daily of a date with its new rebalances; return no file if nothing differs."""
    old = _read(storage, storage.files(schemas.GROUP_DAILY, [day]), schemas.GROUP_DAILY)
    key, totals = ["cluster_id", "group"], {"rebalances": "count_all", "rebalance_ms": "duration_ms_sum"}
    summed = rebalances.group_by(key).aggregate([([], "count_all"), ("duration_ms", "sum")])
    joined = old.select([*key, *totals]).join(summed, key).sort_by([(name, "ascending") for name in key])
    is_read, new = pc.is_in(joined["cluster_id"], pa.array([*state.clusters_read(day)], pa.string())), old
    for name, total in totals.items():
        # Null where no record of the cluster was read on the date, or no rebalances of the group are derived.
        nothing = pc.if_else(pc.and_(is_read, pc.is_valid(joined[name])), 0, None)
        new = new.set_column(new.column_names.index(name), name, pc.coalesce(joined[total], nothing))
    new = new.cast(old.schema)
    return [] if new.equals(old) else _write(storage, schemas.GROUP_DAILY, new)


def _read(storage: Storage, files: Iterable[DataFile], table: schemas.Table = schemas.REBALANCES) -> Any:
    """Return the rows of files, in the order of the table's identity."""
    names = table.arrow().names
    rows = [part for file in files for part in read_columns(storage.directory.address(file.path), names)]
    return pa.Table.from_batches(rows, table.arrow()).sort_by([(name, "ascending") for name in table.identity])


def _write(storage: Storage, table: schemas.Table, rows: Any) -> list[NewFile]:
    with storage.writer(BUILD) as writer:
        for batch in rows.to_batches():
            writer.write(table, batch)
        return writer.close()
