"""The group stage, day by day: states, members and rebalances from events, and sums over partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.fact_summary import NOTHING_READ, FactSummary
from kafka_groups.pipeline.build.group_batch import GroupBatch
from kafka_groups.pipeline.build.group_frames import TopicDays
from kafka_groups.pipeline.build.kernels.group_daily import (
    GroupActivity,
    GroupCounts,
    GroupedKeyDays,
    GroupExtremes,
    find_group_extremes,
    find_share_groups,
    sum_group_activity,
)
from kafka_groups.pipeline.build.kernels.group_days import GroupDay, build_group_days
from kafka_groups.pipeline.build.kernels.group_status import GroupStatuses, combine_statuses
from kafka_groups.pipeline.build.kernels.group_timeline import UNKNOWN_COUNT
from kafka_groups.pipeline.build.kernels.segments import DAY_US, is_segment_start, reduce_segments
from kafka_groups.pipeline.build.keyed_tables import sort_rows
from kafka_groups.pipeline.build.partition_rows import make_status_columns
from kafka_groups.pipeline.build.stage_rows import GROUP_KEY
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.build.topic_days import merge_topic_days
from kafka_groups.pipeline.frames.arrays import NULL, Array, Ints, take_strings, to_lists
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_STATE, GROUP_STATUS, REBALANCES, Table
from kafka_groups.verdicts import VERDICT_OF

# The day of a group without known events and without a known state.
_WITHOUT_EVENTS: Final = next(build_group_days(None, {}, [0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDayResults:
    """The results of a day (days since 1970) for a batch of groups, as Arrow rows.

    `tables` has a record batch for each table. `topic_days` is a record batch of TopicDays; None on a day for which
    only rebalances are built.
    """

    day: int
    tables: Mapping[Table, Any]
    topic_days: Any


def build_groups(batch: GroupBatch, settings: StageSettings, summary: FactSummary) -> Iterator[GroupDayResults]:
    """Yield the results of each day, ascending: all tables of `settings.days`, only rebalances of `days_before`.

    No day may be in both. `batch` has all rows and events of its groups on these days, and the state before them.
    """
    days = sorted([*settings.days_before, *settings.days])
    for day, group_days in _build_days(batch, days).items():
        rebalances = _make_rebalances(batch, group_days)
        if day in settings.days_before:
            yield GroupDayResults(day=day, tables={REBALANCES: rebalances}, topic_days=None)
            continue
        statuses = combine_statuses(batch.read_statuses(day), day)
        grouped_key_days, topic_names = batch.read_key_days(day, summary.idle_partitions)
        counts = _count_events(batch, group_days, day, summary)
        activity = sum_group_activity(grouped_key_days, counts, day)
        extremes = find_group_extremes(grouped_key_days, statuses, len(batch))
        tables = {
            REBALANCES: rebalances,
            GROUP_STATUS: _make_group_status(batch, statuses, group_days),
            GROUP_DAILY: _join_rows(
                _make_group_daily(batch, day, topic_names, activity, extremes, counts),
                _make_share_daily(batch, day, find_share_groups(grouped_key_days, activity), extremes, counts),
            ),
            GROUP_STATE: _make_group_states(batch, day, group_days),
        }
        yield GroupDayResults(
            day=day, tables=tables, topic_days=_make_topic_days(batch, day, grouped_key_days, topic_names, group_days)
        )


def _build_days(batch: GroupBatch, days: Sequence[int]) -> dict[int, dict[int, GroupDay]]:
    """Return by day, and by group, the days of the groups that have events or a state."""
    group_days_by_day: dict[int, dict[int, GroupDay]] = {day: {} for day in days}
    for group in sorted({*batch.events, *batch.states}):
        for group_day in build_group_days(batch.states.get(group), batch.events.get(group, {}), days):
            group_days_by_day[group_day.day][group] = group_day
    return group_days_by_day


def _make_rebalances(batch: GroupBatch, group_days: Mapping[int, GroupDay]) -> Any:
    """Return the rows of `rebalances` of one day, from the groups and the fields of their rebalances."""
    groups = [group for group, group_day in group_days.items() for _ in group_day.rebalances]
    rebalances = [rebalance for group_day in group_days.values() for rebalance in group_day.rebalances]
    column_names = REBALANCES.frame.names()
    columns = {
        name: [getattr(rebalance, name) for rebalance in rebalances]
        for name in column_names
        if name not in {"cluster_id", "group"}
    }
    return make_batch(REBALANCES.frame, batch.group_columns(np.array(groups, np.int64)) | columns)


def _make_group_status(batch: GroupBatch, statuses: GroupStatuses, group_days: Mapping[int, GroupDay]) -> Any:
    """Return the rows of `group_status`: each has the state of its group and the number of members at its time."""
    states, member_counts = _find_states(group_days, statuses.group, statuses.at_us)
    columns = {
        **batch.group_columns(statuses.group),
        **make_status_columns(_select_status_arrays(statuses)),
        "evaluated_at": statuses.at_us,
        "partitions": statuses.partitions,
        "state": pa.array(states, pa.string()),
        "member_count": _null_if_unknown(member_counts),
    }
    return make_batch(GROUP_STATUS.frame, columns)


def _select_status_arrays(statuses: GroupStatuses) -> dict[str, Array]:
    """Return the columns that `make_status_columns` takes, by their names."""
    names = (
        "rule",
        "verdict_since_ms",
        "lag",
        "time_lag_ms",
        "time_lag_quality",
        "consume_rate",
        "produce_rate",
        "catch_up_ms",
    )
    return {name: getattr(statuses, name) for name in names}


def _find_states(group_days: Mapping[int, GroupDay], group: Ints, at_us: Ints) -> tuple[Array, Ints]:
    """Return the state (None if unknown) and the number of members of groups at times of one day.

    An unknown number is UNKNOWN_COUNT or NULL, both below 0, as in Timeline. Times are µs since 1970; the rows of a
    group follow each other.
    """
    states = np.full(len(group), None, np.object_)
    member_counts = np.full(len(group), UNKNOWN_COUNT)
    first_indices = np.flatnonzero(is_segment_start(group)).tolist()
    for first, end in pairwise([*first_indices, len(group)]):
        timeline = group_days.get(int(group[first]), _WITHOUT_EVENTS).timeline
        states[first:end], member_counts[first:end] = timeline.at_times(at_us[first:end])
    return states, member_counts


def _null_if_unknown(member_counts: Ints) -> Ints:
    return np.where(member_counts < 0, NULL, member_counts)


def _count_events(batch: GroupBatch, group_days: Mapping[int, GroupDay], day: int, summary: FactSummary) -> GroupCounts:
    """Return the counts of each group of the batch on a day (days since 1970); row i is group i."""
    last_record_us = []
    max_members = []
    rebalances = []
    rebalance_ms = []
    for group, cluster in enumerate(batch.cluster_id.to_pylist()):
        group_day = group_days.get(group, _WITHOUT_EVENTS)
        last_of_cluster_us = summary.clusters.get((cluster, day), NOTHING_READ).last_record_us
        # Samples show no rebalance, so without records none is known.
        count_without_rebalance = NULL if last_of_cluster_us == NULL else 0
        durations_ms = [
            rebalance.duration_ms for rebalance in group_day.rebalances if rebalance.duration_ms is not None
        ]
        last_record_us.append(last_of_cluster_us)
        max_members.append(group_day.timeline.max_members)
        rebalances.append(len(group_day.rebalances) or count_without_rebalance)
        rebalance_ms.append(sum(durations_ms) if durations_ms else count_without_rebalance)
    return GroupCounts(
        last_record_us=np.array(last_record_us, np.int64),
        max_members=np.array(max_members, np.int64),
        rebalances=np.array(rebalances, np.int64),
        rebalance_ms=np.array(rebalance_ms, np.int64),
    )


def _make_group_daily(
    batch: GroupBatch, day: int, topic_names: Any, activity: GroupActivity, extremes: GroupExtremes, counts: GroupCounts
) -> Any:
    """Return the rows of `group_daily`: one for each row of the activity.

    `day` is in days since 1970, `topic_names` are the names of the topics of the activity (an Arrow column), and row i
    of `extremes` and `counts` is group i.
    """
    group = activity.group
    row_of_topic, topic_index = activity.topics
    columns = {
        **_make_common_columns(batch, day, group, extremes, counts),
        "commits": activity.commits,
        "commit_rate": activity.commit_rate,
        "partitions": activity.partitions,
        "topics": to_lists(topic_names.take(pa.array(topic_index)), row_of_topic, len(group)),
        "records_consumed": activity.consumed,
        "max_time_lag_ms": extremes.max_time_lag_ms[group],
        "skew": activity.skew,
        "last_commit_time": activity.last_commit_us,
        "is_idle": activity.is_idle,
        "clock_jump_ms": activity.clock_jump_ms,
        "orphaned_partitions": extremes.orphaned_partitions[group],
    }
    return make_batch(GROUP_DAILY.frame, columns)


def _make_share_daily(batch: GroupBatch, day: int, group: Ints, extremes: GroupExtremes, counts: GroupCounts) -> Any:
    """Return the rows of `group_daily` of share groups; columns derived from commits are null.

    `group` are the numbers of the groups; `day`, `extremes` and `counts` are as in `_make_group_daily`.
    """
    columns = _make_common_columns(batch, day, group, extremes, counts)
    return make_batch(GROUP_DAILY.frame, columns, fill_null=True)


def _make_common_columns(
    batch: GroupBatch, day: int, group: Ints, extremes: GroupExtremes, counts: GroupCounts
) -> dict[str, Any]:
    """Return the columns of `group_daily` that groups with commits and share groups have: lag, margins and members."""
    return {
        **batch.group_columns(group),
        "day": day * DAY_US,
        "max_members": _null_if_unknown(counts.max_members[group]),
        "rebalances": counts.rebalances[group],
        "rebalance_ms": counts.rebalance_ms[group],
        "max_lag": extremes.max_lag[group],
        "last_lag": extremes.last_lag[group],
        "worst_verdict": take_strings([*VERDICT_OF.values()], extremes.worst_rule[group]),
        "min_retention_margin": extremes.min_retention_margin[group],
        "last_retention_margin": extremes.last_retention_margin[group],
        "retention_left_ms": extremes.retention_left_ms[group],
    }


def _join_rows(rows: Any, other_rows: Any) -> Any:
    """Return the rows of two record batches with equal columns in one, by cluster and group."""
    if not len(other_rows):
        return rows
    table = pa.Table.from_batches([rows, other_rows])
    return sort_rows(table, GROUP_KEY).combine_chunks().to_batches()[0]


def _make_group_states(batch: GroupBatch, day: int, group_days: Mapping[int, GroupDay]) -> Any:
    """Return the rows of `group_state` at the end of a day (days since 1970)."""
    group_numbers = np.array([*group_days], np.int64)
    states = [group_day.state for group_day in group_days.values()]
    return make_batch(GROUP_STATE.frame, batch.group_columns(group_numbers) | {"day": day * DAY_US, "state": states})


def _make_topic_days(
    batch: GroupBatch, day: int, grouped_key_days: GroupedKeyDays, topic_names: Any, group_days: Mapping[int, GroupDay]
) -> Any:
    """Return a row of TopicDays for each topic that groups of the batch have commits on, or that members name.

    The members of a share group name the topics that it reads, as it has no commits.

    A row has the number of groups that read the topic, the number of groups with a commit on it, and whether members
    name the topic. Both numbers are null if it is only named. `partitions`, `produced` and `last_seen_us` are null. The
    driver merges these rows with the parts of other batches.
    """
    commit_key_days = grouped_key_days.take(~grouped_key_days.key_days.has_start_offset)
    is_start = is_segment_start(commit_key_days.group, commit_key_days.topic)
    has_read = reduce_segments(np.logical_or, commit_key_days.key_days.consumed > 0, is_start)
    has_commit = reduce_segments(np.logical_or, commit_key_days.key_days.has_commit, is_start)
    # Each group is 0 or 1 reader of a topic; `merge_topic_days` adds them up.
    topics_of_keys = {
        "cluster_id": batch.cluster_id.take(pa.array(commit_key_days.group[is_start])),
        "topic": topic_names.take(pa.array(commit_key_days.topic[is_start])),
        "day": day,
        "active_groups": has_read.astype(np.int64),
        "groups_with_commits": has_commit.astype(np.int64),
    }
    named_topics = [(group, topic) for group, group_day in group_days.items() for topic in group_day.topics]
    topics_of_members = {
        "cluster_id": batch.cluster_id.take(pa.array([group for group, _ in named_topics], pa.int64())),
        "topic": pa.array([topic for _, topic in named_topics], pa.string()),
        "day": day,
        "is_subscribed": True,
    }
    parts_of_topic_days = [
        make_batch(TopicDays, columns, fill_null=True) for columns in (topics_of_keys, topics_of_members)
    ]
    return merge_topic_days(pa.Table.from_batches(parts_of_topic_days))
