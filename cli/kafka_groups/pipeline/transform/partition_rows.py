"""What a day of topic partitions becomes: rows of lag_history, and columns that the rows for groups share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.schemas import LAG_HISTORY
from kafka_groups.pipeline.transform.columns import millis_of, nullable, reals_of, times_of
from kafka_groups.pipeline.transform.kernels.segments import Ints
from kafka_groups.pipeline.transform.kernels.time_lag import QUALITIES
from kafka_groups.pipeline.transform.kernels.verdicts import RULES
from kafka_groups.pipeline.transform.partition_batch import Names
from kafka_groups.pipeline.transform.partition_stage import PartitionDay
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
    return {"verdict": _choose([VERDICTS[rule] for rule in RULES], rank), "rule": _choose(RULES, rank)}


def _choose(texts: Any, places: Any) -> Any:
    return pa.array(texts).take(pa.array(places.astype(np.int64)))


def lag_history_rows(names: Names, found: PartitionDay) -> Any:
    """Return the day's rows of lag_history as a record batch."""
    rows, statuses, ends, place = found.lags, found.statuses, found.ends, found.lags.observation
    columns = name_columns(names, rows.key) | {
        "observed_at": times_of(rows.at_us),
        "origin": _choose(["backfill", "sample"], ends.is_sample[place]),
        "committed_offset": nullable(rows.committed),
        "commit_time": times_of(rows.commit_us),
        "commit_origin": _choose(["sample", "topic"], rows.is_commit_record),
        "log_start_offset": nullable(ends.log_start[place]),
        "log_end_offset": nullable(rows.log_end),
        "last_stable_offset": nullable(ends.last_stable[place]),
        "lag": nullable(rows.lag),
        "time_lag_ms": nullable(statuses.time_lag_ms),
        "time_lag_quality": _choose(QUALITIES, statuses.quality),
        "consume_rate": reals_of(statuses.consume),
        "produce_rate": reals_of(statuses.produce),
        "catch_up_ms": nullable(statuses.catch_up_ms),
        "retention_margin": nullable(rows.margin),
        **verdict_columns(statuses.rank),
        "complete": pa.array(statuses.complete),
        "window_start": millis_of(statuses.window_start_ms),
        "window_end": millis_of(statuses.window_end_ms),
    }
    schema = LAG_HISTORY.arrow()
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
