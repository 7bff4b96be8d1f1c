"""The lag of share groups at the log ends of a sample, with a verdict.

The coordinator of a share group computes the lag: the number of records whose delivery is not final. Records beyond the
start offset may be delivered already, so it is not log end - start offset. A lag that is unknown has no row.

A start offset is no commit: one record that is delivered again holds it for minutes, while the group processes others.
So rules on moves do not apply. Three rules are left, as for polls (`groups/lag/start_offsets.py`): `losing_data` if
records were deleted before the group read them, `no_lag` with at most the allowed lag, else `out_of_order`.

A verdict of partitions begins with the first of the rows that give it, without a gap in the day's rows or before them:

    >>> find_verdict_starts(
    ...     verdict_rank=np.array([0, 1, 1]), at_ms=np.array([10, 20, 30]), is_start=np.array([True, False, False]),
    ...     rank_before=np.array([0, 0, 0]), since_before_ms=np.array([5, 5, 5]),
    ... )
    array([ 5, 20, 20])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import LagRows, LogEnds, PartitionStatuses
from kafka_groups.pipeline.build.kernels.group_status import new_statuses
from kafka_groups.pipeline.build.kernels.segments import is_segment_start, merge_key
from kafka_groups.pipeline.build.kernels.verdicts import RANK_OF_RULE, RULE_NAMES
from kafka_groups.pipeline.build.share_frames import SampledShareLags
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints
from kafka_groups.verdicts import OUT_OF_ORDER, Limits

_NO_LAG: Final = RULE_NAMES.index("no_lag")
_LOSING_DATA: Final = RULE_NAMES.index("losing_data")
_OUT_OF_ORDER: Final = RULE_NAMES.index(OUT_OF_ORDER)


def measure_share_lag(share_lags: SampledShareLags, log_ends: LogEnds, partition_of_key: Ints, base_us: int) -> LagRows:
    """Return the lag of share groups at the log ends of their samples, by key and time.

    `share_lags` are those of a day, in any order; `log_ends` are used rows with a known log end, by partition and time,
    and `partition_of_key` is the partition of each key. `base_us` is the beginning of the day, in µs since 1970.
    """
    share_lags = share_lags.take(share_lags.lag != NULL).sort_by("key", "at_us")
    # Two runs may have read one row.
    share_lags = share_lags.take(is_segment_start(share_lags.key, share_lags.at_us))
    sample_indices = np.flatnonzero(log_ends.is_sample & ~log_ends.is_carried)
    sampled_end_keys = merge_key(log_ends.partition[sample_indices], log_ends.at_us[sample_indices], base_us)
    wanted_keys = merge_key(partition_of_key[share_lags.key], share_lags.at_us, base_us)
    end_positions = np.searchsorted(sampled_end_keys, wanted_keys)
    has_end = np.append(sampled_end_keys, -1)[end_positions] == wanted_keys
    share_lags = share_lags.take(has_end)
    end_index = sample_indices[end_positions[has_end]]
    log_end_rows = log_ends.take(end_index)
    row_count = len(share_lags)
    is_known = (share_lags.start_offset != NULL) & (log_end_rows.log_start != NULL)
    return LagRows(
        key=share_lags.key,
        at_us=share_lags.at_us,
        committed_offset=share_lags.start_offset,
        log_end=log_end_rows.log_end,
        incarnation=np.zeros(row_count, np.int64),
        log_number=log_end_rows.log_number,
        observation=end_index,
        commit_timestamp_us=share_lags.at_us,
        deleted_us=np.full(row_count, NULL),
        is_commit_record=np.zeros(row_count, np.bool_),
        lag=share_lags.lag,
        retention_margin=np.where(is_known, share_lags.start_offset - log_end_rows.log_start, NULL),
    )


def judge_share_lag(
    lag_rows: LagRows, carried_statuses: PartitionStatuses, limits: Limits, key_count: int
) -> PartitionStatuses:
    """Return the status of each row. `carried_statuses` has the last status of the day before, at most one of each key.

    `key_count` is the number of keys. Time lags and rates are unknown: they follow from commits.
    """
    has_lost_records = (lag_rows.retention_margin != NULL) & (lag_rows.retention_margin < 0)
    rule = np.where(lag_rows.lag <= limits.allowed_lag, _NO_LAG, _OUT_OF_ORDER)
    rule = np.where(has_lost_records, _LOSING_DATA, rule)
    rank_before = np.full(key_count, -1)
    rank_before[carried_statuses.key] = RANK_OF_RULE[carried_statuses.rule]
    since_before_ms = np.full(key_count, NULL)
    since_before_ms[carried_statuses.key] = carried_statuses.verdict_since_ms
    verdict_since_ms = find_verdict_starts(
        verdict_rank=RANK_OF_RULE[rule],
        at_ms=lag_rows.at_us // 1_000,
        is_start=is_segment_start(lag_rows.key),
        rank_before=rank_before[lag_rows.key],
        since_before_ms=since_before_ms[lag_rows.key],
    )
    statuses = new_statuses(at_us=lag_rows.at_us, lag=lag_rows.lag)
    return replace(statuses, key=lag_rows.key, rule=rule, verdict_since_ms=verdict_since_ms)


def find_verdict_starts(
    verdict_rank: Ints, at_ms: Ints, is_start: Flags, rank_before: Ints, since_before_ms: Ints
) -> Ints:
    """Return when the verdict of each row began, in ms since 1970.

    `is_start` marks the first row of each key; `rank_before` is the verdict of the key before its rows, since
    `since_before_ms`.
    """
    previous_rank = np.where(is_start, rank_before, np.roll(verdict_rank, 1))
    is_change = verdict_rank != previous_rank
    begins_verdict = is_start | is_change
    since_ms = np.where(is_start & ~is_change, since_before_ms, at_ms)
    first_row = np.maximum.accumulate(np.where(begins_verdict, np.arange(len(verdict_rank)), 0))
    verdict_starts_ms: Ints = since_ms[first_row]
    return verdict_starts_ms
