"""The two stages over the dates that are wanted, and what they wrote put in place."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import (
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
from kafka_groups.pipeline.transform.day_before import count_rebalances_again
from kafka_groups.pipeline.transform.engine import Engine
from kafka_groups.pipeline.transform.facts import FactFile, read_columns
from kafka_groups.pipeline.transform.group_input import FILE
from kafka_groups.pipeline.transform.group_stage import GroupSettings
from kafka_groups.pipeline.transform.partition_stage import Settings
from kafka_groups.pipeline.transform.state_tables import GROUP_STATE, PARTITION_STATE, StateTables
from kafka_groups.pipeline.transform.summary import Summary, summarise
from kafka_groups.pipeline.transform.tasks import Task
from kafka_groups.pipeline.transform.topic_rows import write_topics
from kafka_groups.verdicts import Rules

_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = timedelta(days=1)
_FACTS: Final = (OFFSET_COMMITS, PARTITION_OFFSETS, GROUP_EVENTS)
TARGETS: Final = (LAG_HISTORY, REBALANCES, GROUP_STATUS, TOPIC_DAILY, GROUP_DAILY)
# What `progress` is told: the label of a step, the number of finished steps, and their total.
Progress = Callable[[str, int, int], None]
_STEPS: Final = ("summary of the facts", "lag, verdicts and rebalances", "tables")


@dataclass(frozen=True, slots=True)
class Transformed:
    """The dates whose tables changed, and the number of rows that were written of each table."""

    dates: Sequence[date]
    rows: Mapping[str, int]


def transform(
    engine: Engine,
    storage: Storage,
    dates: Sequence[date],
    *,
    rules: Rules,
    lookback_days: int,
    first_date: str = "",
    progress: Progress | None = None,
) -> Transformed:
    """Make the derived tables of `dates`, as `dates_to_read` returns them, from their facts and the state before them.

    Of dates before `first_date`, which retention has thinned, only the state is made.
    """
    report = progress or (lambda *_: None)
    # A rebalance that ended on one of the dates may have begun on the day before it.
    before = sorted({day - _DAY for day in dates} - set(dates))
    stage = storage.stage()
    try:
        settings = Settings([*map(_number, dates)], rules, lookback_days)
        make_task = partial(Task, stage, settings, GroupSettings(settings.days, [*map(_number, before)]))
        task, files = _run_stages(engine, storage, dates, before, make_task, report)
        report(_STEPS[2], 2, len(_STEPS))
        kept, kept_before = ([day for day in days if day.isoformat() >= first_date] for days in (dates, before))
        written = _publish(storage, stage, kept, kept_before, files)
        _save_states(StateTables(storage), task, files)
    finally:
        storage.place.delete(storage.place.inside(stage))
    report(_STEPS[2], len(_STEPS), len(_STEPS))
    of_dates = {day.isoformat() for day in written}
    rows = {
        table.name: sum(file.rows for file in files if file.table == table.name and file.date in of_dates)
        for table in TARGETS
    }
    return Transformed(written, rows)


def dates_to_read(storage: Storage, dates: Sequence[date], known: Collection[date]) -> list[date]:
    """Return dates that are to be made, ascending, and before them those with facts that no state accounts for.

    `known` are all dates with facts. Without the state before them nothing would be known of what was before. The date
    before the first one needs a state before it, too: without one, its rebalances would not be known.
    """
    earlier = {day for day in known if day < dates[0]}
    before = dates[0] - _DAY
    is_enough = _newest_state(storage, before) is not None or all(day >= before for day in earlier)
    newest = _newest_state(storage, dates[0]) if is_enough else None
    return sorted({*dates, *(day for day in earlier if newest is None or day > newest)})


def _newest_state(storage: Storage, before: date) -> date | None:
    states = StateTables(storage)
    found = [day for table in (PARTITION_STATE, GROUP_STATE) if (day := states.newest_before(table, before))]
    return max(found, default=None)


def _run_stages(
    engine: Engine,
    storage: Storage,
    dates: Sequence[date],
    before: Sequence[date],
    make_task: Callable[[Summary], Task],
    report: Progress,
) -> tuple[Task, list[StagedFile]]:
    """Run the stages over the facts of `dates`, and events of the days `before`; return the files that they wrote."""
    report(_STEPS[0], 0, len(_STEPS))
    states = StateTables(storage)
    facts = _fact_files(storage, [before[0], *dates])
    own = [file for file in facts if file.day >= _number(dates[0])]
    summary = summarise(engine, own)
    report(_STEPS[1], 1, len(_STEPS))
    task = make_task(summary)
    of_partitions = [file for file in own if file.table != GROUP_EVENTS.name]
    of_partitions += _state_files(states, PARTITION_STATE, dates[0])
    of_groups = [file for file in facts if file.table == GROUP_EVENTS.name]
    of_groups += _state_files(states, GROUP_STATE, before[0])
    found = engine.run(task, of_partitions, of_groups)
    return task, [*_files(found), *write_topics(task, found)]


def _number(day: date) -> int:
    return (day - _EPOCH).days


def _fact_files(storage: Storage, dates: Sequence[date]) -> list[FactFile]:
    wanted = {day.isoformat() for day in dates}
    return [
        FactFile(table.name, _number(date.fromisoformat(file.date)), storage.place.uri(file.path))
        for table in _FACTS
        for file in storage.format.files(table.name, wanted)
    ]


def _state_files(states: StateTables, table: Table, before: date) -> list[FactFile]:
    return [
        FactFile(table.name, _number(before) - 1, path)
        for path in states.files(table, states.newest_before(table, before))
    ]


def _files(found: Any) -> list[StagedFile]:
    rows = found.filter(pc.equal(found["kind"], FILE))["file"].to_pylist()
    return [StagedFile(**json.loads(row)) for row in rows]


def _days_before_that_differ(storage: Storage, days: Sequence[date], files: Sequence[StagedFile]) -> list[date]:
    """Return those of the days before whose rebalances differ from those in the table."""
    found = []
    for day in days:
        name = day.isoformat()
        new = [file.path for file in files if (file.table, file.date) == (REBALANCES.name, name)]
        old = [storage.place.uri(file.path) for file in storage.format.files(REBALANCES.name, [name])]
        if not _read_rebalances(new).equals(_read_rebalances(old)):
            found.append(day)
    return found


def _read_rebalances(paths: Sequence[str]) -> Any:
    schema = REBALANCES.arrow()
    rows = pa.Table.from_batches([part for path in paths for part in read_columns(path, schema.names)], schema=schema)
    return rows.sort_by([(name, "ascending") for name in REBALANCES.identity])


def _publish(
    storage: Storage, stage: str, dates: Sequence[date], before: Sequence[date], files: Sequence[StagedFile]
) -> list[date]:
    """Replace the dates of the tables, and of the days before what differs; return the dates that were replaced."""
    changed = _days_before_that_differ(storage, before, files)
    again = {day: count_rebalances_again(storage, stage, day, files) for day in changed}
    for table in TARGETS:
        storage.replace_files(table, [*changed, *dates] if table is REBALANCES else dates, files)
    for day, new in again.items():
        if new:
            storage.replace_files(GROUP_DAILY, [day], new)
    return sorted([*changed, *dates])


def _save_states(states: StateTables, task: Task, files: Sequence[StagedFile]) -> None:
    oldest = _EPOCH + timedelta(days=task.oldest_state_day())
    for table in (PARTITION_STATE, GROUP_STATE):
        states.replace(table, [_EPOCH + timedelta(days=day) for day in task.state_days()], files, oldest=oldest)
