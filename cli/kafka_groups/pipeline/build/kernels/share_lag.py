"""The lag of share groups at the log ends of a sample, with a verdict.

The coordinator of a share group computes the lag: the number of records whose delivery is not final. Records beyond the
start offset may be delivered already, so it is not log end - start offset. A lag that is unknown has no row.

A start offset is no commit: one record that is delivered again holds it for minutes, while the group processes others.
So rules on moves do not apply. Three rules are left, as for polls (`groups/lag/start_offsets.py`): `losing_data` if
records were deleted before the group read them, `no_lag` with at most the allowed lag, else `out_of_order`.

A verdict of partitions begins with the first of the rows that give it, without a gap in the day's rows or before them:

    >>> find_verdict_starts(
    ...     verdict=np.array([0, 1, 1]), at_ms=np.array([10, 20, 30]), is_start=np.array([True, False, False]),
    ...     before=np.array([0, 0, 0]), before_since_ms=np.array([5, 5, 5]),
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


def measure_share_lag(shares: SampledShareLags, ends: LogEnds, partition_of_key: Ints, base_us: int) -> LagRows:
    """Return the lag of share groups at the log ends of their samples, by key and time.

    `shares` are those of a day, in any order; `ends` are used rows with a known log end, by partition and time, and
    `partition_of_key` is the partition of each key. `base_us` is the beginning of the day, in µs since 1970.
    """
    shares = shares.take(shares.lag != NULL).sort_by("key", "at_us")
    # Two runs may have read one row.
    shares = shares.take(is_segment_start(shares.key, shares.at_us))
    samples = np.flatnonzero(ends.is_sample & ~ends.is_carried)
    places = merge_key(ends.partition[samples], ends.at_us[samples], base_us)
    wanted = merge_key(partition_of_key[shares.key], shares.at_us, base_us)
    found = np.searchsorted(places, wanted)
    has_end = np.append(places, -1)[found] == wanted
    shares = shares.take(has_end)
    index = samples[found[has_end]]
    end = ends.take(index)
    size = len(shares)
    is_known = (shares.start_offset != NULL) & (end.log_start != NULL)
    return LagRows(
        key=shares.key,
        at_us=shares.at_us,
        committed_offset=shares.start_offset,
        log_end=end.log_end,
        incarnation=np.zeros(size, np.int64),
        log_number=end.log_number,
        observation=index,
        commit_timestamp_us=shares.at_us,
        deleted_us=np.full(size, NULL),
        is_commit_record=np.zeros(size, np.bool_),
        lag=shares.lag,
        retention_margin=np.where(is_known, shares.start_offset - end.log_start, NULL),
    )


def judge_share_lag(rows: LagRows, carried: PartitionStatuses, limits: Limits, keys: int) -> PartitionStatuses:
    """Return the status of each row. `carried` has the last status of the day before, at most one of each key.

    `keys` is the number of keys. Time lags and rates are unknown: they follow from commits.
    """
    has_lost_records = (rows.retention_margin != NULL) & (rows.retention_margin < 0)
    rule = np.where(rows.lag <= limits.allowed_lag, _NO_LAG, _OUT_OF_ORDER)
    rule = np.where(has_lost_records, _LOSING_DATA, rule)
    verdict_before = np.full(keys, -1)
    verdict_before[carried.key] = RANK_OF_RULE[carried.rule]
    since_before_ms = np.full(keys, NULL)
    since_before_ms[carried.key] = carried.verdict_since_ms
    since_ms = find_verdict_starts(
        verdict=RANK_OF_RULE[rule],
        at_ms=rows.at_us // 1_000,
        is_start=is_segment_start(rows.key),
        before=verdict_before[rows.key],
        before_since_ms=since_before_ms[rows.key],
    )
    statuses = new_statuses(at_us=rows.at_us, lag=rows.lag)
    return replace(statuses, key=rows.key, rule=rule, verdict_since_ms=since_ms)


def find_verdict_starts(verdict: Ints, at_ms: Ints, is_start: Flags, before: Ints, before_since_ms: Ints) -> Ints:
    """Return when the verdict of each row began, in ms since 1970.

    `is_start` marks the first row of each key; `before` is the verdict of the key before its rows, since
    `before_since_ms`.
    """
    previous = np.where(is_start, before, np.roll(verdict, 1))
    is_change = verdict != previous
    begins = is_start | is_change
    since_ms = np.where(is_start & ~is_change, before_since_ms, at_ms)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(verdict)), 0))
    starts: Ints = since_ms[first]
    return starts
