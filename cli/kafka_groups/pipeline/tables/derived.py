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
    """A row has lag and verdict of a group on a partition, at a time for which the log end offset is known."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    topic: Any = column(STRING, "name of the topic")
    partition: Any = column(INT32, "partition of the topic")
    observed_at: Any = column(TIMESTAMP, "the time of the values in this row")
    origin: Any = column(STRING, "sample or backfill: the source of the log end offset")
    committed_offset: Any = column(INT64, "the last commit at that time", unit=OFFSET)
    commit_time: Any = column(TIMESTAMP, "when it was committed; of a sample, the time of the last sample with it")
    commit_origin: Any = column(STRING, "topic or sample: the source of the commit")
    log_start_offset: Any = column(INT64, "as in partition_offsets", unit=OFFSET)
    log_end_offset: Any = column(INT64, "as in partition_offsets", unit=OFFSET)
    last_stable_offset: Any = column(INT64, "as in partition_offsets", unit=OFFSET)
    lag: Any = column(
        INT64,
        "log end offset minus committed offset; negative if the log was truncated, or by producers' clocks",
        unit=RECORDS,
    )
    time_lag_ms: Any = column(
        INT64,
        "age of the oldest record that is not processed yet; 0 if there is none",
        unit=MILLISECONDS,
    )
    time_lag_quality: Any = column(STRING, "exact, interpolated, lower_bound, data_loss or unknown")
    consume_rate: Any = column(
        FLOAT64,
        "records consumed per second, over the last ten minutes, from commits",
        unit=PER_SECOND,
    )
    produce_rate: Any = column(
        FLOAT64,
        "records produced per second, over the same time, from log end offsets",
        unit=PER_SECOND,
    )
    catch_up_ms: Any = column(
        INT64,
        "time until lag is 0 at these rates; null if it does not fall",
        unit=MILLISECONDS,
    )
    retention_margin: Any = column(
        INT64,
        "committed offset minus log start offset: records until data is lost; negative: data was lost",
        unit=RECORDS,
    )
    verdict: Any = column(STRING, "OK, UNKNOWN, WARN, STOP, STALL or REWIND, from a window of commits")
    rule: Any = column(STRING, "the rule that gave it, see kafka_groups.verdicts")
    complete: Any = column(FLOAT64, "filled share of the window")
    window_start: Any = column(
        TIMESTAMP,
        "the first commit of the window; of samples, when its offset was first seen",
    )
    window_end: Any = column(TIMESTAMP, "the last commit of the window; of samples as above")


@frame
class GroupStatus(Frame):
    """A row has verdict, lag and state of a group, at each time at which lag_history has a row of its partitions.

    Each partition counts with its last row of the last ten minutes.
    """

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    evaluated_at: Any = column(TIMESTAMP, "the time of the values in this row")
    verdict: Any = column(STRING, "the worst of its partitions: OK, UNKNOWN, WARN, STOP, STALL or REWIND")
    rule: Any = column(STRING, "the rule that gave it, see kafka_groups.verdicts")
    complete: Any = column(FLOAT64, "share of partitions whose windows are complete")
    window_start: Any = column(TIMESTAMP, "the first commit of the windows")
    window_end: Any = column(TIMESTAMP, "the last commit of the windows")
    partitions: Any = column(INT32, "number of partitions in this row: with a commit and a known log end")
    lag: Any = column(INT64, "sum of the lags above 0", unit=RECORDS)
    time_lag_ms: Any = column(INT64, "longest known time lag of a partition", unit=MILLISECONDS)
    time_lag_quality: Any = column(
        STRING,
        "the least certain of its partitions: data_loss, unknown, lower_bound, interpolated or exact",
    )
    consume_rate: Any = column(FLOAT64, "sum of the partitions' rates; null if one is unknown", unit=PER_SECOND)
    produce_rate: Any = column(FLOAT64, "sum of the partitions' rates; null if one is unknown", unit=PER_SECOND)
    catch_up_ms: Any = column(
        INT64,
        "longest of the partitions; null if lag of one does not fall, or there is no lag",
        unit=MILLISECONDS,
    )
    state: Any = column(STRING, "state of the group, where known")
    members: Any = column(INT32, "number of members, where known")


@frame
class Rebalances(Frame):
    """A row is a rebalance, with the members that joined and left."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    protocol: Any = column(STRING, "classic or consumer (KIP-848)")
    generation: Any = column(INT32, "generation, or group epoch")
    started_at: Any = column(
        TIMESTAMP,
        "KIP-848: the epoch's bump; classic: the earliest it can have begun, else the record",
    )
    ended_at: Any = column(
        TIMESTAMP,
        "KIP-848: when all members were stable, or the next epoch began, null while open; classic: its record",
    )
    duration_ms: Any = column(INT64, "ended minus started", unit=MILLISECONDS)
    duration_quality: Any = column(
        STRING,
        "exact (KIP-848), bound (classic: not longer than this, for it began after the record before, and at "
        "most the members' rebalance timeout before all had joined; KIP-848: until the next epoch, where it "
        "is not known how many members there were), overtaken (KIP-848: until the next epoch, which began "
        "before all members had reached this one), open (by the end of the day after not all members had "
        "reached it) or unknown (nor is it known how many there were)",
    )
    sync_ms: Any = column(INT64, "classic: how long the last phase took", unit=MILLISECONDS)
    members_before: Any = column(
        INT32,
        "number of members before; null if those records are lost, and nobody who was there wrote (to the end "
        "of the next day) or went",
    )
    members_after: Any = column(INT32, "number of members after; null if that of those who were there is not known")
    joined: Any = column(
        STRINGS,
        "members that joined, except those that an online upgrade or downgrade kept; null if unknown",
    )
    left: Any = column(STRINGS, "members that left; null if unknown")


@frame
class GroupDaily(Frame):
    """A row sums up a day of a group."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    group: Any = column(STRING, "id of the group")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    commits: Any = column(INT64, "commits written that day; null if the group is known from samples only")
    commit_rate: Any = column(
        FLOAT64,
        "commits a second, from midnight to the last record of __consumer_offsets that was read of the "
        "cluster on that day, or for a minute at least",
        unit=PER_SECOND,
    )
    partitions: Any = column(INT32, "partitions with a commit")
    topics: Any = column(STRINGS, "their topics")
    members_max: Any = column(INT32, "most members at a time; null where not known")
    rebalances: Any = column(
        INT32,
        "rebalances that began (classic: that may have begun); null where no record of the cluster was read, "
        "and of share and streams groups",
    )
    rebalance_ms: Any = column(
        INT64,
        "time spent in those whose duration is known; an upper bound where a bound is among them",
        unit=MILLISECONDS,
    )
    messages_consumed: Any = column(
        INT64,
        "offsets by which commits advanced (not bytes, and not exactly records)",
        unit=RECORDS,
    )
    max_lag: Any = column(INT64, "largest lag, summed over partitions", unit=RECORDS)
    last_lag: Any = column(INT64, "lag at the last observation", unit=RECORDS)
    max_time_lag_ms: Any = column(INT64, "longest time lag", unit=MILLISECONDS)
    worst_verdict: Any = column(STRING, "worst verdict of the group in group_status that day")
    skew: Any = column(
        FLOAT64,
        "largest partition's share of a topic's consumption over the mean share; 1 is even. Of topics of "
        "which 1,000 offsets were consumed, the most uneven one's; null if there is none. A partition without "
        "a commit counts if nothing was written to it that day",
    )
    retention_margin: Any = column(INT64, "least margin of a partition that day, in records", unit=RECORDS)
    last_retention_margin: Any = column(
        INT64,
        "least margin of a partition at the group's last observation",
        unit=RECORDS,
    )
    retention_left_ms: Any = column(
        INT64,
        "least time until the log start passes a commit with lag, at the day's rates of both; null: it does "
        "not, no commit has lag, or there is less than an hour to compute rates from",
        unit=MILLISECONDS,
    )
    last_commit_time: Any = column(TIMESTAMP, "the group's last commit until the day's end")
    is_idle: Any = column(
        BOOLEAN,
        "true: no commit in the 24 hours until it was last looked at, and no member seen that day",
    )
    orphaned_partitions: Any = column(
        INT32,
        "partitions of which the last sample saw a commit, but not the partition",
    )


@frame
class TopicDaily(Frame):
    """A row sums up a day of a topic: records written, and groups that read them."""

    cluster_id: Any = column(STRING, "Kafka's id of the cluster")
    topic: Any = column(STRING, "name of the topic")
    day: Any = column(TIMESTAMP, "midnight, UTC")
    partitions: Any = column(INT32, "partitions seen")
    messages_produced: Any = column(
        INT64,
        "growth of the log ends between the day's first and last observation; null if there is but one",
        unit=RECORDS,
    )
    readers: Any = column(INT32, "groups whose commits on it moved that day")
    committed: Any = column(INT32, "groups that have a commit on it")
    is_unread: Any = column(
        BOOLEAN,
        "true: it is there, no group has a commit on it that the build sees, and no member or share group is "
        "known to read it",
    )
    lookback_days: Any = column(INT32, "number of days before that day whose commits were read, too")
