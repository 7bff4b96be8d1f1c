"""A build: the two stages over the dates that are wanted, and what they wrote put in place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.records.columns import TIME
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.staging import StagedFile, StagedWriter
from kafka_groups.pipeline.tables import (
    GROUP_DAILY,
    GROUP_EVENTS,
    GROUP_STATUS,
    LAG_HISTORY,
    OFFSET_COMMITS,
    OFFSETS_TOPIC,
    PARTITION_OFFSETS,
    REBALANCES,
    TOPIC_DAILY,
    Table,
)
from kafka_groups.pipeline.transform.columns import nullable, to_flags, to_ints
from kafka_groups.pipeline.transform.day_before import count_rebalances_again
from kafka_groups.pipeline.transform.engine import Engine
from kafka_groups.pipeline.transform.facts import FactFile
from kafka_groups.pipeline.transform.group_input import FILE
from kafka_groups.pipeline.transform.group_stage import GroupSettings
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL
from kafka_groups.pipeline.transform.partition_stage import Settings
from kafka_groups.pipeline.transform.state_tables import GROUP_STATE, PARTITION_STATE, StateTables
from kafka_groups.pipeline.transform.summary import Summary, summarise
from kafka_groups.pipeline.transform.tasks import Task
from kafka_groups.verdicts import Rules

_EPOCH: Final = date(1970, 1, 1)
_FACTS: Final = (OFFSET_COMMITS, PARTITION_OFFSETS, GROUP_EVENTS)


def transform(
    engine: Engine, storage: Storage, dates: Sequence[date], *, rules: Rules, lookback_days: int
) -> Mapping[str, int]:
    """Make the derived tables of `dates`, ascending, from their facts and the state before them; return their rows.

    Dates with facts between the newest state and the first of `dates` are made, too: without them nothing would be
    known of what was before.
    """
    states = StateTables(storage)
    dates = [*_dates_without_state(storage, states, dates[0]), *dates]
    day_before = dates[0] - timedelta(days=1)
    numbers = [_number(day) for day in dates]
    facts = _fact_files(storage, [day_before, *dates])
    summary = summarise(engine, facts)
    stage = storage.stage()
    task = Task(
        stage,
        Settings(numbers, rules, lookback_days),
        GroupSettings(numbers, numbers[0] - 1),
        summary,
        frozenset(day for day in numbers if day >= numbers[-1] - lookback_days),
    )
    of_partitions = [file for file in facts if file.table != GROUP_EVENTS.name and file.day >= numbers[0]]
    of_partitions += _state_files(states, PARTITION_STATE, dates[0])
    of_groups = [file for file in facts if file.table == GROUP_EVENTS.name]
    of_groups += _state_files(states, GROUP_STATE, day_before)
    found = engine.run(task, of_partitions, of_groups)
    files = [*_files(found), *_write_topics(stage, found, summary, numbers, lookback_days)]
    again = count_rebalances_again(storage, stage, day_before, files)
    _publish(storage, states, task, dates, files)
    if again:
        storage.replace_files(GROUP_DAILY, [day_before], again)
    count: dict[str, int] = {}
    for file in files:
        count[file.table] = count.get(file.table, 0) + file.rows
    return count


def _number(day: date) -> int:
    return (day - _EPOCH).days


def _dates_without_state(storage: Storage, states: StateTables, first: date) -> list[date]:
    newest = [
        day for table in (PARTITION_STATE, GROUP_STATE) if (day := states.newest_before(table, first)) is not None
    ]
    known = {date.fromisoformat(day) for table in _FACTS for day in storage.format.dates(table.name)}
    return sorted(day for day in known if day < first and (not newest or day > max(newest)))


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


def _publish(
    storage: Storage, states: StateTables, task: Task, dates: Sequence[date], files: Sequence[StagedFile]
) -> None:
    for table in (LAG_HISTORY, REBALANCES, GROUP_STATUS, TOPIC_DAILY, GROUP_DAILY):
        wanted = [dates[0] - timedelta(days=1), *dates] if table is REBALANCES else dates
        storage.replace_files(table, wanted, files)
    oldest = dates[-1] - timedelta(days=task.settings.lookback_days + 1)
    for state in (PARTITION_STATE, GROUP_STATE):
        states.replace(state, [_EPOCH + timedelta(days=day) for day in sorted(task.state_days)], files, oldest=oldest)


def _files(found: Any) -> list[StagedFile]:
    rows = found.filter(pc.equal(found["kind"], FILE))["file"].to_pylist()
    return [StagedFile(**json.loads(row)) for row in rows]


def _write_topics(
    stage: str, found: Any, summary: Summary, days: Sequence[int], lookback_days: int
) -> list[StagedFile]:
    writer = StagedWriter(stage)
    parts = found.filter(pc.not_equal(found["kind"], FILE))
    sums = [(name, "sum") for name in ("readers", "committed", "partitions", "grown")]
    whole = parts.group_by(["cluster_id", "topic", "day"]).aggregate(
        [*sums, ("is_named", "max"), ("sampled_us", "max")]
    )
    writer.write(TOPIC_DAILY, _topic_rows(whole, summary, days, lookback_days))
    return writer.close()


def _topic_rows(whole: Any, summary: Summary, days: Sequence[int], lookback_days: int) -> Any:
    """Return rows of topic_daily: of each topic that was observed on the day, or has a commit at its end.

    A topic is unread only if the day's last sample saw it, or without samples if records were read that day.
    """
    clusters, day = whole["cluster_id"].to_pylist(), to_ints(whole["day"].combine_chunks())
    read = [summary.days.get((cluster, int(one))) for cluster, one in zip(clusters, day, strict=True)]
    record = np.array([NULL if one is None else one.record_us for one in read], np.int64)
    sample = np.array([NULL if one is None else one.sample_us for one in read], np.int64)
    numbers = {
        name: to_ints(whole[f"{name}_sum"].combine_chunks()) for name in ("readers", "committed", "partitions", "grown")
    }
    committed, partitions = np.maximum(numbers["committed"], 0), numbers["partitions"]
    named, sampled = to_flags(whole["is_named_max"].combine_chunks()), to_ints(whole["sampled_us_max"].combine_chunks())
    is_there = np.where(sample != NULL, sampled == sample, record != NULL)
    is_internal = np.asarray(pc.equal(whole["topic"], OFFSETS_TOPIC)) & (committed == 0)
    # The topic of the offsets is sampled for its coordinators.
    chosen = np.flatnonzero(((partitions != NULL) | (committed > 0)) & np.isin(day, days) & ~is_internal)
    place = pa.array(chosen)
    columns = {
        "cluster_id": whole["cluster_id"].combine_chunks().take(place),
        "topic": whole["topic"].combine_chunks().take(place),
        "day": pa.array(day[chosen] * DAY_US).view(TIME),
        "partitions": pa.array(np.maximum(partitions, 0)[chosen].astype(np.int32)),
        "messages_produced": nullable(numbers["grown"][chosen]),
        "readers": pa.array(np.maximum(numbers["readers"], 0)[chosen].astype(np.int32)),
        "committed": pa.array(committed[chosen].astype(np.int32)),
        "is_unread": pa.array(((committed == 0) & ~named & is_there)[chosen]),
        "lookback_days": pa.array(np.full(len(chosen), lookback_days, np.int32)),
    }
    schema = TOPIC_DAILY.arrow()
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
