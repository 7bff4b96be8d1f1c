"""What a day of groups becomes: rows of group_status and group_daily."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.decode.columns import TIME
from kafka_groups.pipeline.schemas import GROUP_DAILY, GROUP_STATUS
from kafka_groups.pipeline.transform.columns import millis_of, nullable, reals_of, times_of, to_lists
from kafka_groups.pipeline.transform.kernels.group_status import GroupStatuses
from kafka_groups.pipeline.transform.kernels.group_totals import GroupDays
from kafka_groups.pipeline.transform.kernels.segments import (
    DAY_US,
    NULL,
    Flags,
    Ints,
    first_rows,
    last_rows,
    reduce,
)
from kafka_groups.pipeline.transform.kernels.time_lag import QUALITIES
from kafka_groups.pipeline.transform.kernels.verdicts import RULES
from kafka_groups.pipeline.transform.partition_rows import verdict_columns
from kafka_groups.verdicts import VERDICTS

# Of a day that has just begun nobody can say more.
_LEAST_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class StateColumns:
    """The state (a text or null) and the number of members (or null) of each row's group at its time."""

    state: Any
    members: Any


@dataclass(frozen=True, slots=True)
class MemberDays:
    """Of each row of GroupDays: the most members (NULL: not known), whether any, rebalances and their time.

    `rebalances` and `rebalance_ms` are NULL where they are not known.
    """

    most: Ints
    has_members: Flags
    rebalances: Ints
    rebalance_ms: Ints


def group_status_rows(names: Any, rows: GroupStatuses, states: StateColumns) -> Any:
    """Return the rows of group_status."""
    columns = {
        "cluster_id": names[0].take(pa.array(rows.group)),
        "group": names[1].take(pa.array(rows.group)),
        "evaluated_at": times_of(rows.at_us),
        **verdict_columns(rows.rank),
        "complete": pa.array(rows.complete),
        "window_start": millis_of(rows.window_start_ms),
        "window_end": millis_of(rows.window_end_ms),
        "partitions": pa.array(rows.partitions.astype(np.int32)),
        "lag": nullable(rows.lag),
        "time_lag_ms": nullable(rows.time_lag_ms),
        "time_lag_quality": pa.array(QUALITIES).take(pa.array(rows.quality)),
        "consume_rate": reals_of(rows.consume),
        "produce_rate": reals_of(rows.produce),
        "catch_up_ms": nullable(rows.catch_up_ms),
        "state": states.state,
        "members": states.members,
    }
    schema = GROUP_STATUS.arrow()
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


@dataclass(frozen=True, slots=True)
class Lags:
    """Of each row of GroupDays: the largest and the last lag of the group, NULL if unknown, and its worst rank."""

    largest: Ints
    last: Ints
    worst: Ints


def lags_of(groups: Ints, whole: GroupStatuses) -> Lags:
    """Return what the day's statuses of groups say of each of `groups`."""
    columns = [np.full(len(groups), NULL) for _ in range(3)]

    def fill(column: Ints, found: Ints, values: Ints) -> None:
        place = np.searchsorted(groups, found)
        is_mine = (place < len(groups)) & (groups[np.minimum(place, len(groups) - 1)] == found) if len(groups) else []
        column[place[is_mine]] = values[is_mine]

    if len(whole.group) and len(groups):
        begins = first_rows(whole.group)
        last = last_rows(whole.group)
        fill(columns[0], whole.group[begins], reduce(np.maximum, whole.lag, begins))
        fill(columns[1], whole.group[begins], whole.lag[last])
        fill(columns[2], whole.group[begins], reduce(np.maximum, whole.rank, begins))
    return Lags(*columns)


def group_daily_rows(
    names: Any, topics: Any, day: int, rows: GroupDays, lags: Lags, members: MemberDays, read_us: Ints
) -> Any:
    """Return the rows of group_daily of a day; `read_us` is the last record of each row's cluster, NULL if none."""
    seconds = np.where(read_us == NULL, 0, read_us // 1_000 - day * DAY_US // 1_000) / 1_000
    has_rate = rows.has_records & (read_us != NULL)
    rate = rows.commits / np.maximum(_LEAST_SECONDS, seconds)
    looked_us = np.maximum(rows.sampled_us, read_us)
    is_known = (looked_us != NULL) & (rows.moved_us != NULL)
    stood = looked_us // 1_000 - rows.moved_us // 1_000
    verdicts = pa.array([VERDICTS[rule] for rule in RULES])
    columns = {
        "cluster_id": names[0].take(pa.array(rows.group)),
        "group": names[1].take(pa.array(rows.group)),
        "day": pa.array(np.full(len(rows.group), day * DAY_US)).view(TIME),
        "commits": pa.array(rows.commits, mask=~rows.has_records),
        "commit_rate": pa.array(rate, mask=~has_rate),
        "partitions": pa.array(rows.partitions.astype(np.int32)),
        "topics": to_lists(topics.take(pa.array(rows.topics)), rows.topic_of, len(rows.group)),
        "members_max": nullable(members.most, pa.int32()),
        "rebalances": nullable(members.rebalances, pa.int32()),
        "rebalance_ms": nullable(members.rebalance_ms),
        "messages_consumed": pa.array(rows.consumed),
        "max_lag": nullable(lags.largest),
        "last_lag": nullable(lags.last),
        "max_time_lag_ms": nullable(rows.time_lag_ms),
        "worst_verdict": verdicts.take(nullable(lags.worst)),
        "skew": pa.array(rows.skew, mask=np.isnan(rows.skew)),
        "retention_margin": nullable(rows.margin),
        "last_retention_margin": nullable(rows.last_margin),
        "retention_left_ms": nullable(rows.left_ms),
        "last_commit_time": nullable(rows.last_commit_us).view(TIME),
        "is_idle": pa.array(is_known & (stood >= DAY_US // 1_000) & ~members.has_members),
        "orphaned_partitions": pa.array(rows.orphaned.astype(np.int32)),
    }
    schema = GROUP_DAILY.arrow()
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
