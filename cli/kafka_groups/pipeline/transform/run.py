"""The two stages over the dates that are wanted, and what they wrote put in place."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.schemas import (
    GROUP_DAILY,
    GROUP_EVENTS,
    GROUP_STATUS,
    LAG_HISTORY,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    REBALANCES,
    TOPIC_DAILY,
    Table,
)
from kafka_groups.pipeline.storage import NewFile, Storage
from kafka_groups.pipeline.transform.day_before import count_rebalances_again
from kafka_groups.pipeline.transform.engine import Engine
from kafka_groups.pipeline.transform.fact_state import lost_dates
from kafka_groups.pipeline.transform.facts import FactFile, read_columns
from kafka_groups.pipeline.transform.group_input import FILE
from kafka_groups.pipeline.transform.group_stage import GroupSettings
from kafka_groups.pipeline.transform.partition_stage import Settings
from kafka_groups.pipeline.transform.replacement import Replacement
from kafka_groups.pipeline.transform.state_tables import GROUP_STATE, PARTITION_STATE, STATES, StateTables
from kafka_groups.pipeline.transform.summary import Summary, summarise
from kafka_groups.pipeline.transform.tasks import Task
from kafka_groups.pipeline.transform.topic_rows import write_topics
from kafka_groups.verdicts import Rules

_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = timedelta(days=1)
_FACTS: Final = (OFFSET_COMMITS, PARTITION_OFFSETS, GROUP_EVENTS)
TARGETS: Final = (LAG_HISTORY, REBALANCES, GROUP_STATUS, TOPIC_DAILY, GROUP_DAILY)
# The arguments of `progress`: the label of a step, the number of finished steps, and their total.
Progress = Callable[[str, int, int], None]
_STEPS: Final = ("summary of the facts", "lag, verdicts and rebalances", "tables")


@dataclass(frozen=True, slots=True)
class Transformed:
    """The dates whose tables changed, and the number of rows that were written of each table."""

    dates: Sequence[date]
    rows: Mapping[str, int]


class Scope(NamedTuple):
    """What a build of some dates changes, and which events of groups it reads.

    Of dates before `since` only the state is made: their rows are there, and facts of them may be absent. Rebalances of
    the day before it may change, unless that is before `first_date`, the first date that retention keeps. With
    `all_events` the states of groups are not used, but all events that are left.
    """

    since: date = date.min
    first_date: str = ""
    all_events: bool = False


_WHOLE: Final = Scope()


def transform(
    engine: Engine,
    storage: Storage,
    dates: Sequence[date],
    *,
    rules: Rules,
    lookback_days: int,
    scope: Scope = _WHOLE,
    progress: Progress | None = None,
) -> Transformed:
    """Make the derived tables of `dates`, as `dates_to_read` returns them, from their facts and the state before."""
    report = progress or (lambda *_: None)
    # A rebalance that ended on one of the dates may have begun on the day before it.
    before = sorted({day - _DAY for day in dates} - set(dates))
    replacement = Replacement(storage, [*TARGETS, *STATES])
    settings = Settings([*map(_number, dates)], rules, lookback_days)
    make_task = partial(Task, storage.address, settings, GroupSettings(settings.days, [*map(_number, before)]))
    of_groups = _group_files(storage, before[0], dates, all_events=scope.all_events)
    task, files = _run_stages(engine, storage, dates, of_groups, make_task, report)
    report(_STEPS[2], 2, len(_STEPS))
    wanted = [day for day in dates if day >= scope.since]
    others = {day for day in {*before, wanted[0] - _DAY} if day >= wanted[0] - _DAY}
    others_kept = sorted(day for day in others if day.isoformat() >= scope.first_date)
    changed = _publish(storage, replacement, wanted, others_kept, files)
    _save_states(StateTables(storage), replacement, task, files)
    report(_STEPS[2], len(_STEPS), len(_STEPS))
    every = sorted([*changed, *wanted])
    return Transformed(
        every, {table.name: _rows_of(files, table, every if table is REBALANCES else wanted) for table in TARGETS}
    )


def dates_to_read(storage: Storage, dates: Sequence[date], known: Collection[date]) -> list[date]:
    """Return dates that are to be made, ascending, and before them those with facts that no state accounts for.

    `known` are all dates with facts. Without the state before them nothing would be known of what was before. The date
    before the first one needs a state before it, too: without one, its rebalances would not be known.
    """
    earlier = {day for day in known if day < dates[0]}
    before = dates[0] - _DAY
    newest_before = _newest_state(storage)
    is_enough = newest_before(before) is not None or all(day >= before for day in earlier)
    newest = newest_before(dates[0]) if is_enough else None
    return sorted({*dates, *(day for day in earlier if newest is None or day > newest)})


def _newest_state(storage: Storage) -> Callable[[date], date | None]:
    """Return what finds the newest date before another one whose state is as the last build left it, in both tables."""
    return partial(StateTables(storage).newest_before, lost=lost_dates(storage, STATES))


def _run_stages(
    engine: Engine,
    storage: Storage,
    dates: Sequence[date],
    of_groups: Sequence[FactFile],
    make_task: Callable[[Summary], Task],
    report: Progress,
) -> tuple[Task, list[NewFile]]:
    """Run the stages over the facts of `dates`, and the files `of_groups`; return the files that they wrote."""
    report(_STEPS[0], 0, len(_STEPS))
    own = _fact_files(storage, _FACTS, dates)
    summary = summarise(engine, own)
    report(_STEPS[1], 1, len(_STEPS))
    task = make_task(summary)
    of_partitions = [file for file in own if file.table != GROUP_EVENTS.name]
    found = engine.run(task, [*of_partitions, *_state_files(storage, PARTITION_STATE, dates[0])], of_groups)
    return task, [*_files(found), *write_topics(task, found)]


def _number(day: date) -> int:
    return (day - _EPOCH).days


def _group_files(storage: Storage, before: date, dates: Sequence[date], *, all_events: bool) -> list[FactFile]:
    """Return the events of `dates` and of the day before them, and the state before that; or all events."""
    if all_events:
        return _fact_files(storage, [GROUP_EVENTS], None)
    return [*_fact_files(storage, [GROUP_EVENTS], [before, *dates]), *_state_files(storage, GROUP_STATE, before)]


def _fact_files(storage: Storage, tables: Sequence[Table], dates: Sequence[date] | None) -> list[FactFile]:
    wanted = None if dates is None else {day.isoformat() for day in dates}
    return [
        FactFile(table.name, _number(date.fromisoformat(file.date)), storage.place.address(file.path))
        for table in tables
        for file in storage.files(table, wanted)
    ]


def _state_files(storage: Storage, table: Table, before: date) -> list[FactFile]:
    paths = StateTables(storage).files(table, _newest_state(storage)(before))
    return [FactFile(table.name, _number(before) - 1, path) for path in paths]


def _files(found: Any) -> list[NewFile]:
    rows = found.filter(pc.equal(found["kind"], FILE))["file"].to_pylist()
    return [NewFile(**json.loads(row)) for row in rows]


def _days_before_that_differ(storage: Storage, days: Sequence[date], files: Sequence[NewFile]) -> list[date]:
    """Return those of the days before whose rebalances differ from those in the table."""
    found = []
    for day in days:
        name = day.isoformat()
        new = [storage.place.address(file.path) for file in files if (file.table, file.date) == (REBALANCES.name, name)]
        old = [storage.place.address(file.path) for file in storage.files(REBALANCES, [name])]
        if not _read_rebalances(new).equals(_read_rebalances(old)):
            found.append(day)
    return found


def _read_rebalances(paths: Sequence[str]) -> Any:
    schema = REBALANCES.arrow()
    rows = pa.Table.from_batches([part for path in paths for part in read_columns(path, schema.names)], schema=schema)
    return rows.sort_by([(name, "ascending") for name in REBALANCES.identity])


def _rows_of(files: Sequence[NewFile], table: Table, dates: Collection[date]) -> int:
    wanted = {day.isoformat() for day in dates}
    return sum(file.rows for file in files if file.table == table.name and file.date in wanted)


def _publish(
    storage: Storage, replacement: Replacement, dates: Sequence[date], before: Sequence[date], files: Sequence[NewFile]
) -> list[date]:
    """Replace the dates of the tables, and of the days before what differs; return those of the days before.

    Files of other dates are deleted.
    """
    changed = _days_before_that_differ(storage, before, files)
    # Before the rebalances: if the build is killed in between, the next one finds that they differ.
    for day in changed:
        if new := count_rebalances_again(storage, day, files):
            replacement.replace(GROUP_DAILY, [day.isoformat()], new)
    wanted, of_rebalances = ({day.isoformat() for day in days} for days in (dates, [*changed, *dates]))
    for table in TARGETS:
        replaced = of_rebalances if table is REBALANCES else wanted
        replacement.replace(table, replaced, files)
        storage.discard([file for file in files if file.table == table.name and file.date not in replaced])
    return changed


def _save_states(states: StateTables, replacement: Replacement, task: Task, files: Sequence[NewFile]) -> None:
    oldest = _EPOCH + timedelta(days=task.oldest_state_day())
    states.replace(replacement, [_EPOCH + timedelta(days=day) for day in task.state_days()], files, oldest=oldest)
