"""Share groups in the results of the partition stage: their lag at each sample is added to the day of a batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kafka_groups.pipeline.build.frames import LagRows, PartitionStatuses
from kafka_groups.pipeline.build.kernels.rates import RATE_WINDOW_MS
from kafka_groups.pipeline.build.kernels.segments import DAY_US, is_segment_end
from kafka_groups.pipeline.build.kernels.share_lag import judge_share_lag, measure_share_lag
from kafka_groups.pipeline.build.partition_batch import PartitionBatch
from kafka_groups.pipeline.build.partition_results import PartitionDay
from kafka_groups.pipeline.build.stage_settings import StageSettings


def add_share_groups(results: PartitionDay, batch: PartitionBatch, settings: StageSettings) -> PartitionDay:
    """Return the results of a day with the lag rows and statuses of share groups, and with the state of their keys.

    A key that has commits, too, keeps its own rows: its id belonged to another kind of group on that day.
    """
    shares = batch.share_lags.take(batch.day_of_share_lag == results.day)
    shares = shares.take(~np.isin(shares.key, results.lag_rows.key))
    if not len(shares):
        return results
    keys = len(batch.group)
    rows = measure_share_lag(shares, results.log_ends, batch.partition_of_key, results.day * DAY_US)
    carried = results.carried_statuses.take(np.isin(results.carried_statuses.key, rows.key))
    statuses = judge_share_lag(rows, carried, settings.limits, keys)
    fresh_us = (results.day + 1) * DAY_US - RATE_WINDOW_MS * 1_000
    last = statuses.take(is_segment_end(statuses.key) & (statuses.at_us >= fresh_us))
    state = results.key_state
    has_facts = np.bincount(shares.key, minlength=keys) > 0
    last_fact_day = np.where(has_facts, results.day, state.summary.last_fact_day)
    return replace(
        results,
        lag_rows=LagRows.join(results.lag_rows, rows).sort_by("key", "at_us"),
        statuses=PartitionStatuses.join(results.statuses, statuses).sort_by("key", "at_us"),
        key_state=replace(
            state,
            summary=replace(state.summary, last_fact_day=last_fact_day),
            last_status=PartitionStatuses.join(state.last_status, last).sort_by("key"),
        ),
    )
