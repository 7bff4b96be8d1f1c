"""What tasks run: each takes its sorted rows, writes files, and hands on what others need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline import schemas
from kafka_groups.pipeline.storage import NewFile, new_writer
from kafka_groups.pipeline.storage.layout import BUILD
from kafka_groups.pipeline.transform.columns import gather_keys, to_batch, to_flags, to_ints
from kafka_groups.pipeline.transform.group_input import FILE, OUTPUT
from kafka_groups.pipeline.transform.group_stage import RESULT, GroupBatch, add_up, transform_groups
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL
from kafka_groups.pipeline.transform.partition_batch import PartitionBatch, cut_batches
from kafka_groups.pipeline.transform.partition_rows import lag_history_rows, rows_for_groups, state_rows
from kafka_groups.pipeline.transform.partition_stage import Settings, transform_days
from kafka_groups.pipeline.transform.summary import Summary

_BATCH_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Task:
    """What every task is given: where the tables are, what the build goes by, and what the facts are in sum.

    The states of the days from `first_state_day` on are kept.
    """

    data_dir: str
    settings: Settings
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
            for found in transform_days(batch, task.settings, task.summary):
                writer.write(schemas.LAG_HISTORY, lag_history_rows(names, found))
                if found.day >= task.first_state_day:
                    for rows in state_rows(names, found, with_logs):
                        writer.write(schemas.PARTITION_STATE, rows)
                read = [(name, found.day) in task.summary.clusters for name in names.clusters]
                is_read = np.array(read, np.bool_)[names.cluster_of]
                yield from rows_for_groups(names, found, is_read=is_read, with_logs=with_logs)
        files = writer.close()
    yield to_batch(OUTPUT, {"kind": FILE, "payload": _as_json(files)})


def run_groups(task: Task, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield rows of RESULT from rows of group_input.GROUP_INPUT; write the tables of groups and their states."""
    with new_writer(task.data_dir, BUILD) as writer:
        for table in gather_keys(pieces, ("cluster_id", "name"), _BATCH_ROWS):
            is_file = pc.equal(table["kind"], FILE)
            yield to_batch(RESULT, {"file": table.filter(is_file)["payload"].combine_chunks()})
            rows = table.filter(pc.invert(is_file))
            found = transform_groups(GroupBatch.of(rows), task.settings, task.summary) if rows.num_rows else ()
            for day, tables, topics in found:
                for written, batch in tables.items():
                    if written is not schemas.GROUP_STATE or day >= task.first_state_day:
                        writer.write(written, batch)
                yield from topics.to_batches()
        files = writer.close()
    yield to_batch(RESULT, {"file": _as_json(files)})


def _as_json(files: list[NewFile]) -> Any:
    return pa.array([json.dumps(asdict(file)).encode() for file in files], pa.binary())


def write_topics(task: Task, found: Any) -> list[NewFile]:
    """Write the rows of topic_daily of the task's days, from a table of RESULT; return the files."""
    whole = add_up(found.filter(pc.is_null(found["file"])))
    with new_writer(task.data_dir, BUILD) as writer:
        writer.write(schemas.TOPIC_DAILY, _topic_rows(whole, task.summary, task.settings))
        return writer.close()


def _topic_rows(whole: Any, summary: Summary, settings: Settings) -> Any:
    """Return rows of topic_daily: of each topic that was observed on the day, or has a commit at its end.

    A topic is unread only if the day's last sample saw it, or without samples if records were read that day.
    """
    readers, committed, partitions = (to_ints(whole[name]) for name in ("readers", "committed", "partitions"))
    day = to_ints(whole["day"])
    read = [summary.clusters.get(key) for key in zip(whole["cluster_id"].to_pylist(), day.tolist(), strict=True)]
    times = [(NULL, NULL) if one is None else (one.record_us, one.sample_us) for one in read]
    record, sample = np.array(times, np.int64).reshape(-1, 2).T
    is_there = np.where(sample != NULL, to_ints(whole["sampled_us"]) == sample, record != NULL)
    has_none = committed <= 0
    # The topic of the offsets is sampled for its coordinators.
    is_internal = np.asarray(pc.equal(whole["topic"], schemas.OFFSETS_TOPIC)) & has_none
    is_chosen = ((partitions != NULL) | ~has_none) & np.isin(day, settings.days) & ~is_internal
    columns = {
        "cluster_id": whole["cluster_id"].combine_chunks(),
        "topic": whole["topic"].combine_chunks(),
        "day": day * DAY_US,
        "partitions": np.maximum(partitions, 0),
        "messages_produced": whole["grown"].combine_chunks(),
        "readers": np.maximum(readers, 0),
        "committed": np.maximum(committed, 0),
        "is_unread": has_none & ~to_flags(whole["is_named"]) & is_there,
        "lookback_days": settings.lookback_days,
    }
    return to_batch(schemas.TOPIC_DAILY.arrow(), columns).filter(pa.array(is_chosen))
