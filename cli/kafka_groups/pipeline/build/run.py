"""A build: it derives the tables of the dates whose facts changed since the last build, and of all later dates."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from kafka_groups.pipeline.build.backlogs import describe_backlogs
from kafka_groups.pipeline.build.build_plan import ALL_DATES, LOOKBACK_DAYS, BuildPlan, DateRange, plan_build
from kafka_groups.pipeline.build.coverage import describe_missing_facts
from kafka_groups.pipeline.build.earlier_rebalances import find_changed_rebalances, recount_group_days, write_rows
from kafka_groups.pipeline.build.fact_files import day_number
from kafka_groups.pipeline.build.fact_state import forget_fact_state
from kafka_groups.pipeline.build.fact_summary import summarize
from kafka_groups.pipeline.build.local_engine import LocalEngine
from kafka_groups.pipeline.build.spark_engine import SparkEngine
from kafka_groups.pipeline.build.stage_rows import read_results
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.build.stale_groups import describe_stale_groups
from kafka_groups.pipeline.build.tasks import Task
from kafka_groups.pipeline.build.topic_days import make_topic_daily
from kafka_groups.pipeline.store import NewFile, Queries, Storage
from kafka_groups.pipeline.store.data_files import BUILD, from_rows
from kafka_groups.pipeline.tables import DERIVED_TABLES, GROUP_DAILY, REBALANCES, STATE_TABLES, TOPIC_DAILY
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.verdicts import Limits

Engine = LocalEngine | SparkEngine
_DAY: Final = timedelta(days=1)
_STEPS: Final = ("summary of the facts", "lag, verdicts and rebalances", "tables")
# Rebalances come last, after group_daily, which counts them. If a build is killed in between, the next one finds that
# the rebalances differ.
_WRITE_ORDER: Final = sorted([*DERIVED_TABLES, *STATE_TABLES], key=lambda table: table == REBALANCES)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The written dates, the number of rows of each derived table on them, and sentences on unknown values."""

    dates: tuple[date, ...]
    rows: Mapping[str, int]
    missing: tuple[str, ...]


def build(
    storage: Storage,
    engine: Engine,
    *,
    limits: Limits | None = None,
    lookback_days: int = LOOKBACK_DAYS,
    selection: DateRange = ALL_DATES,
    full: bool = False,
    progress: Progress = ignore_progress,
) -> BuildResult:
    """Build the derived tables of all dates that changed since the last build, and of all later dates.

    The rows do not depend on when and in which order facts arrived: a date is built from its own facts and from the
    state at the end of the date before. Commits and log ends count for `lookback_days`, members until they leave.

    A rebalance that ends after midnight also changes the date before. Compaction and retention change nothing. Dates
    that are not selected are left to a later build. With `full`, every selected date counts as changed. Without
    `limits`, the default limits of verdicts are used. Raises StorageError, also if another build is running.
    """
    with storage.lock("build"):
        plan = plan_build(storage, limits, lookback_days, selection, full=full)
        if not plan.dates_to_write:
            return BuildResult((), {}, () if plan.changed_dates else _describe_missing(storage, plan))
        if not plan.state.has_last_build:
            forget_fact_state(storage)
        dates, row_counts = _build_tables(storage, engine, plan, progress)
        plan.state.save(storage, pending={*plan.changed_dates} - {*plan.dates_to_write})
        stale_groups = describe_stale_groups(storage, lookback_days, dates=dates)
        return BuildResult(dates, row_counts, (*_describe_missing(storage, plan), *stale_groups))


def _describe_missing(storage: Storage, plan: BuildPlan) -> tuple[str, ...]:
    """Return sentences on facts that the clusters of the build lack, and on commits that ingest has not read."""
    coverages = plan.state.coverages()
    return (*describe_missing_facts(coverages), *describe_backlogs(storage, Queries(storage), coverages))


def _build_tables(
    storage: Storage, engine: Engine, plan: BuildPlan, progress: Progress
) -> tuple[tuple[date, ...], dict[str, int]]:
    """Build the rows of the dates to write, the states of all dates that are read, and earlier rebalances.

    Return the dates whose rows changed, and the number of rows of each derived table on them.
    """
    # A disk has a lock for builds. An object store has none, so another build may replace tables meanwhile.
    versions = {table: storage.versions_of(table, [BUILD]).get(BUILD) for table in _WRITE_ORDER}
    task, stage_files = _run_stages(storage, engine, plan, progress)
    progress(_STEPS[2], 2, len(_STEPS))
    plan.state.set_last_times(task.summary.last_us)
    earlier_dates, recounted_files = _recount_earlier_dates(storage, plan, stage_files)
    written_dates = {str(day) for day in plan.dates_to_write}
    dates_by_table = {table.name: written_dates for table in DERIVED_TABLES}
    dates_by_table[REBALANCES.name] = written_dates | earlier_dates
    dates_by_table |= {table.name: _find_state_dates(plan, task) for table in STATE_TABLES}
    files_to_commit = [file for file in stage_files if file.date in dates_by_table[file.table]]
    storage.discard([file for file in stage_files if file.date not in dates_by_table[file.table]])
    dates_by_table[GROUP_DAILY.name] = written_dates.union(file.date for file in recounted_files)
    build_number = secrets.randbits(62)
    for table in _WRITE_ORDER:
        new_files = [*files_to_commit, *recounted_files]
        storage.replace(table, dates_by_table[table.name], new_files, {BUILD: build_number}, {BUILD: versions[table]})
    progress(_STEPS[2], len(_STEPS), len(_STEPS))
    row_counts = {
        table.name: sum(file.rows for file in files_to_commit if file.table == table.name) for table in DERIVED_TABLES
    }
    return tuple(date.fromisoformat(day) for day in sorted(written_dates | earlier_dates)), row_counts


def _run_stages(storage: Storage, engine: Engine, plan: BuildPlan, progress: Progress) -> tuple[Task, list[NewFile]]:
    """Run the stages over the facts; return the task that they ran, and the files that they wrote.

    There are files of all dates that were read, and rebalances of the days before. No file is part of a table yet: the
    caller commits the files of the dates to write, and discards the others.
    """
    progress(_STEPS[0], 0, len(_STEPS))
    days = [day_number(day) for day in plan.dates_to_read]
    summary = summarize(engine.read(plan.files_to_read(storage)), days)
    progress(_STEPS[1], 1, len(_STEPS))
    settings = StageSettings(
        days=days,
        limits=plan.state.limits,
        lookback_days=plan.state.lookback_days,
        days_before=[day_number(day) for day in plan.days_before_ranges],
    )
    task = Task(storage.address, settings, day_number(plan.first_state_date), summary)
    result_rows = engine.run(task)
    topic_rows = make_topic_daily(read_results(result_rows, "topic_day"), summary, days, plan.state.lookback_days)
    return task, from_rows(read_results(result_rows, "file")) + write_rows(storage, TOPIC_DAILY, topic_rows)


def _recount_earlier_dates(
    storage: Storage, plan: BuildPlan, stage_files: Sequence[NewFile]
) -> tuple[set[str], list[NewFile]]:
    """Return the dates just before written dates whose rebalances changed, and new files of `group_daily` for them.

    Dates are YYYY-MM-DD. `stage_files` were written by the stages. No new file is part of a table yet.
    """
    day_before = plan.dates_to_write[0] - _DAY
    candidate_dates = {str(day) for day in (day_before, *plan.days_before_ranges) if day >= day_before}
    changed_dates = set[str]()
    recounted_files = list[NewFile]()
    for day in sorted(candidate_dates):
        day_files = [file for file in stage_files if (file.table, file.date) == (REBALANCES.name, day)]
        rebalances = find_changed_rebalances(storage, day, day_files)
        # Rows of dates that retention removed stay removed.
        if rebalances is not None and day >= plan.state.first_retained_date:
            changed_dates.add(day)
            recounted_files += recount_group_days(storage, plan.state, day, rebalances)
    return changed_dates, recounted_files


def _find_state_dates(plan: BuildPlan, task: Task) -> set[str]:
    """Return the dates whose states this build replaces: all dates that are read, and dates no longer needed.

    A date without new state rows has an empty state: its old rows are removed, too.
    """
    obsolete_dates = {str(day) for day in plan.state.state_dates if day_number(day) < task.first_state_day}
    return obsolete_dates.union(map(str, plan.dates_to_read))
