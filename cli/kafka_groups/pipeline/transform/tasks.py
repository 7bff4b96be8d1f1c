"""What tasks run: each takes its sorted rows, writes files, and hands on what others need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline import schemas
from kafka_groups.pipeline.storage import FileWriter, NewFile, new_writer
from kafka_groups.pipeline.storage.layout import BUILD
from kafka_groups.pipeline.transform.columns import gather_keys, times_of, to_batch, to_flags, to_ints
from kafka_groups.pipeline.transform.group_input import FILE, file_rows, rows_for_groups
from kafka_groups.pipeline.transform.group_stage import (
    GroupBatch,
    GroupResult,
    GroupSettings,
    topic_parts,
    transform_groups,
)
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL, Flags
from kafka_groups.pipeline.transform.partition_batch import PartitionBatch, cut_batches
from kafka_groups.pipeline.transform.partition_rows import lag_history_rows
from kafka_groups.pipeline.transform.partition_stage import PartitionDay, Settings, transform_days
from kafka_groups.pipeline.transform.state import write_state
from kafka_groups.pipeline.transform.summary import Summary

_BATCH_ROWS: Final = 100_000
_TOPIC_SUMS: Final = ("readers", "committed", "partitions", "grown")
# What a task of groups hands to the driver: what its groups and its rows of a topic add up to, or a file (NewFile).
RESULT: Final = pa.schema(
    [
        *(("cluster_id", pa.string()), ("topic", pa.string()), ("day", pa.int32())),
        *((name, pa.int64()) for name in _TOPIC_SUMS),
        *(("is_named", pa.bool_()), ("sampled_us", pa.int64()), ("file", pa.binary())),
    ]
)


@dataclass(frozen=True, slots=True)
class Task:
    """What every task is given: where the tables are, what the build goes by, and what the facts are in sum.

    The states of the days from `first_state_day` on are kept.
    """

    data_dir: str
    settings: Settings
    groups: GroupSettings
    first_state_day: int
    summary: Summary


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
                writer.write(schemas.LAG_HISTORY, lag_history_rows(names, found))
                if found.day >= task.first_state_day:
                    for rows in _partition_states(batch, found, with_logs):
                        writer.write(schemas.PARTITION_STATE, rows)
                read = [(name, found.day) in task.summary.context.clusters for name in names.clusters]
                is_read = np.array(read, np.bool_)[names.cluster_of]
                yield from rows_for_groups(names, found, is_read=is_read, with_logs=with_logs)
        files = writer.close()
    yield file_rows(files)


def _partition_states(batch: PartitionBatch, found: PartitionDay, with_logs: Flags) -> Iterator[Any]:
    names = batch.names
    logs = np.flatnonzero(with_logs & (found.log_state.totals.fact_day != NULL))
    keys = pa.array(np.flatnonzero(found.key_state.totals.fact_day != NULL))
    for partitions, group, state in (
        (pa.array(logs), None, write_state(found.log_state).take(pa.array(logs))),
        (pa.array(names.partition_of).take(keys), names.group.take(keys), write_state(found.key_state).take(keys)),
    ):
        named = {name: getattr(names, name).take(partitions) for name in ("cluster_id", "topic", "partition")}
        columns = {**named, "group": group, "day": found.day * DAY_US, "state": state}
        yield to_batch(schemas.PARTITION_STATE.arrow(), len(partitions), columns)


def run_groups(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of RESULT from rows of group_input.GROUP_INPUT; write the tables of groups and their states."""
    with new_writer(task.data_dir, BUILD) as writer:
        for table in gather_keys(pieces, ("cluster_id", "name"), _BATCH_ROWS):
            is_file = pc.equal(table["kind"], FILE)
            yield _files(table.filter(is_file))
            rows = table.filter(pc.invert(is_file))
            if rows.num_rows:
                yield from _run_group_batch(task, GroupBatch.of(rows), writer)
        files = writer.close()
    yield _files(file_rows(files))


def _files(rows: Any) -> Any:
    return pa.RecordBatch.from_pylist([{"file": payload} for payload in rows["payload"].to_pylist()], schema=RESULT)


def _run_group_batch(task: Task, batch: GroupBatch, writer: FileWriter) -> Iterator[Any]:
    for found in transform_groups(batch, task.groups, task.summary):
        writer.write(schemas.REBALANCES, found.rebalances)
        if found.group_daily is None:
            continue
        writer.write(schemas.GROUP_STATUS, found.group_status)
        writer.write(schemas.GROUP_DAILY, found.group_daily)
        if found.day >= task.first_state_day:
            names = ("cluster_id", "group", "state")
            states = [dict(zip(names, each, strict=True)) | {"day": found.day * DAY_US} for each in found.states]
            writer.write(schemas.GROUP_STATE, pa.RecordBatch.from_pylist(states, schema=schemas.GROUP_STATE.arrow()))
        yield _topics(found)
        cluster, topic, partitions, grown, sampled_us = topic_parts(batch, found.day)
        columns = {"cluster_id": cluster, "topic": topic, "partitions": partitions, "grown": grown}
        yield to_batch(RESULT, len(topic), {**columns, "sampled_us": sampled_us, "day": found.day})


def _topics(found: GroupResult) -> Any:
    rows = []
    for cluster, topic in sorted({*found.topics, *found.named}):
        readers, committed = found.topics.get((cluster, topic), (0, 0))
        named = {"cluster_id": cluster, "topic": topic, "day": found.day, "is_named": (cluster, topic) in found.named}
        rows.append({**named, "readers": readers, "committed": committed})
    return pa.RecordBatch.from_pylist(rows, schema=RESULT)


def write_topics(task: Task, found: Any) -> list[NewFile]:
    """Write the rows of topic_daily of the task's days, from a table of RESULT; return the files."""
    sums = [*((name, "sum") for name in _TOPIC_SUMS), ("is_named", "max"), ("sampled_us", "max")]
    whole = found.filter(pc.is_null(found["file"])).group_by(["cluster_id", "topic", "day"]).aggregate(sums)
    with new_writer(task.data_dir, BUILD) as writer:
        writer.write(schemas.TOPIC_DAILY, _topic_rows(whole, task.summary, task.settings))
        return writer.close()


def _topic_rows(whole: Any, summary: Summary, settings: Settings) -> Any:
    """Return rows of topic_daily: of each topic that was observed on the day, or has a commit at its end.

    A topic is unread only if the day's last sample saw it, or without samples if records were read that day.
    """
    readers, committed, partitions = (to_ints(whole[f"{name}_sum"]) for name in _TOPIC_SUMS[:3])
    day = to_ints(whole["day"])
    read = [summary.days.get(key) for key in zip(whole["cluster_id"].to_pylist(), day.tolist(), strict=True)]
    times = [(NULL, NULL) if one is None else (one.record_us, one.sample_us) for one in read]
    record, sample = np.array(times, np.int64).reshape(-1, 2).T
    is_there = np.where(sample != NULL, to_ints(whole["sampled_us_max"]) == sample, record != NULL)
    has_none = committed <= 0
    # The topic of the offsets is sampled for its coordinators.
    is_internal = np.asarray(pc.equal(whole["topic"], schemas.OFFSETS_TOPIC)) & has_none
    is_chosen = ((partitions != NULL) | ~has_none) & np.isin(day, settings.days) & ~is_internal
    columns = {
        "cluster_id": whole["cluster_id"].combine_chunks(),
        "topic": whole["topic"].combine_chunks(),
        "day": times_of(day * DAY_US),
        "partitions": pa.array(np.maximum(partitions, 0)),
        "messages_produced": whole["grown_sum"].combine_chunks(),
        "readers": pa.array(np.maximum(readers, 0)),
        "committed": pa.array(np.maximum(committed, 0)),
        "is_unread": pa.array(has_none & ~to_flags(whole["is_named_max"]) & is_there),
        "lookback_days": settings.lookback_days,
    }
    return to_batch(schemas.TOPIC_DAILY.arrow(), len(day), columns).filter(pa.array(is_chosen))
