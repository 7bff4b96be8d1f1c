"""Rows that the partition stage writes to tables, or passes on to the group stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.frames import PartitionStatuses
from kafka_groups.pipeline.build.group_frames import KeyDays, TopicDays
from kafka_groups.pipeline.build.kernels.segments import DAY_US
from kafka_groups.pipeline.build.kernels.verdicts import RULE_NAMES
from kafka_groups.pipeline.build.packing import ListOfRows, columns_of, pack
from kafka_groups.pipeline.build.partition_batch import PartitionBatch
from kafka_groups.pipeline.build.partition_results import PartitionDay, TopicActivity
from kafka_groups.pipeline.build.qualities import QUALITIES
from kafka_groups.pipeline.build.stage_rows import RowKind, make_result_rows, make_rows
from kafka_groups.pipeline.build.topic_days import merge_topic_days
from kafka_groups.pipeline.frames.arrays import (
    NULL,
    Array,
    Ints,
    milliseconds_to_microseconds,
    take_strings,
)
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.tables.derived import LagHistory
from kafka_groups.pipeline.tables.states import PartitionState
from kafka_groups.verdicts import VERDICT_OF


def make_lag_history(batch: PartitionBatch, partition_day: PartitionDay) -> Any:
    """Return the rows of `lag_history` of a day as a record batch: row i is row i of `partition_day.lag_rows`."""
    lag_rows = partition_day.lag_rows
    log_ends = partition_day.log_ends.take(lag_rows.observation)
    columns = {
        **batch.key_columns(lag_rows.key),
        **make_status_columns(partition_day.statuses.arrays()),
        "observed_at": lag_rows.at_us,
        "origin": take_strings(["backfill", "sample"], log_ends.is_sample),
        "committed_offset": lag_rows.committed_offset,
        "commit_time": lag_rows.commit_timestamp_us,
        "commit_origin": take_strings(["sample", "topic"], lag_rows.is_commit_record),
        "log_start_offset": log_ends.log_start,
        "log_end_offset": lag_rows.log_end,
        "last_stable_offset": log_ends.last_stable,
        "retention_margin": lag_rows.retention_margin,
        "offset_before_reset": partition_day.offset_before_reset,
    }
    return make_batch(LagHistory, columns)


def make_status_columns(statuses: Mapping[str, Array]) -> dict[str, Any]:
    """Return the columns that `lag_history` and `group_status` have in common, from columns of PartitionStatuses."""
    return {
        "lag": statuses["lag"],
        "time_lag_ms": statuses["time_lag_ms"],
        "time_lag_quality": take_strings(QUALITIES, statuses["time_lag_quality"]),
        "consume_rate": statuses["consume_rate"],
        "produce_rate": statuses["produce_rate"],
        "catch_up_ms": statuses["catch_up_ms"],
        "verdict": take_strings([*VERDICT_OF.values()], statuses["rule"]),
        "rule": take_strings(RULE_NAMES, statuses["rule"]),
        "verdict_since": milliseconds_to_microseconds(statuses["verdict_since_ms"]),
    }


def make_states(batch: PartitionBatch, partition_day: PartitionDay) -> Iterator[Any]:
    """Yield the rows of `partition_state` at the end of a day as record batches: of logs, and of keys.

    Partitions and keys without a fact in the last `lookback_days` have no row. The state of a partition in several
    batches is written with the first one.
    """
    has_log_state = batch.is_first & (partition_day.log_state.summary.last_fact_day != NULL)
    has_key_state = partition_day.key_state.summary.last_fact_day != NULL
    partitions = np.flatnonzero(has_log_state)
    keys = np.flatnonzero(has_key_state)
    log_columns = batch.partition_columns(partitions) | {"group": None}
    yield _make_state_rows(log_columns, partition_day.day, partition_day.log_state.pack(), partitions)
    yield _make_state_rows(batch.key_columns(keys), partition_day.day, partition_day.key_state.pack(), keys)


def _make_state_rows(columns: dict[str, Any], day: int, states: Any, indices: Ints) -> Any:
    """Return a row of `partition_state` for each of `indices`: row i has the packed state at `indices[i]`.

    `columns` are the other columns of these rows. `day` is in days since 1970; the column `day` is its midnight in µs.
    """
    state_columns = {"day": day * DAY_US, "state": states.take(pa.array(indices))}
    return make_batch(PartitionState, columns | state_columns)


def make_group_rows(batch: PartitionBatch, partition_day: PartitionDay) -> Iterator[Any]:
    """Yield a day's rows for the group stage, then parts of topics' days for the driver, as batches of StageRows.

    The driver merges the parts of all batches (`merge_topic_days`).
    """
    yield _make_status_rows(batch, partition_day)
    yield _make_key_day_rows(batch, partition_day)
    yield make_result_rows("topic_day", _make_topic_days(batch, partition_day.day, partition_day.topic_activity))


def _make_status_rows(batch: PartitionBatch, partition_day: PartitionDay) -> Any:
    """Return a day's statuses, carried statuses that may still count, and deletions, packed by key.

    There is one row of StageRows for each key that has any of them. A deletion is a status whose rule is NULL.
    """
    deletions = partition_day.deletions
    deletion_statuses = PartitionStatuses(
        key=deletions.key,
        at_us=deletions.at_us,
        rule=np.full(len(deletions), NULL),
        verdict_since_ms=np.full(len(deletions), NULL),
        lag=np.full(len(deletions), NULL),
        time_lag_ms=np.full(len(deletions), NULL),
        time_lag_quality=np.full(len(deletions), NULL),
        consume_rate=np.full(len(deletions), np.nan),
        produce_rate=np.full(len(deletions), np.nan),
        catch_up_ms=np.full(len(deletions), NULL),
    )
    statuses = PartitionStatuses.join(
        partition_day.carried_statuses, partition_day.statuses, deletion_statuses
    ).sort_by("key")
    # `pack` takes owners in ascending order; the rows of a key have no order.
    keys, payload_of_row = np.unique(statuses.key, return_inverse=True)
    column_names = [column.name for column in columns_of(PartitionStatuses, "key")]
    columns = {name: getattr(statuses, name) for name in column_names}
    payload = pack([ListOfRows(owner=payload_of_row, columns=columns)], len(keys))
    return make_rows(RowKind.STATUSES, batch.key_columns(keys) | {"day": partition_day.day, "payload": payload})


def _make_key_day_rows(batch: PartitionBatch, partition_day: PartitionDay) -> Any:
    """Return a row of StageRows for each key with a day (`has_key_day`), each with one packed row of KeyDays."""
    keys = np.flatnonzero(partition_day.has_key_day)
    key_days: KeyDays = partition_day.key_days.take(keys)
    payload = pack([ListOfRows(owner=np.arange(len(keys)), columns=key_days.arrays())], len(keys))
    return make_rows(RowKind.KEY_DAYS, batch.key_columns(keys) | {"day": partition_day.day, "payload": payload})


def _make_topic_days(batch: PartitionBatch, day: int, activity: TopicActivity) -> Any:
    """Return a row of TopicDays for each observed topic of the batch: the sum over its partitions in this batch.

    `day` is in days since 1970. A partition counts in the first batch that has it. Columns that count groups are null.
    """
    partitions = np.flatnonzero(batch.is_first & activity.is_observed)
    columns = batch.partition_columns(partitions)
    topic_columns = {
        "cluster_id": columns["cluster_id"],
        "topic": columns["topic"],
        "day": day,
        "partitions": np.ones(len(partitions), np.int64),
        "produced": activity.produced[partitions],
        "last_seen_us": activity.last_seen_us[partitions],
    }
    # The columns that count groups are filled from groups, and null in these rows.
    rows_of_partitions = make_batch(TopicDays, topic_columns, fill_null=True)
    return merge_topic_days(pa.Table.from_batches([rows_of_partitions]))
