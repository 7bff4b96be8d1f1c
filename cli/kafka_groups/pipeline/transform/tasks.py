"""What Spark's Python workers run: each task takes its sorted rows, writes files, and hands on what others need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.decode.columns import TIME
from kafka_groups.pipeline.schemas import GROUP_DAILY, GROUP_STATUS, LAG_HISTORY, REBALANCES
from kafka_groups.pipeline.storage import FileWriter, new_writer
from kafka_groups.pipeline.storage.layout import BUILD
from kafka_groups.pipeline.transform.columns import gather_keys
from kafka_groups.pipeline.transform.group_input import FILE, TOPIC, file_rows, rows_for_groups
from kafka_groups.pipeline.transform.group_stage import (
    GroupBatch,
    GroupResult,
    GroupSettings,
    topic_parts,
    transform_groups,
)
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL
from kafka_groups.pipeline.transform.partition_batch import PartitionBatch, cut_batches
from kafka_groups.pipeline.transform.partition_rows import lag_history_rows
from kafka_groups.pipeline.transform.partition_stage import PartitionDay, Settings, transform_days
from kafka_groups.pipeline.transform.state import write_state
from kafka_groups.pipeline.transform.state_tables import GROUP_STATE, PARTITION_STATE
from kafka_groups.pipeline.transform.summary import Summary

_BATCH_ROWS: Final = 100_000
# What a task of groups hands to the driver: of topics what its groups and its rows add up to, and the files.
RESULT: Final = pa.schema(
    [
        ("kind", pa.int8()),
        ("cluster_id", pa.string()),
        ("topic", pa.string()),
        ("day", pa.int32()),
        ("readers", pa.int64()),
        ("committed", pa.int64()),
        ("is_named", pa.bool_()),
        ("partitions", pa.int64()),
        ("grown", pa.int64()),
        ("sampled_us", pa.int64()),
        ("file", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Task:
    """What every task is given: where the tables are, what the build goes by, and what the facts are in sum."""

    data_dir: str
    settings: Settings
    groups: GroupSettings
    summary: Summary

    def oldest_state_day(self) -> int:
        """Return the day that needs a state at its end or, if it had no facts, at the end of the last day with facts.

        Facts may come `lookback_days` late. Their day begins with the state before it, and the rebalances of the day
        before it are found with the state before that one.
        """
        return self.settings.days[-1] - self.settings.lookback_days - 2

    def state_days(self) -> list[int]:
        """Return the days whose states are kept, ascending."""
        oldest = self.oldest_state_day()
        first = max((day for day in self.settings.days if day <= oldest), default=oldest)
        return [day for day in self.settings.days if day >= first]


def run_partitions(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows for the stage of groups from rows of partition_batch.INPUT; write lag_history and states."""
    before: tuple[Any, ...] | None = None
    with new_writer(task.data_dir, BUILD) as writer:
        for table in cut_batches(pieces, _BATCH_ROWS):
            batch = PartitionBatch.of(table)
            del table
            names = batch.names
            first, last = ((names.cluster_id[at], names.topic[at], names.partition[at]) for at in (0, -1))
            # The log of a partition that comes in parts is the same in each.
            with_logs = np.ones(len(names.partition), np.bool_)
            with_logs[0] = first != before
            before = last
            for found in transform_days(batch, task.settings, task.summary.context):
                writer.write(LAG_HISTORY, lag_history_rows(names, found))
                if found.day in task.state_days():
                    for rows in _partition_states(batch, found, with_logs):
                        writer.write(PARTITION_STATE, rows)
                read = [(name, found.day) in task.summary.context.clusters for name in names.clusters]
                is_read = np.array(read, np.bool_)[names.cluster_of]
                yield from rows_for_groups(names, found, is_read=is_read, with_logs=with_logs)
        files = writer.close()
    yield file_rows(files)


def _partition_states(batch: PartitionBatch, found: PartitionDay, with_logs: Any) -> Iterator[Any]:
    names = batch.names
    logs = np.flatnonzero(with_logs & (found.log_state.totals.fact_day != NULL))
    keys = np.flatnonzero(found.key_state.totals.fact_day != NULL)
    schema = PARTITION_STATE.arrow()
    partitions, of_keys = pa.array(logs), pa.array(names.partition_of[keys])
    for place, group, state in (
        (partitions, pa.nulls(len(logs), pa.string()), write_state(found.log_state).take(partitions)),
        (of_keys, names.group.take(pa.array(keys)), write_state(found.key_state).take(pa.array(keys))),
    ):
        named = [column.take(place) for column in (names.cluster_id, names.topic, names.partition)]
        at = pa.array(np.full(len(place), found.day * DAY_US)).view(TIME)
        yield pa.RecordBatch.from_arrays([*named, group, at, state], schema=schema)


def run_groups(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of RESULT from rows of group_input.GROUP_INPUT; write the tables of groups and their states."""
    with new_writer(task.data_dir, BUILD) as writer:
        for table in gather_keys(pieces, ("cluster_id", "name"), _BATCH_ROWS):
            is_file = pc.equal(table["kind"], FILE)
            yield from _files(table.filter(is_file)["payload"])
            rows = table.filter(pc.invert(is_file))
            if rows.num_rows:
                yield from _run_group_batch(task, GroupBatch.of(rows), writer)
        files = writer.close()
    yield from _files(pa.chunked_array([file_rows(files)["payload"]]))


def _run_group_batch(task: Task, batch: GroupBatch, writer: FileWriter) -> Iterator[Any]:
    for found in transform_groups(batch, task.groups, task.summary):
        writer.write(REBALANCES, found.rebalances)
        if found.group_daily is None:
            continue
        writer.write(GROUP_STATUS, found.group_status)
        writer.write(GROUP_DAILY, found.group_daily)
        if found.day in task.state_days():
            writer.write(GROUP_STATE, _group_states(found))
        yield _topics(found)
        cluster, name, *numbers = topic_parts(batch, found.day)
        columns = dict(
            zip(("cluster_id", "topic", "partitions", "grown", "sampled_us"), (cluster, name, *numbers), strict=True)
        )
        size = len(cluster)
        yield _result(columns | {"kind": [TOPIC] * size, "day": [found.day] * size})


def _group_states(found: GroupResult) -> Any:
    cluster, group, text = zip(*found.states, strict=True) if found.states else ((), (), ())
    at = pa.array([found.day * DAY_US] * len(group), pa.int64()).view(TIME)
    columns = [pa.array(cluster, pa.string()), pa.array(group, pa.string()), at, pa.array(text, pa.string())]
    return pa.RecordBatch.from_arrays(columns, schema=GROUP_STATE.arrow())


def _topics(found: GroupResult) -> Any:
    names = sorted({*found.topics, *found.named})
    numbers = [found.topics.get(name, (0, 0)) for name in names]
    return _result(
        {
            "kind": [TOPIC] * len(names),
            "cluster_id": [cluster for cluster, _ in names],
            "topic": [topic for _, topic in names],
            "day": [found.day] * len(names),
            "readers": [number for number, _ in numbers],
            "committed": [number for _, number in numbers],
            "is_named": [name in found.named for name in names],
        }
    )


def _files(column: Any) -> Iterator[Any]:
    if len(column):
        yield _result({"kind": [FILE] * len(column), "file": column.combine_chunks().cast(pa.string())})


def _result(columns: dict[str, Any]) -> Any:
    size = len(columns["kind"])
    arrays = [
        pa.nulls(size, field.type)
        if field.name not in columns
        else columns[field.name].cast(field.type)
        if isinstance(columns[field.name], pa.Array)
        else pa.array(columns[field.name], field.type)
        for field in RESULT
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=RESULT)
