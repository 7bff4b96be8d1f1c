"""The two stages over the dates that are wanted, and what they wrote put in place."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa

from kafka_groups.pipeline.schemas import (
    GROUP_DAILY,
    GROUP_EVENTS,
    GROUP_STATE,
    GROUP_STATUS,
    LAG_HISTORY,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    PARTITION_STATE,
    REBALANCES,
    STATES,
    TOPIC_DAILY,
    Table,
)
from kafka_groups.pipeline.storage import NewFile, Storage
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
_FACTS: Final = (OFFSET_COMMITS, PARTITION_OFFSETS, GROUP_EVENTS)
_TARGETS: Final = (LAG_HISTORY, REBALANCES, GROUP_STATUS, TOPIC_DAILY, GROUP_DAILY)
# The rebalances after group_daily, which counts them: a build that is killed in between leaves them as they were, so
# that the next one finds that they differ.
_REPLACED: Final = (LAG_HISTORY, GROUP_STATUS, TOPIC_DAILY, GROUP_DAILY, REBALANCES, *STATES)
# The arguments of `progress`: the label of a step, the number of finished steps, and their total.
Progress = Callable[[str, int, int], None]
_STEPS: Final = ("summary of the facts", "lag, verdicts and rebalances", "tables")


@dataclass(frozen=True, slots=True)
class Transformed:
    """The dates whose tables changed, the number of rows that were written of each table, and the state with times."""

    dates: tuple[date, ...]
    rows: Mapping[str, int]
    state: FactState


def transform(
    engine: Engine, storage: Storage, state: FactState, dates: Sequence[date], since: date, report: Progress
) -> Transformed:
    """Make the derived tables of `dates`, as `dates_to_read` returns them, from their facts and the state before.

    Of dates before `since` only the state is made: their rows are there, and facts of them may be absent. Rebalances of
    the day before it may change, unless retention does not keep that day.
    """
    # On a disk the lock of builds comes first; an object store has none, so another build may replace tables meanwhile.
    versions = {table.name: storage.versions_of(table, [BUILD]).get(BUILD) for table in _REPLACED}
    # A rebalance that ended on one of the dates may have begun on the day before it.
    before = sorted({day - _DAY for day in dates} - set(dates))
    report(_STEPS[0], 0, len(_STEPS))
    commits, log_ends, events = (_fact_files(storage, state, table, dates) for table in _FACTS)
    summary = summarise(engine, [*commits, *log_ends, *events])
    report(_STEPS[1], 1, len(_STEPS))
    settings = Settings([*map(_number, dates)], state.rules, state.lookback_days)
    task = Task(storage.address, settings, GroupSettings(settings.days, [*map(_number, before)]), summary)
    of_partitions = [*commits, *log_ends, *_state_files(storage, state, PARTITION_STATE, dates[0])]
    if state.has_old_events:  # the members of old ones may still be there
        of_groups = _fact_files(storage, state, GROUP_EVENTS, None)
    else:
        of_groups = _fact_files(storage, state, GROUP_EVENTS, [before[0], *dates])
        of_groups += _state_files(storage, state, GROUP_STATE, before[0])
    found = engine.run(task, of_partitions, of_groups)
    files = [NewFile(**json.loads(file)) for file in found["file"].drop_null().to_pylist()]
    files += write_topics(task, found)
    report(_STEPS[2], 2, len(_STEPS))
    state = state.with_last_times(_last_times(summary))
    wanted = {day.isoformat() for day in dates if day >= since}
    others = {day.isoformat() for day in {*before, since - _DAY} if day >= since - _DAY}
    changed = {day for day in others if day >= state.first_date and _have_changed(storage, day, files)}
    replaced = {table.name: wanted for table in _TARGETS} | {REBALANCES.name: wanted | changed}
    replaced |= dict.fromkeys((table.name for table in STATES), _state_dates(state, task))
    _replace(storage, versions, replaced, state, files)
    report(_STEPS[2], len(_STEPS), len(_STEPS))
    rows = {
        table.name: sum(f.rows for f in files if f.table == table.name and f.date in replaced[table.name])
        for table in _TARGETS
    }
    return Transformed(tuple(map(date.fromisoformat, sorted(wanted | changed))), rows, state)


def _replace(
    storage: Storage,
    versions: Mapping[str, int | None],
    replaced: Mapping[str, Collection[str]],
    state: FactState,
    files: Sequence[NewFile],
) -> None:
    """Put the files in place of what their tables have of the dates; delete files of other dates.

    Where the rebalances of a date change and its other rows do not, group_daily gets their number, too.
    """
    kept = [file for file in files if file.date in replaced[file.table]]
    storage.discard([file for file in files if file.date not in replaced[file.table]])
    only_rebalances = sorted({*replaced[REBALANCES.name]} - {*replaced[GROUP_DAILY.name]})
    counted = [file for day in only_rebalances for file in _count_rebalances(storage, state, day, kept)]
    number = secrets.randbits(62)
    for table in _REPLACED:
        dates = {*replaced[table.name], *(file.date for file in counted if file.table == table.name)}
        storage.replace(table, dates, [*kept, *counted], {BUILD: number}, {BUILD: versions[table.name]})


def _count_rebalances(storage: Storage, state: FactState, day: str, files: Sequence[NewFile]) -> list[NewFile]:
    """Write the rows of group_daily of a date with its new rebalances; return no file if nothing differs."""
    rebalances, old = (
        _rebalances_in(storage, day, files),
        _read(storage, GROUP_DAILY, storage.files(GROUP_DAILY, [day])),
    )
    summed = rebalances.group_by(["cluster_id", "group"]).aggregate([([], "count_all"), ("duration_ms", "sum")])
    found = {(row["cluster_id"], row["group"]): row for row in summed.to_pylist()}
    keys = list(zip(old["cluster_id"].to_pylist(), old["group"].to_pylist(), strict=True))
    read, new = state.clusters_read(day), old
    for name, sum_name in (("rebalances", "count_all"), ("rebalance_ms", "duration_ms_sum")):
        values = [found.get(key, {}).get(sum_name) for key in keys]
        # Null where no record of the cluster was read on the date, or no rebalances of the group are derived.
        is_zero = [key[0] in read and value is not None for key, value in zip(keys, old[name].to_pylist(), strict=True)]
        values = [0 if value is None and zero else value for value, zero in zip(values, is_zero, strict=True)]
        at = old.schema.get_field_index(name)
        new = new.set_column(at, old.schema.field(at), pa.array(values, old.schema.field(at).type))
    if new.equals(old):
        return []
    with storage.writer(BUILD) as writer:
        for rows in new.to_batches():
            writer.write(GROUP_DAILY, rows)
        return writer.close()


def _have_changed(storage: Storage, day: str, files: Sequence[NewFile]) -> bool:
    """Return whether the rebalances of a date differ from those in the table."""
    order = [(name, "ascending") for name in REBALANCES.identity]
    old = _read(storage, REBALANCES, storage.files(REBALANCES, [day]))
    return not old.sort_by(order).equals(_rebalances_in(storage, day, files).sort_by(order))


def _rebalances_in(storage: Storage, day: str, files: Sequence[NewFile]) -> Any:
    return _read(storage, REBALANCES, [file for file in files if (file.table, file.date) == (REBALANCES.name, day)])


def _read(storage: Storage, table: Table, files: Iterable[Any]) -> Any:
    schema = table.arrow()
    addresses = [storage.place.address(file.path) for file in files]
    rows = [part for address in addresses for part in read_columns(address, schema.names)]
    return pa.Table.from_batches(rows, schema=schema)


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


def _fact_files(storage: Storage, state: FactState, table: Table, dates: Iterable[date] | None) -> list[FactFile]:
    days = None if dates is None else {day.isoformat() for day in dates}
    return [
        FactFile(table.name, _number(date.fromisoformat(file.date)), storage.place.address(file.path))
        for file in state.files[table.name]
        if days is None or file.date in days
    ]


def _state_files(storage: Storage, state: FactState, table: Table, day: date) -> list[FactFile]:
    """Return the files with the newest state before a day, as of the end of the day before it."""
    newest = state.newest_before(day)
    files = [] if newest is None else storage.files(table, [newest])
    return [FactFile(table.name, _number(day) - 1, storage.place.address(file.path)) for file in files]


def _number(day: date) -> int:
    return (day - _EPOCH).days


def _name(number: int) -> str:
    return (_EPOCH + timedelta(days=number)).isoformat()
