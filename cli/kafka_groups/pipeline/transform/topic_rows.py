"""Rows of topic_daily: what the tasks found of each topic, added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.decode.columns import TIME
from kafka_groups.pipeline.schemas import OFFSETS_TOPIC, TOPIC_DAILY
from kafka_groups.pipeline.storage import NewFile, new_writer
from kafka_groups.pipeline.storage.layout import BUILD
from kafka_groups.pipeline.transform.columns import nullable, to_flags, to_ints
from kafka_groups.pipeline.transform.group_input import FILE
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL
from kafka_groups.pipeline.transform.partition_stage import Settings
from kafka_groups.pipeline.transform.summary import Summary
from kafka_groups.pipeline.transform.tasks import Task


def write_topics(task: Task, found: Any) -> list[NewFile]:
    """Write the rows of the task's days, from a table of tasks.RESULT; return the files."""
    parts = found.filter(pc.not_equal(found["kind"], FILE))
    sums = [(name, "sum") for name in ("readers", "committed", "partitions", "grown")]
    whole = parts.group_by(["cluster_id", "topic", "day"]).aggregate(
        [*sums, ("is_named", "max"), ("sampled_us", "max")]
    )
    with new_writer(task.data_dir, BUILD) as writer:
        writer.write(TOPIC_DAILY, _topic_rows(whole, task.summary, task.settings))
        return writer.close()


def _topic_rows(whole: Any, summary: Summary, settings: Settings) -> Any:
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
    chosen = np.flatnonzero(((partitions != NULL) | (committed > 0)) & np.isin(day, settings.days) & ~is_internal)
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
        "lookback_days": pa.array(np.full(len(chosen), settings.lookback_days, np.int32)),
    }
    schema = TOPIC_DAILY.arrow()
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
