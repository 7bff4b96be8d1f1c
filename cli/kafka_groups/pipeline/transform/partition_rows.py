"""What a day of topic partitions becomes: rows of lag_history, and rows for the stage of groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.schemas import LAG_HISTORY
from kafka_groups.pipeline.transform.columns import millis_of, nullable, reals_of, times_of
from kafka_groups.pipeline.transform.kernels.segments import Ints
from kafka_groups.pipeline.transform.kernels.time_lag import QUALITIES
from kafka_groups.pipeline.transform.kernels.verdicts import RULES, Verdicts
from kafka_groups.pipeline.transform.partition_batch import Names
from kafka_groups.pipeline.transform.partition_day import KeyDay, LogDay
from kafka_groups.verdicts import VERDICTS


def name_columns(names: Names, keys: Ints) -> dict[str, Any]:
    """Return the columns that name keys."""
    partitions = pa.array(names.partition_of[keys])
    return {
        "cluster_id": names.cluster_id.take(partitions),
        "group": names.group.take(pa.array(keys)),
        "topic": names.topic.take(partitions),
        "partition": names.partition.take(partitions),
    }


def verdict_columns(rank: Ints) -> dict[str, Any]:
    """Return the columns of verdicts, which are places in RULES."""
    place = pa.array(rank)
    return {
        "verdict": pa.array([VERDICTS[rule] for rule in RULES]).take(place),
        "rule": pa.array(RULES).take(place),
    }


def lag_history_rows(names: Names, logs: LogDay, keys: KeyDay, verdicts: Verdicts) -> Any:
    """Return the day's rows of lag_history as a record batch."""
    rows, of_log = keys.lags, logs.ends.rows
    place = rows.observation
    words = pa.array(["backfill", "sample"]), pa.array(["sample", "topic"])
    columns = name_columns(names, rows.key) | {
        "observed_at": times_of(rows.at_us),
        "origin": words[0].take(pa.array(of_log.is_sample[place].astype(np.int8))),
        "committed_offset": nullable(rows.committed),
        "commit_time": times_of(rows.commit_us),
        "commit_origin": words[1].take(pa.array(rows.is_commit_record.astype(np.int8))),
        "log_start_offset": nullable(of_log.log_start[place]),
        "log_end_offset": nullable(rows.log_end),
        "last_stable_offset": nullable(of_log.last_stable[place]),
        "lag": nullable(rows.lag),
        "time_lag_ms": nullable(keys.time_lags.time_lag_ms),
        "time_lag_quality": pa.array(QUALITIES).take(pa.array(keys.time_lags.quality)),
        "consume_rate": reals_of(keys.rates.consume),
        "produce_rate": reals_of(keys.rates.produce),
        "catch_up_ms": nullable(keys.rates.catch_up_ms),
        "retention_margin": nullable(rows.margin),
        **verdict_columns(verdicts.rank),
        "complete": pa.array(verdicts.complete),
        "window_start": millis_of(verdicts.window_start_ms),
        "window_end": millis_of(verdicts.window_end_ms),
    }
    schema = LAG_HISTORY.arrow()
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
