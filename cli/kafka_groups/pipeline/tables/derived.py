"""Tables that a build derives from facts, date by date."""

from __future__ import annotations

from typing import Any

from kafka_groups.pipeline.frames.columns import (
    BOOLEAN,
    FLOAT64,
    INT32,
    INT64,
    MILLISECONDS,
    OFFSET,
    PER_SECOND,
    RECORDS,
    STRING,
    STRINGS,
    TIMESTAMP,
    column,
)
from kafka_groups.pipeline.frames.frame import Frame, frame


@frame
class LagHistory(Frame):
    """One row per group, partition and time with a known log end offset: the group's lag and verdict."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    observed_at: Any = column(TIMESTAMP, "time of the values in this row")
    origin: Any = column(STRING, "sample or backfill: the source of the log end offset")
    committed_offset: Any = column(
        INT64,
        "the group's committed offset at that time; for share groups, the start offset, null if unknown",
        unit=OFFSET,
    )
    commit_time: Any = column(
        TIMESTAMP,
        "time of that commit; if commit_origin is sample, the time of the last sample that saw the commit. For share "
        "groups, the sample's time",
    )
    commit_origin: Any = column(STRING, "topic or sample: the source of the commit")
    log_start_offset: Any = column(INT64, "first offset that can be read; null for backfills", unit=OFFSET)
    log_end_offset: Any = column(INT64, "the offset of the next record", unit=OFFSET)
    last_stable_offset: Any = column(
        INT64,
        "last stable offset, where a read_committed consumer stops; null for backfills",
        unit=OFFSET,
    )
    lag: Any = column(
        INT64,
        "log end offset minus committed offset; negative if the log was truncated, or if clocks differ. For "
        "share groups, the coordinator's number of records whose delivery is not final",
        unit=RECORDS,
    )
    time_lag_ms: Any = column(
        INT64,
        "age of the oldest record that the group has not processed yet; 0 if all records are processed. Null for share "
        "groups",
        unit=MILLISECONDS,
    )
    time_lag_quality: Any = column(
        STRING,
        "how certain time_lag_ms is: exact, interpolated, lower_bound, data_loss or unknown",
    )
    consume_rate: Any = column(
        FLOAT64,
        "records consumed per second during the last ten minutes, from committed offsets. Null for share groups",
        unit=PER_SECOND,
    )
    produce_rate: Any = column(
        FLOAT64,
        "records produced per second during the last ten minutes, from log end offsets. Null for share groups",
        unit=PER_SECOND,
    )
    catch_up_ms: Any = column(
        INT64,
        "time until the lag is 0 at these rates; null if there is no lag, or if the lag does not fall",
        unit=MILLISECONDS,
    )
    retention_margin: Any = column(
        INT64,
        "committed offset minus log start offset: the number of records that retention can delete before the group "
        "loses data; negative if the group has lost data",
        unit=RECORDS,
    )
    verdict: Any = column(STRING, "OK, UNKNOWN, WARN, STALL, REWIND or STOP (docs/verdicts.md)")
    rule: Any = column(STRING, "name of the rule that gave the verdict")
    verdict_since: Any = column(TIMESTAMP, "when this verdict began: all later observations have given it")
    offset_before_reset: Any = column(
        INT64,
        "highest committed offset before a known reset, in the first row after it: the offset fell while the group had "
        "no members in a sample; null in all other rows",
        unit=OFFSET,
    )


@frame
class GroupStatus(Frame):
    """One row per group, at each time for which lag_history covers any of its partitions: verdict, lag and state.

    Each partition counts with its last row in lag_history, for at most ten minutes.
    """

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    evaluated_at: Any = column(TIMESTAMP, "time of the values in this row")
    verdict: Any = column(STRING, "the worst verdict of a partition: OK, UNKNOWN, WARN, STALL, REWIND or STOP")
    rule: Any = column(STRING, "name of the rule that gave the verdict")
    verdict_since: Any = column(
        TIMESTAMP,
        "when this verdict began: the earliest start among the partitions that have it; for OK, the latest start among "
        "all partitions",
    )
    partitions: Any = column(
        INT32,
        "number of partitions in this row: those with a commit and a known log end offset",
    )
    lag: Any = column(INT64, "sum of the partitions' lags, without the negative ones", unit=RECORDS)
    time_lag_ms: Any = column(INT64, "longest known time lag of a partition", unit=MILLISECONDS)
    time_lag_quality: Any = column(
        STRING,
        "least certain quality of a partition: data_loss, unknown, lower_bound, interpolated or exact",
    )
    consume_rate: Any = column(FLOAT64, "sum of the partitions' rates; null if any is unknown", unit=PER_SECOND)
    produce_rate: Any = column(FLOAT64, "sum of the partitions' rates; null if any is unknown", unit=PER_SECOND)
    catch_up_ms: Any = column(
        INT64,
        "longest catch-up time of a partition; null if there is no lag, or if the lag of any partition does not fall",
        unit=MILLISECONDS,
    )
    state: Any = column(STRING, "state of the group, such as Stable or Empty; null if unknown")
    member_count: Any = column(INT32, "number of members; null if unknown")


@frame
class Rebalances(Frame):
    """One row per rebalance of a group, with the members that joined and left."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    group_protocol: Any = column(STRING, "classic, consumer (KIP-848), share or streams")
    generation: Any = column(INT32, "generation (classic) or group epoch (other groups)")
    started_at: Any = column(
        TIMESTAMP,
        "when the group epoch increased. Classic: the earliest time at which the rebalance can have begun; if this is "
        "unknown, the time of the generation's record",
    )
    ended_at: Any = column(
        TIMESTAMP,
        "when all members had reached the epoch, or when the next epoch began; null while neither has happened. A "
        "member of a share group revokes nothing: it reaches the epoch with its next heartbeat. Classic: the time of "
        "the generation's record",
    )
    duration_ms: Any = column(INT64, "ended_at minus started_at; null if unknown", unit=MILLISECONDS)
    duration_quality: Any = column(
        STRING,
        "exact: all members reached the epoch. bound: the rebalance took at most this time. A classic one began after "
        "the group's previous record; another one, with an unknown number of members, ended when the next epoch "
        "began. timeout: upper bound derived from the members' rebalance timeout, not a measurement. overtaken: the "
        "next epoch began before all members had reached this one. open: not all members had reached the epoch by the "
        "end of the next day. unknown: open, and the number of members is unknown. Classic: bound or timeout. "
        "Others: any value except timeout",
    )
    sync_ms: Any = column(
        INT64,
        "classic: time from when all members had joined to the generation's record",
        unit=MILLISECONDS,
    )
    members_before: Any = column(
        INT32,
        "number of members before the rebalance; null if records of earlier members are missing and none of these "
        "members wrote another record or left by the end of the next day",
    )
    members_after: Any = column(
        INT32,
        "number of members after the rebalance; null if the number of earlier members is unknown",
    )
    joined: Any = column(
        STRINGS,
        "ids of the members that joined, except those that an online upgrade or downgrade kept; null if unknown",
    )
    left: Any = column(STRINGS, "ids of the members that left; null if unknown")


@frame
class GroupDaily(Frame):
    """One row per group and day: commits, members, rebalances, lag and verdict of that day.

    A share group has a row if samples stored its start offsets (`share_offsets`).
    Columns derived from commits are null.
    """

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    commits: Any = column(INT64, "number of commits that day; null if the group is known from samples only")
    commit_rate: Any = column(
        FLOAT64,
        "commits per second from midnight to the cluster's last record read that day; the span counts as at least "
        "one minute",
        unit=PER_SECOND,
    )
    partitions: Any = column(
        INT32, "number of partitions with a commit at the end of the day; null for a share group, which has no commits"
    )
    topics: Any = column(STRINGS, "topics of these partitions")
    max_members: Any = column(INT32, "largest number of members at any time of the day; null if unknown")
    rebalances: Any = column(
        INT32,
        "number of rebalances that began that day (classic: that may have begun). Null if no record of the cluster "
        "was read that day",
    )
    rebalance_ms: Any = column(
        INT64,
        "total duration of these rebalances, as far as known; an upper bound if any of the durations is one",
        unit=MILLISECONDS,
    )
    records_consumed: Any = column(
        INT64,
        "number of offsets by which the commits advanced; some offsets may have no record",
        unit=RECORDS,
    )
    max_lag: Any = column(INT64, "largest lag of the group, as the sum over its partitions", unit=RECORDS)
    last_lag: Any = column(INT64, "lag of the group at its last observation of the day", unit=RECORDS)
    max_time_lag_ms: Any = column(INT64, "longest time lag of a partition that day", unit=MILLISECONDS)
    worst_verdict: Any = column(STRING, "worst verdict of the group in group_status that day")
    skew: Any = column(
        FLOAT64,
        "how unevenly the group consumed a topic: the records of the busiest partition, divided by the mean of all "
        "partitions; 1 is even. The most uneven topic with at least 1,000 consumed offsets counts; null without such a "
        "topic. The mean includes partitions without a commit if nothing was written to them that day",
    )
    min_retention_margin: Any = column(
        INT64,
        "smallest retention margin of a partition that day; for a share group from its start offset",
        unit=RECORDS,
    )
    last_retention_margin: Any = column(
        INT64,
        "smallest retention margin of a partition at the group's last observation of the day",
        unit=RECORDS,
    )
    retention_left_ms: Any = column(
        INT64,
        "shortest time until the log start offset passes a commit with lag, at the rates of that day. Null if the "
        "log start offset does not approach the commit, if no commit has lag, or if the observations span less than "
        "an hour",
        unit=MILLISECONDS,
    )
    last_commit_time: Any = column(TIMESTAMP, "time of the group's last commit before the end of the day")
    is_idle: Any = column(
        BOOLEAN,
        "true if the group had no commit in the 24 hours before its last observation, and no member was seen that day",
    )
    orphaned_partitions: Any = column(
        INT32,
        "number of partitions that no longer exist, but on which the group still has a commit in the day's last sample",
    )
    clock_jump_ms: Any = column(
        INT64,
        "furthest that a commit record's time lies behind an earlier record's on the same partition: the brokers' "
        "clocks differ by at least this; 0 if times never fall",
        unit=MILLISECONDS,
    )


@frame
class TopicDaily(Frame):
    """One row per topic and day: the records written to it, and the groups that read them."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    topic: Any = column(STRING, "name of the topic")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    partitions: Any = column(INT32, "number of partitions that were observed that day")
    records_produced: Any = column(
        INT64,
        "growth of the log end offsets from the day's first to its last observation; null if no log was observed twice",
        unit=RECORDS,
    )
    active_groups: Any = column(INT32, "number of groups whose commits on the topic advanced that day")
    groups_with_commits: Any = column(INT32, "number of groups with a commit on the topic at the end of the day")
    is_unread: Any = column(
        BOOLEAN,
        "true if the topic exists, no commit on it is known, and no member or share group is known to read it",
    )
    lookback_days: Any = column(INT32, "number of earlier days whose commits the build took into account")
