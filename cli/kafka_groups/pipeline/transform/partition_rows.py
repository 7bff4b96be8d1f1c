"""What a day of topic partitions becomes: rows of lag_history, and rows for the stage of groups."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.records.columns import TIME
from kafka_groups.pipeline.tables import LAG_HISTORY
from kafka_groups.pipeline.transform.columns import nullable
from kafka_groups.pipeline.transform.kernels.segments import Floats, Ints
from kafka_groups.pipeline.transform.kernels.time_lag import QUALITIES
from kafka_groups.pipeline.transform.partition_batch import Names
from kafka_groups.pipeline.transform.partition_day import KeyDay, LogDay

# The least that 64 bits cannot hold.
_TOO_LARGE: Final = 2.0**63


def _time(values: Ints) -> Any:
    return nullable(values).view(TIME)


def _real(values: Floats) -> Any:
    return pa.array(values, mask=np.isnan(values))


def _whole(values: Floats) -> Any:
    missing = np.isnan(values) | (values >= _TOO_LARGE)
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)


def name_columns(names: Names, keys: Ints) -> dict[str, Any]:
    """Return the columns that name keys."""
    partitions = pa.array(names.partition_of[keys])
    return {
        "cluster_id": names.cluster_id.take(partitions),
        "group": names.group.take(pa.array(keys)),
        "topic": names.topic.take(partitions),
        "partition": names.partition.take(partitions),
    }


def lag_history_rows(names: Names, logs: LogDay, keys: KeyDay) -> Any:
    """Return the day's rows of lag_history as a record batch."""
    rows, of_log = keys.lags, logs.ends.rows
    place = rows.observation
    words = pa.array(["backfill", "sample"]), pa.array(["sample", "topic"])
    columns = name_columns(names, rows.key) | {
        "observed_at": _time(rows.at_us),
        "origin": words[0].take(pa.array(of_log.is_sample[place].astype(np.int8))),
        "committed_offset": nullable(rows.committed),
        "commit_time": _time(rows.commit_us),
        "commit_origin": words[1].take(pa.array(rows.is_commit_record.astype(np.int8))),
        "log_start_offset": nullable(of_log.log_start[place]),
        "log_end_offset": nullable(rows.log_end),
        "last_stable_offset": nullable(of_log.last_stable[place]),
        "lag": nullable(rows.lag),
        "time_lag_ms": nullable(keys.time_lags.time_lag_ms),
        "time_lag_quality": pa.array(QUALITIES).take(pa.array(keys.time_lags.quality)),
        "consume_rate": _real(keys.rates.consume),
        "produce_rate": _real(keys.rates.produce),
        "catch_up_ms": _whole(keys.rates.catch_up_ms),
        "retention_margin": nullable(rows.margin),
    }
    schema = LAG_HISTORY.arrow()
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
