"""The two stages over the dates that are wanted, and what they wrote put in place."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa

from kafka_groups.pipeline import schemas
from kafka_groups.pipeline.storage import DataFile, NewFile, Storage
from kafka_groups.pipeline.storage.layout import BUILD
from kafka_groups.pipeline.transform.engine import Engine
from kafka_groups.pipeline.transform.fact_state import FactState, Key, LastTimes
from kafka_groups.pipeline.transform.facts import FactFile, read_columns
from kafka_groups.pipeline.transform.group_stage import GroupSettings
from kafka_groups.pipeline.transform.partition_stage import Settings
from kafka_groups.pipeline.transform.summary import Summary, summarise
from kafka_groups.pipeline.transform.tasks import Task, write_topics

_EPOCH: Final = date(1970, 1, 1)
_DAY: Final = timedelta(days=1)
_FACTS: Final = (schemas.OFFSET_COMMITS, schemas.PARTITION_OFFSETS, schemas.GROUP_EVENTS)
_REBALANCES: Final = schemas.REBALANCES.name
_TARGETS: Final = (
    *(schemas.LAG_HISTORY, schemas.REBALANCES, schemas.GROUP_STATUS, schemas.TOPIC_DAILY, schemas.GROUP_DAILY),
)
# The arguments of `progress`: the label of a step, the number of finished steps, and their total.
Progress = Callable[[str, int, int], None]
_STEPS: Final = ("summary of the facts", "lag, verdicts and rebalances", "tables")


def transform(
    engine: Engine, storage: Storage, state: FactState, dates: Sequence[date], since: date, report: Progress
) -> tuple[FactState, Sequence[date], dict[str, int]]:
    """Make the derived tables of `dates`, as `dates_to_read` returns them, from their facts and the state before.

    Of dates before `since` only the state is made: their rows are there, and facts of them may be absent. Rebalances of
    the day before it may change, unless retention does not keep that day. Return the state with the last times of the
    facts, the dates whose rows changed, and the number of rows that were written of each table.
    """
    # Rebalances after group_daily, which counts them: a build that is killed in between leaves them as they were, so
    # that the next one finds that they differ.
    tables = sorted((*_TARGETS, *schemas.STATES), key=lambda table: table == schemas.REBALANCES)
    # On a disk the lock of builds comes first; an object store has none, so another build may replace tables meanwhile.
    versions = {table.name: storage.versions_of(table, [BUILD]).get(BUILD) for table in tables}
    # A rebalance that ended on one of the dates may have begun on the day before it.
    before = sorted({day - _DAY for day in dates} - set(dates))
    task, files = _run_stages(engine, storage, state, dates, before, report)
    report(_STEPS[2], 2, len(_STEPS))
    state = state.with_last_times(_last_times(task.summary))
    wanted = {day.isoformat() for day in dates if day >= since}
    changed, counted = set[str](), list[NewFile]()
    for day in sorted({each.isoformat() for each in (*before, since - _DAY) if each >= since - _DAY}):
        own = [file for file in files if (file.table, file.date) == (_REBALANCES, day)]
        new, old = _read(storage, schemas.REBALANCES, own), _read_date(storage, schemas.REBALANCES, day)
        if day >= state.first_date and not new.equals(old):
            changed.add(day)
            counted += _count_rebalances(storage, state, day, new)
    replaced = dict.fromkeys((table.name for table in _TARGETS), wanted) | {_REBALANCES: wanted | changed}
    replaced |= dict.fromkeys((table.name for table in schemas.STATES), _state_dates(state, task))
    kept = [file for file in files if file.date in replaced[file.table]]
    storage.discard([file for file in files if file.date not in replaced[file.table]])
    replaced |= {file.table: wanted.union(each.date for each in counted) for file in counted}
    number = secrets.randbits(62)
    for table in tables:
        expected = {BUILD: versions[table.name]}
        storage.replace(table, replaced[table.name], [*kept, *counted], {BUILD: number}, expected)
    report(_STEPS[2], len(_STEPS), len(_STEPS))
    rows = {table.name: sum(file.rows for file in kept if file.table == table.name) for table in _TARGETS}
    return state, [*map(date.fromisoformat, sorted(wanted | changed))], rows


def _run_stages(
    engine: Engine, storage: Storage, state: FactState, dates: Sequence[date], before: Sequence[date], report: Progress
) -> tuple[Task, list[NewFile]]:
    """Run the stages over the facts of `dates`, and of `before` over the events; return the files that they wrote."""
    report(_STEPS[0], 0, len(_STEPS))
    commits, log_ends, events = (_fact_files(storage, state, table, dates) for table in _FACTS)
    summary = summarise(engine, [*commits, *log_ends, *events])
    report(_STEPS[1], 1, len(_STEPS))
    settings = Settings([*map(_number, dates)], state.rules, state.lookback_days)
    task = Task(storage.address, settings, GroupSettings(settings.days, [*map(_number, before)]), summary)
    of_partitions = [*commits, *log_ends, *_state_files(storage, state, schemas.PARTITION_STATE, dates[0])]
    if state.has_old_events:  # the members of old ones may still be there
        of_groups = _fact_files(storage, state, schemas.GROUP_EVENTS, None)
    else:
        of_groups = _fact_files(storage, state, schemas.GROUP_EVENTS, [*before, *dates])
        of_groups += _state_files(storage, state, schemas.GROUP_STATE, before[0])
    found = engine.run(task, of_partitions, of_groups)
    files = [NewFile(**json.loads(file)) for file in found["file"].drop_null().to_pylist()]
    return task, [*files, *write_topics(task, found)]


def _count_rebalances(storage: Storage, state: FactState, day: str, rebalances: Any) -> list[NewFile]:
    """Write the rows of group_daily of a date with its new rebalances; return no file if nothing differs."""
    old = _read_date(storage, schemas.GROUP_DAILY, day)
    summed = rebalances.group_by(["cluster_id", "group"]).aggregate([([], "count_all"), ("duration_ms", "sum")])
    found = {(row["cluster_id"], row["group"]): row for row in summed.to_pylist()}
    keys = list(zip(old["cluster_id"].to_pylist(), old["group"].to_pylist(), strict=True))
    read, new = state.clusters_read(day), old
    for name, sum_name in (("rebalances", "count_all"), ("rebalance_ms", "duration_ms_sum")):
        values = []
        for key, value in zip(keys, old[name].to_pylist(), strict=True):
            # Null where no record of the cluster was read on the date, or no rebalances of the group are derived.
            nothing = None if value is None or key[0] not in read else 0
            number = found.get(key, {}).get(sum_name)
            values.append(nothing if number is None else number)
        at = old.schema.get_field_index(name)
        new = new.set_column(at, old.schema.field(at), pa.array(values, old.schema.field(at).type))
    if new.equals(old):
        return []
    with storage.writer(BUILD) as writer:
        for rows in new.to_batches():
            writer.write(schemas.GROUP_DAILY, rows)
        return writer.close()


def _read(storage: Storage, table: schemas.Table, files: Iterable[DataFile | NewFile]) -> Any:
    """Return the rows of files, in the order of the table's identity."""
    schema = table.arrow()
    addresses = [storage.place.address(file.path) for file in files]
    rows = [part for address in addresses for part in read_columns(address, schema.names)]
    return pa.Table.from_batches(rows, schema=schema).sort_by([(name, "ascending") for name in table.identity])


def _read_date(storage: Storage, table: schemas.Table, day: str) -> Any:
    return _read(storage, table, storage.files(table, [day]))


def _state_dates(state: FactState, task: Task) -> set[str]:
    """Return the dates whose states are replaced, and those whose states no build needs any more.

    A date without rows in a table has its state there, too: nothing.
    """
    replaced, oldest = {*map(_name, task.state_days())}, _name(task.oldest_state_day())
    present = replaced.union(state.states)
    first = max((day for day in present if day <= oldest), default=oldest)
    return replaced | {day for day in present if day < first}


def _last_times(summary: Summary) -> Mapping[Key, LastTimes]:
    found: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for (table, origin), times in summary.last_us.items():
        for (cluster, day), at_us in times.items():
            found[_name(day), table][cluster][origin] = at_us // 1_000
    return found


def _fact_files(
    storage: Storage, state: FactState, table: schemas.Table, dates: Iterable[date] | None
) -> list[FactFile]:
    days = None if dates is None else {day.isoformat() for day in dates}
    return [
        FactFile(table.name, _number(date.fromisoformat(file.date)), storage.place.address(file.path))
        for file in state.files[table.name]
        if days is None or file.date in days
    ]


def _state_files(storage: Storage, state: FactState, table: schemas.Table, day: date) -> list[FactFile]:
    """Return the files with the newest state before a day, as of the end of the day before it."""
    newest = state.newest_before(day)
    files = [] if newest is None else storage.files(table, [newest])
    return [FactFile(table.name, _number(day) - 1, storage.place.address(file.path)) for file in files]


def _number(day: date) -> int:
    return (day - _EPOCH).days


def _name(number: int) -> str:
    return (_EPOCH + timedelta(days=number)).isoformat()
