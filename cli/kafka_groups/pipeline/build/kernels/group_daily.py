"""The day of a group, summed up over its keys: commits, consumption, skew and margins.

*Skew* shows how unevenly a group consumes a topic: the largest consumption of a partition, divided by the mean. Skew is
1 if the group consumes all partitions equally. The mean includes the partitions on which the group has a commit, and
all idle partitions. Nothing was written to an idle partition, and many clients commit nothing there.

    partitions = partitions with a commit that were not idle + idle partitions
    skew = largest consumption * partitions / total consumption

Skew is unknown for a topic from which the group consumed fewer than 1,000 offsets.

Three partitions of one topic, the last one idle, and 3,000 records consumed:

    >>> topic_skew(
    ...     consumed=np.array([2_000, 1_000, 0]),
    ...     is_idle_partition=np.array([False, False, True]),
    ...     idle_partitions=np.array([1, 1, 1]),
    ...     is_start=np.array([True, False, False]),
    ... )
    array([2.])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.group_frames import KeyDays
from kafka_groups.pipeline.build.kernels.group_status import FRESH_MS, GroupStatuses, min_known
from kafka_groups.pipeline.build.kernels.segments import (
    DAY_US,
    is_segment_end,
    is_segment_start,
    reduce_segments,
    segment_maximum,
    sum_segments,
)
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Floats, Ints

# With fewer records, one partition may have most of them by chance.
_ENOUGH_RECORDS: Final = 1_000
# A day that has just begun is too short for a rate.
_MIN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedKeyDays:
    """The days of keys, sorted by group, topic and partition: row i is row i of `key_days`.

    `group` and `topic` are the numbers of its group and of its topic.
    """

    group: Ints
    topic: Ints
    idle_partitions: Ints  # partitions of the topic that were observed at least twice, always with one log end
    key_days: KeyDays

    def take(self, selection: Flags | Ints) -> GroupedKeyDays:
        """Return the rows that a mask or an array of indices selects."""
        return GroupedKeyDays(
            group=self.group[selection],
            topic=self.topic[selection],
            idle_partitions=self.idle_partitions[selection],
            key_days=self.key_days.take(selection),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCounts:
    """The counts of groups on a day that do not depend on commits: row i is group i; NULL where unknown."""

    last_record_us: Ints  # the last record of the group's cluster, in µs since 1970
    # Highest number of members; UNKNOWN_COUNT if it was unknown at any time, NULL if no event has shown one.
    max_members: Ints
    rebalances: Ints  # number of rebalances
    rebalance_ms: Ints  # time spent in rebalances whose duration is known


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupActivity:
    """The activity of groups on a day: a row for each group that had a commit on the day or at its end.

    `group` is the number of the group; rows are sorted by it. Times are µs since 1970.
    """

    group: Ints
    commits: Ints  # NULL if no record of the group was read
    commit_rate: Floats  # commits per second, NaN if unknown
    partitions: Ints  # partitions with a commit
    topics: tuple[Ints, Ints]  # the topics with a commit: the row of this frame, and the topic, by row and topic
    consumed: Ints  # offsets by which the commits advanced
    skew: Floats  # of the most uneven topic; NaN if none has enough records
    last_commit_us: Ints
    is_idle: Flags
    clock_jump_ms: Ints  # furthest that a commit record's time lies behind an earlier record's of its key


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExtremes:
    """The worst and the last values of groups on a day, from all keys and statuses: row i is group i; NULL if unknown.

    Lags and margins are in records, times in ms.
    """

    max_time_lag_ms: Ints
    min_retention_margin: Ints  # smallest committed offset minus log start offset of the day
    last_retention_margin: Ints  # smallest one at the end of the day
    retention_left_ms: Ints  # shortest time until a log start passes the commit
    orphaned_partitions: Ints  # keys with a commit whose partition no longer exists
    max_lag: Ints
    last_lag: Ints
    worst_rule: Ints  # index in RULE_NAMES


def sum_group_activity(grouped_key_days: GroupedKeyDays, counts: GroupCounts, day: int) -> GroupActivity:
    """Return the activity of groups on a day (days since 1970), without groups that have no commit.

    `grouped_key_days` are the days of their keys. Row i of `counts` is group i.
    """
    active_keys = grouped_key_days.take(grouped_key_days.key_days.has_commit | grouped_key_days.key_days.has_activity)
    active_days = active_keys.key_days
    is_start = is_segment_start(active_keys.group)
    is_topic_start = is_segment_start(active_keys.group, active_keys.topic)
    group_of_topic = active_keys.group[is_topic_start]
    is_group_start_of_topics = is_segment_start(group_of_topic)
    group = active_keys.group[is_start]
    commits_on_topic = reduce_segments(np.add, active_days.has_commit.astype(np.int64), is_topic_start)
    has_commit_on_topic = commits_on_topic > 0
    skew = topic_skew(active_days.consumed, active_days.is_idle_partition, active_keys.idle_partitions, is_topic_start)
    commits = reduce_segments(np.add, active_days.commits, is_start)
    has_records = reduce_segments(np.logical_or, active_days.has_records, is_start)
    last_record_us = counts.last_record_us[group]
    return GroupActivity(
        group=group,
        commits=np.where(has_records, commits, NULL),
        commit_rate=_measure_commit_rate(commits, has_records, last_record_us, day),
        partitions=reduce_segments(np.add, commits_on_topic, is_group_start_of_topics),
        topics=(
            np.searchsorted(group, group_of_topic[has_commit_on_topic]),
            active_keys.topic[is_topic_start][has_commit_on_topic],
        ),
        consumed=sum_segments(active_days.consumed, is_start),
        skew=reduce_segments(np.fmax, skew, is_group_start_of_topics),
        last_commit_us=reduce_segments(np.maximum, active_days.last_commit_us, is_start),
        is_idle=_are_idle(active_days, is_start, last_record_us, counts.max_members[group]),
        clock_jump_ms=reduce_segments(np.maximum, active_days.clock_jump_ms, is_start),
    )


def find_share_groups(grouped_key_days: GroupedKeyDays, activity: GroupActivity) -> Ints:
    """Return the groups that samples saw as share groups on the day of `grouped_key_days`, ascending.

    Those with a row of `activity` are missing: their ids belonged to another kind of group on that day, too.
    """
    share_groups = np.unique(grouped_key_days.group[grouped_key_days.key_days.has_start_offset])
    return share_groups[~np.isin(share_groups, activity.group)]


def _measure_commit_rate(commits: Ints, has_records: Flags, last_record_us: Ints, day: int) -> Floats:
    """Return the commits per second from midnight to the last record that was read; NaN where no record was read."""
    seconds = (last_record_us // 1_000 - day * DAY_US // 1_000) / 1_000
    is_known = has_records & (last_record_us != NULL)
    return np.where(is_known, commits / np.maximum(_MIN_SECONDS, seconds), np.nan)


def _are_idle(active_days: KeyDays, is_start: Flags, last_record_us: Ints, max_members: Ints) -> Flags:
    """Return for each group whether it is idle: it had no member, and no commit in the 24 hours before it was observed.

    `is_start` marks each group's first row in `active_days`. `last_record_us` (µs) and `max_members` have a value for
    each group.
    """
    last_seen_us = reduce_segments(np.maximum, active_days.last_seen_us, is_start)
    last_activity_us = reduce_segments(np.maximum, active_days.last_activity_us, is_start)
    last_observed_us = np.maximum(last_seen_us, last_record_us)
    is_known = (last_observed_us != NULL) & (last_activity_us != NULL)
    is_inactive = is_known & (last_observed_us // 1_000 - last_activity_us // 1_000 >= DAY_US // 1_000)
    # A group with UNKNOWN_COUNT may have had members, so it is not idle. With NULL, no event has shown a member.
    is_idle: Flags = is_inactive & np.isin(max_members, (0, NULL))
    return is_idle


def topic_skew(consumed: Ints, is_idle_partition: Flags, idle_partitions: Ints, is_start: Flags) -> Floats:
    """Return the skew of each topic of each group, NaN for a topic with too few records.

    `is_start` marks the first row of each topic. `idle_partitions` is the number of idle partitions of the topic, also
    of those without a commit of the group.
    """
    records_read = consumed.astype(np.float64)
    topic_records = reduce_segments(np.add, records_read, is_start)
    busiest_partition_records = reduce_segments(np.maximum, records_read, is_start)
    idle_count = reduce_segments(np.maximum, idle_partitions, is_start)
    partition_count = idle_count + reduce_segments(np.add, (~is_idle_partition).astype(np.float64), is_start)
    has_enough_records = topic_records >= _ENOUGH_RECORDS
    return np.where(
        has_enough_records,
        busiest_partition_records * partition_count / np.where(has_enough_records, topic_records, 1.0),
        np.nan,
    )


def find_group_extremes(grouped_key_days: GroupedKeyDays, statuses: GroupStatuses, group_count: int) -> GroupExtremes:
    """Return the extremes of `group_count` groups on one day, including keys whose commit was deleted.

    The last margins are taken from partitions that were observed in the ten minutes before the group's last
    observation. A partition does not count if its commit was deleted between its own last observation and the group's.
    """
    key_days = grouped_key_days.key_days
    is_start = is_segment_start(grouped_key_days.group)
    groups = grouped_key_days.group[is_start]
    last_observed_of_group_ms = segment_maximum(key_days.last_retention_margin_at_ms, grouped_key_days.group)
    # NULL divided by 1,000 is earlier than every time.
    deleted_ms = key_days.deleted_us // 1_000
    is_deleted = (deleted_ms > key_days.last_retention_margin_at_ms) & (deleted_ms <= last_observed_of_group_ms)
    is_fresh = (
        (key_days.last_retention_margin_at_ms != NULL)
        & (last_observed_of_group_ms - key_days.last_retention_margin_at_ms <= FRESH_MS)
        & ~is_deleted
    )
    last_retention_margin = np.where(is_fresh, key_days.last_retention_margin, NULL)
    retention_left_ms = np.where(is_fresh, key_days.retention_left_ms, NULL)
    orphaned_partitions = reduce_segments(np.add, key_days.is_orphaned.astype(np.int64), is_start)
    is_status_start = is_segment_start(statuses.group)
    status_groups = statuses.group[is_status_start]
    # A status also counts partitions whose last observation is on the day before.
    time_lag_ms = _place_by_group(groups, reduce_segments(np.maximum, key_days.max_time_lag_ms, is_start), group_count)
    status_time_lag_ms = _place_by_group(
        status_groups, reduce_segments(np.maximum, statuses.time_lag_ms, is_status_start), group_count
    )
    return GroupExtremes(
        max_time_lag_ms=np.maximum(time_lag_ms, status_time_lag_ms),
        min_retention_margin=_place_by_group(groups, min_known(key_days.min_retention_margin, is_start), group_count),
        last_retention_margin=_place_by_group(groups, min_known(last_retention_margin, is_start), group_count),
        retention_left_ms=_place_by_group(groups, min_known(retention_left_ms, is_start), group_count),
        orphaned_partitions=_place_by_group(groups, orphaned_partitions, group_count),
        max_lag=_place_by_group(status_groups, reduce_segments(np.maximum, statuses.lag, is_status_start), group_count),
        last_lag=_place_by_group(status_groups, statuses.lag[is_segment_end(statuses.group)], group_count),
        worst_rule=_place_by_group(
            status_groups, reduce_segments(np.maximum, statuses.rule, is_status_start), group_count
        ),
    )


def _place_by_group(groups: Ints, values: Ints, group_count: int) -> Ints:
    """Return an array of `group_count` values that has each value at the index of its group, and NULL elsewhere."""
    values_by_group = np.full(group_count, NULL)
    values_by_group[groups] = values
    return values_by_group
